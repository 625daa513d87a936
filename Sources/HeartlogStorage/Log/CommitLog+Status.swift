import HeartlogEvents

extension CommitLog {
  /// The streams of the store, sorted by replica, and what their replicas are called; ended are those that were forked.
  public var streams: [(replica: ReplicaID, name: String, isEnded: Bool)] {
    monitor.withLock {
      readers.keys.sorted().map { replica in
        let name = replica == identity.replica ? identity.name : readers[replica]?.cursor?.header.replicaName
        return (replica, name ?? "", readers[replica]?.isEnded ?? false)
      }
    }
  }

  /// The size of the log on disk in bytes, zeros written ahead included.
  public func logBytes() throws(StorageError) -> UInt64 { try directory.logBytes() }
}
