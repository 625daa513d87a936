import HeartlogEvents

/// The Merkle trees of the streams, as shipping uses them. Guarded by `monitor`, which is entered after the log's.
final class MerkleCaches: @unchecked Sendable {
  private let directory: StoreDirectory
  let monitor = Monitor()
  /// By replica: the cache that follows the stream's head.
  private(set) var atHead: [ReplicaID: MerkleCache] = [:]
  /// By replica: the cache at the end of the last run that was shipped.
  var shipped: [ReplicaID: MerkleCache] = [:]
  /// By replica: the position at which the log was opened. A cache starts there if that is nearer than a sealed segment.
  var positions: [ReplicaID: StreamPosition] = [:]

  init(_ directory: StoreDirectory) { self.directory = directory }

  /// Forgets a stream, which is read again from its start.
  func forget(_ replica: ReplicaID) {
    atHead[replica] = nil
    shipped[replica] = nil
    positions[replica] = nil
  }

  /// The files that the caches keep open; nil while a thread uses a cache.
  var openFiles: Set<ObjectIdentifier>? {
    guard monitor.tryEnter() else { return nil }
    defer { monitor.leave() }
    var files: Set<ObjectIdentifier> = []
    for merkleCache in Array(atHead.values) + shipped.values {
      if let file = merkleCache.openFile { files.insert(ObjectIdentifier(file)) }
    }
    return files
  }

  /// Closes the files until the next read, unless a thread uses a cache.
  func rest() {
    guard monitor.tryEnter() else { return }
    defer { monitor.leave() }
    for merkleCache in Array(atHead.values) + shipped.values { merkleCache.rest() }
  }

  /// Returns the Merkle cache of a stream at its head, or after the last readable commit; nil if there is none.
  func soundCache(of replica: ReplicaID, at commit: UInt64) throws -> MerkleCache? {
    do { return try cache(of: replica, at: commit) } catch let error as StorageError
      where error.code == .corrupt
    {
      atHead[replica] = nil
      let merkleCache = try MerkleCache(directory, replica: replica, before: CommitNumber(rawValue: 1))
      while merkleCache.position < commit, try merkleCache.pass() {}
      return merkleCache.position == 0 ? nil : merkleCache
    }
  }

  /// Returns the Merkle cache of a stream at a commit, continuing the existing one if possible.
  func cache(of replica: ReplicaID, at commit: UInt64) throws -> MerkleCache {
    if let merkleCache = atHead[replica], merkleCache.position <= commit {
      try merkleCache.advance(to: commit)
      return merkleCache
    }
    let merkleCache = try MerkleCache(
      directory, replica: replica, before: CommitNumber(rawValue: commit + 1), from: positions[replica])
    try merkleCache.advance(to: commit)
    atHead[replica] = merkleCache
    return merkleCache
  }
}
