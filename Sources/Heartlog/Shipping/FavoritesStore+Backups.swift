import HeartlogFiles
import HeartlogFormat
import HeartlogStorage

/// Checks the runs of one stream from its first commit on.
package typealias RunChain = HeartlogStorage.RunChain

/// A store as a backup sees it: everything that is durable, signed or not.
extension FavoritesStore {
  /// Returns the last durable commit of each stream, sorted by replica, whether its device has signed it or not.
  ///
  /// A store that is open for reading is not changed, and takes no lock.
  ///
  /// - Throws: `corrupt` if the store is damaged, as far as that is known.
  package func durableHeads() throws(HeartlogError) -> [StreamHead] {
    try refuseInsideWrite("backUp")
    let heads = try log.streamHeads(includesUnsigned: true)
    if let damage = findings.first(where: { $0.verdict != .torn }) { throw damage.error }
    return heads
  }

  /// Returns the newest checkpoint of a stream among its first commits; nil if there is none.
  package func checkpoint(of head: StreamHead) throws(HeartlogError) -> SignedCheckpoint? {
    let signed = try log.checkpoint(of: head.replica)
    return signed.flatMap { $0.checkpoint.size <= head.commit.rawValue ? $0 : nil }
  }

  /// Returns the state of all commits up to these heads. Replays the log from the newest snapshot before them.
  ///
  /// - Throws: `corrupt` if the log cannot be read.
  package func state(upTo heads: [Head]) throws(HeartlogError) -> FavoritesState {
    try heartlogErrors {
      let last = Dictionary(uniqueKeysWithValues: heads.map { ($0.replica, $0.commit) })
      let log = try LogReplay(at: path, on: fileSystem)
      let (state, _, outcome) = try snapshots.replay(
        where: { $0.allSatisfy { position in last[position.replica].map { position.commit <= $0 } ?? false } }
      ) { state, positions in
        try log.run(from: positions) { state.apply($0, upTo: heads) }
      }
      if let damage = outcome.findings.damage.first { throw damage.error }
      return state
    }
  }

  /// Creates an empty store with a new replica in a vault, and opens it.
  ///
  /// - Throws: `exists` if there already is something at the path.
  package static func create(
    at path: String, on fileSystem: any FileSystem, in vault: VaultMembership?, options: StoreOptions
  ) throws(HeartlogError) -> FavoritesStore {
    try heartlogErrors {
      try CommitLog.create(
        at: path, on: fileSystem, name: options.name, vault: vault, options: options.storage)
    }
    return try FavoritesStore(at: path, on: fileSystem, options: options)
  }

  /// Takes a run of a backup, durably.
  package func restore(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    try log.restore(run)
  }

  /// Keeps a checkpoint of a backup. Returns whether the commits lead to it; otherwise it is not kept.
  package func restore(_ signed: SignedCheckpoint) throws(HeartlogError) -> Bool {
    try log.restore(signed)
  }
}
