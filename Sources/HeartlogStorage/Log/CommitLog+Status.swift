import HeartlogEvents

extension CommitLog {
  /// One stream, as far as it was read.
  package struct StreamStatus: Sendable {
    package let replica: ReplicaID
    /// What people call the replica.
    package let name: String
    /// It was forked.
    package let isEnded: Bool
    /// What the writer's clock said at the last commit; nil before the first.
    package let lastWallTime: Milliseconds?
    /// The latest that it ever said; nil before the first commit.
    package let latestWallTime: Milliseconds?
  }

  /// The streams of the store, sorted by replica.
  package var streams: [StreamStatus] {
    withStreams {
      streamSet.readers.keys.sorted().map { replica in
        let name =
          replica == streamSet.identity.replica
          ? streamSet.identity.name : streamSet.readers[replica]?.cursor?.header.replicaName
        let tail = streamSet.readers[replica]?.tail
        let time = tail?.head == nil ? nil : tail?.time
        return StreamStatus(
          replica: replica, name: name ?? "", isEnded: streamSet.readers[replica]?.isEnded ?? false,
          lastWallTime: time?.last, latestWallTime: time?.latest)
      }
    }
  }

  /// What the clock of a stream's writer said at the last commit that was read; nil where there is none.
  package func lastWallTime(of replica: ReplicaID) -> Milliseconds? {
    withStreams {
      guard let tail = streamSet.readers[replica]?.tail, tail.head != nil else { return nil }
      return tail.time?.last
    }
  }

  /// The size of the log on disk in bytes, zeros written ahead included.
  package func logBytes() throws(StorageError) -> UInt64 { try directory.logBytes() }
}
