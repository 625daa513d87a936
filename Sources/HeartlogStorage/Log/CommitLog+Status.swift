import HeartlogFormat

extension CommitLog {
  /// The status of one stream, as far as it was read.
  package struct StreamStatus: Sendable {
    package let replica: ReplicaID
    /// The display name of the replica.
    package let name: String
    /// True if the stream was forked.
    package let isEnded: Bool
    /// The writer's clock at the last commit, or nil before the first commit.
    package let lastWallTime: Milliseconds?
    /// The latest time that the writer's clock ever showed, or nil before the first commit.
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

  /// The own replica, and the replicas whose streams have ended.
  package var ownAndEndedReplicas: (own: ReplicaID, ended: Set<ReplicaID>) {
    withStreams { streamSet.ownAndEndedReplicas }
  }

  /// The same for drafts, which have entered the monitor.
  package var ownAndEndedReplicasOfDraft: (own: ReplicaID, ended: Set<ReplicaID>) {
    monitor.assertHeld()
    return streamSet.ownAndEndedReplicas
  }

  /// The wall time of the last commit that was read from a stream, or nil if there is none.
  package func lastWallTime(of replica: ReplicaID) -> Milliseconds? {
    withStreams {
      guard let tail = streamSet.readers[replica]?.tail, tail.head != nil else { return nil }
      return tail.time?.last
    }
  }

  /// The size of the log on disk in bytes, including zeros written ahead.
  package func logBytes() throws(HeartlogError) -> UInt64 { try directory.logBytes() }
}

extension StreamSet {
  fileprivate var ownAndEndedReplicas: (own: ReplicaID, ended: Set<ReplicaID>) {
    (identity.replica, Set(readers.keys.filter { readers[$0]?.isEnded == true }))
  }
}
