import HeartlogFiles
import HeartlogFormat
import HeartlogStorage

/// The result of verifying a store.
public struct StoreVerification: Sendable {
  /// The streams, sorted by replica.
  public let streams: [StreamVerification]
  /// The snapshots, those with the most events first.
  public let snapshots: [SnapshotVerification]
}

/// The result of verifying a snapshot.
public struct SnapshotVerification: Hashable, Sendable {
  /// The name of its file, in the store's folder `snapshots`.
  public let name: String
  /// The number of events that it covers, according to its name.
  public let events: UInt64
  /// What is wrong with it; nil if nothing is. The log does not depend on it.
  public let problem: String?
  /// Whether a store can still be opened from it. False if it is from another version, from another store, or from a stream that ended
  /// before it.
  public let isOfUse: Bool
}

extension FavoritesStore {
  /// Reads every byte of the log and the snapshots, and checks everything the format guarantees: checksums, hashes, and that segments,
  /// snapshots, heads and the lock page agree with each other.
  ///
  /// - Parameter progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Returns: for each stream, its commits, its root, and the damage that ends its undamaged part; for each snapshot, what is wrong with
  ///   it.
  /// - Throws: `inputOutput` if a file cannot be read. Damage does not throw; it is reported as a finding.
  public func verify(progress: LogProgress? = nil) throws(HeartlogError) -> StoreVerification {
    try Self.verify(at: path, on: fileSystem, progress: progress)
  }

  /// Verifies the store in a folder without opening it, like `verify(progress:)`.
  ///
  /// - Parameters:
  ///   - path: the folder of the store.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `notAStore`, `newerFormat`, `inputOutput`. Damage does not throw; it is reported as a finding.
  public static func verify(
    at path: String, progress: LogProgress? = nil
  ) throws(HeartlogError) -> StoreVerification {
    try verify(at: path, on: POSIXFileSystem(), progress: progress)
  }

  package static func verify(
    at path: String, on fileSystem: any FileSystem, trusting keys: [ReplicaID: Digest]? = nil,
    progress: LogProgress?
  ) throws(HeartlogError) -> StoreVerification {
    try heartlogErrors {
      let folder = SnapshotFolder(at: path, on: fileSystem)
      let snapshots = try folder.checked()
      var streams = try Verification.run(
        at: path, on: fileSystem, snapshots: snapshots.compactMap { $0.content?.claim }, progress: progress)
      let trusted = try keys ?? CommitLog.trustedKeys(at: path, on: fileSystem)
      for index in streams.indices {
        guard let key = streams[index].checkpoint?.key, !streams[index].isOwn else { continue }
        streams[index].isTrusted = trusted[streams[index].replica] == key.fingerprint
      }
      // A snapshot cannot be compared with a damaged log.
      let isLogSound = streams.allSatisfy { $0.finding?.verdict ?? .torn == .torn }
      return StoreVerification(
        streams: streams,
        snapshots: try snapshots.map { snapshot in
          var problem = snapshot.problem
          var isOfUse = snapshot.isOfThisVersion
          if let content = snapshot.content {
            isOfUse = try LogReplay(at: path, on: fileSystem).isOfUse(content.claim.positions)
            if isLogSound, isOfUse, try content.differs(fromLogAt: path, on: fileSystem) {
              // Content may have been erased since: then nobody opens the store from it.
              isOfUse = try folder.erasedGeneration() == content.state.erasedGeneration
              if isOfUse { problem = SnapshotProblem.otherState }
            }
          }
          return SnapshotVerification(
            name: snapshot.file.name, events: snapshot.file.eventCount, problem: problem, isOfUse: isOfUse)
        })
    }
  }
}

private enum SnapshotProblem {
  static let otherState = "the log up to it produces a different state"
}

/// A snapshot with every page checked.
private struct CheckedSnapshot {
  struct Content {
    let claim: SnapshotClaim
    let state: FavoritesState

    /// Whether replaying the log up to the snapshot's positions gives a different state.
    func differs(fromLogAt path: String, on fileSystem: any FileSystem) throws -> Bool {
      let heads = claim.positions.map { Head(replica: $0.replica, commit: $0.commit) }
      var replayed = FavoritesState()
      _ = try LogReplay(at: path, on: fileSystem).run { replayed.apply($0, upTo: heads) }
      return replayed.digest != state.digest || replayed.heads != state.heads
        || replayed.eventCount != state.eventCount || replayed.conflicts != state.conflicts
    }
  }

  let file: SnapshotFile
  /// Nil if the snapshot is damaged or of another version.
  var content: Content?
  var problem: String?
  var isOfThisVersion = true
}

extension SnapshotFolder {
  /// Reads and checks all existing snapshots.
  fileprivate func checked() throws -> [CheckedSnapshot] {
    try files().compactMap { file in
      guard let mapping = try map(file) else { return nil }
      var checked = CheckedSnapshot(file: file)
      guard FavoritesState.isSnapshotOfThisVersion(mapping.bytes) else {
        checked.isOfThisVersion = false
        return checked
      }
      do {
        var (state, log) = try FavoritesState.snapshot(mapping.bytes, owner: mapping)
        let positions = try SnapshotKeeper.positions(log)
        state.loadSnapshot()
        if state.isDamaged {
          checked.problem = SnapshotKeeper.damage
        } else {
          checked.content = CheckedSnapshot.Content(
            claim: SnapshotClaim(positions: positions, file: path(of: file)), state: state)
        }
      } catch let error as MalformedError {
        checked.problem = error.reason
      }
      return checked
    }
  }
}
