import Heartlog
import HeartlogFiles

extension FavoritesStore {
  /// Repairs a store as `repair(at:name:isDryRun:progress:)` does, and repairs damaged segments with what another copy has of their commits:
  /// another store, a folder of run files, or a peer.
  ///
  /// Commits are received as by a sync: a signed stream up to what its owner signed, and nothing that does not continue what can be read.
  /// What was readable behind the damage must be what the source has, or continue it. Only then are segments replaced, one at a time; every
  /// original is kept beside its replacement. A stream of which the source does not have enough stays as it is. The source is only read.
  ///
  /// If the end of the store's own stream was damaged, the store continues under a new identity: nobody knows how far it had come.
  ///
  /// - Parameters:
  ///   - path: the folder of the store. A process that has it open must open it again.
  ///   - source: leads to the other copy.
  ///   - name: the display name of this device, if `store` is rebuilt; nil to take it from the streams.
  ///   - isDryRun: only reports what would be done.
  ///   - options: where the key of this device is kept. With it, what the store wrote under its former identity is signed.
  ///   - syncOptions: how the source is asked. Nothing is sent, whatever they say.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: as `repair(at:name:isDryRun:progress:)`, and the errors of a sync. After any of these the store is unchanged or partly
  ///   repaired.
  package static func repair(
    at path: String, on fileSystem: any FileSystem = POSIXFileSystem(), from source: any Carrier,
    name: String? = nil, isDryRun: Bool = false, options: StoreOptions = StoreOptions(),
    syncOptions: SyncOptions = SyncOptions(), progress: LogProgress? = nil
  ) throws(HeartlogError) -> RepairReport {
    try repair(
      at: path, on: fileSystem, name: name, isDryRun: isDryRun, options: options, progress: progress,
      from: source.description
    ) { (copy) throws(HeartlogError) in
      try copy.pull(from: source, syncOptions)
    }
  }

  /// Makes a new store with everything that can be read of another one, damaged or not, and reports exactly what is lost.
  ///
  /// The new store is a new replica in the same vault. It has each stream up to its first damage. What stands behind lost commits goes on
  /// as streams of their own, because a stream has no gap. The damaged store is only read.
  ///
  /// - Parameters:
  ///   - path: the folder of the damaged store.
  ///   - folder: where the new store is made; nothing or an empty folder. Missing folders above it are created.
  ///   - source: leads to another copy, from which lost commits are received first; nil if there is none.
  ///   - options: the name of the new replica, and where its key is kept.
  ///   - syncOptions: how the source is asked. Nothing is sent, whatever they say.
  /// - Throws: `exists` if there is something in the folder; `notFound` if there is no store at `path`; `newerFormat`, `diskFull`,
  ///   `readOnly`, `inputOutput`, and the errors of a sync.
  package static func salvage(
    at path: String, to folder: String, on fileSystem: any FileSystem = POSIXFileSystem(),
    from source: (any Carrier)? = nil, options: StoreOptions = StoreOptions(),
    syncOptions: SyncOptions = SyncOptions()
  ) throws(HeartlogError) -> SalvageReport {
    let vault = try vault(at: path, on: fileSystem)
    return try make(at: folder, on: fileSystem, in: vault, options: options) {
      (store) throws(HeartlogError) in
      try store.salvage(path, on: fileSystem) { () throws(HeartlogError) in
        if let source { _ = try store.pull(from: source, syncOptions) }
      }
    }
  }

  /// Receives what a source has.
  ///
  /// - Returns: Why commits of streams were not received, as phrases.
  private func pull(
    from source: any Carrier, _ options: SyncOptions
  ) throws(HeartlogError) -> [ReplicaID: String] {
    var options = options
    options.isPull = true
    options.isDryRun = false
    let report = try source.sync(self, options: options)
    if report.unfinished != nil { throw .endedEarly }
    var reasons: [ReplicaID: String] = [:]
    for stream in report.skipped where stream.cause != .unsent {
      reasons[stream.replica] = "\(source.description): \(stream.reason)"
    }
    for fork in report.forks { reasons[fork.replica] = "\(source.description) has other commits" }
    return reasons
  }
}
