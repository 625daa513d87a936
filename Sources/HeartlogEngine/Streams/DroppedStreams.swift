import HeartlogFiles
import HeartlogFormat

/// Streams that a person dropped. The name of the folder is all that records it: `<replica>.dropped` instead of `<replica>`. Source:
/// docs/format.md, "Dropped streams".
extension StoreDirectory {
  private static let droppedEnding = ".dropped"

  func droppedPath(_ replica: ReplicaID) -> String { streamPath(replica) + Self.droppedEnding }

  /// The streams that have a folder, and those that were dropped, each sorted by replica.
  func streams() throws(HeartlogError) -> (replicas: [ReplicaID], dropped: [ReplicaID]) {
    let names: [String]
    do { names = try fileSystem.entries(of: replicasPath) } catch {
      if error.isNotFound { return ([], []) }
      throw error
    }
    return (names.compactMap(Self.replica(ofFolder:)), names.compactMap(Self.droppedReplica))
  }

  func dropped() throws(HeartlogError) -> Set<ReplicaID> { Set(try streams().dropped) }

  private static func replica(ofFolder name: some StringProtocol) -> ReplicaID? {
    guard let replica = ReplicaID(String(name)), replica.description == name else { return nil }
    return replica
  }

  private static func droppedReplica(_ name: String) -> ReplicaID? {
    name.hasSuffix(droppedEnding) ? replica(ofFolder: name.dropLast(droppedEnding.count)) : nil
  }

  /// Whether a folder with this name in `replicas` is that of a stream, dropped or not.
  static func isStreamFolder(_ name: String) -> Bool {
    replica(ofFolder: name) != nil || droppedReplica(name) != nil
  }
}

extension CommitLog {
  /// The streams that were dropped, sorted.
  package func droppedStreams() throws(HeartlogError) -> [ReplicaID] { try directory.streams().dropped }

  /// Drops the stream of another replica: its folder stays under another name, which nothing reads, and none of its commits is taken or
  /// offered from then on. The state is rebuilt.
  ///
  /// - Returns: The path of the folder; nil if the store has no such stream.
  /// - Throws: `invalid` for the store's own stream.
  package func dropStream(_ replica: ReplicaID) throws(HeartlogError) -> String? {
    try exclusively { log in
      guard replica != streamSet.identity.replica else {
        throw HeartlogError(.invalid, "\(replica) is the store's own replica")
      }
      guard try directory.replicas().contains(replica) else { return nil }
      // They contain what the stream wrote.
      try log.removeSnapshots()
      try renameStream(from: directory.streamPath(replica), to: directory.droppedPath(replica))
      return directory.droppedPath(replica)
    }
  }

  /// Takes a dropped stream back: it is read, offered and continued again.
  ///
  /// - Returns: Whether it was dropped.
  package func keepStream(_ replica: ReplicaID) throws(HeartlogError) -> Bool {
    try exclusively { _ in
      guard try directory.dropped().contains(replica) else { return false }
      try renameStream(from: directory.droppedPath(replica), to: directory.streamPath(replica))
      return true
    }
  }

  private func renameStream(from path: String, to newPath: String) throws {
    // Other processes list the streams again: after a crash on the way, and once the folder has its new name.
    lock.update { $0.structure &+= 1 }
    try directory.fileSystem.rename(path, to: newPath)
    try directory.fileSystem.synchronizeDirectory(directory.replicasPath)
    lock.update { $0.structure &+= 1 }
    try restart()
  }
}
