import HeartlogEvents
import HeartlogFiles

/// Erasing: the content of events is withheld from every file of the store. Their hashes stay, so that roots and proofs remain valid.
extension CommitLog {
  /// The number of events that this log withholds.
  package var erasedEventCount: Int { withStreams { streamSet.erased.events.count } }

  /// Whether the store signs its commits. What nobody signed erases nothing.
  package var isSigning: Bool { streamSet.checkpoints.keys.isSigning }

  /// Names events that have content, in the order of their streams.
  package func name(_ scope: ErasureScope) throws(StorageError) -> [(id: EventID, event: ErasedEvent)] {
    try storageErrors {
      var named: [(id: EventID, event: ErasedEvent)] = []
      var hasher = SHA256Hasher()
      for replica in try directory.replicas() {
        let reader = StreamReader(directory, replica: replica)
        while case .frame(let frame, _) = try reader.next() {
          let (commits, secrets) = scope.commits(in: frame)
          var salts = Salts(secrets)
          for commit in commits {
            guard let segment = salts.segment(of: commit.number) else { continue }
            for (index, record) in commit.records.enumerated() {
              guard let event = record.event, scope.contains(event, commit.eventID(at: index)),
                let salt = salts.salt(commit: commit.number, event: index, hasher: &hasher)
              else { continue }
              named.append(
                (
                  commit.eventID(at: index),
                  ErasedEvent(
                    replica: replica, segment: segment, commit: commit.number, stamp: commit.stamp,
                    index: index, hash: record.hash(salt: salt, hasher: &hasher))
                ))
            }
          }
        }
      }
      return named
    }
  }

  /// Whether the log withholds events of a stream as erased.
  package func hasErased(in replica: ReplicaID) -> Bool {
    withStreams { streamSet.erased.events.contains { $0.replica == replica } }
  }

  /// Those of some events that the log withholds as erased.
  package func erased(of events: [ErasedEvent]) -> [ErasedEvent] {
    let known = withStreams { Set(streamSet.erased.events) }
    return events.filter(known.contains)
  }

  /// Whether a run has content, or secrets, of events that the log withholds.
  package func hasErased(_ run: StreamRun) throws(StorageError) -> Bool {
    let withheld = withStreams { streamSet.withheld }
    return try storageErrors {
      let block = try RunReceiver.block(of: run)
      return withheld.concerns(block) && withheld.withheld(from: Block(block)) != nil
    }
  }

  /// Withholds the events that erasing commits name, wherever they stand, if the owners of those commits have signed them. Continues an
  /// erasure that was interrupted. The state is rebuilt if anything changed.
  ///
  /// - Parameter anew: Whether to look for content again if all of it should be gone.
  /// - Returns: The content that was withheld by this call.
  package func erase(_ commits: [ErasingCommit], anew: Bool = false) throws(StorageError) -> [Event] {
    let (list, events) = withStreams { (streamSet.erased, Set(streamSet.erased.events)) }
    guard anew || list.isPending || !commits.allSatisfy({ events.isSuperset(of: $0.events) }) else {
      return []
    }
    return try storageErrors {
      try withQuietLog {
        var list = streamSet.erased
        for commit in commits where try isSigned(commit.source) { list.add(commit.events) }
        guard list != streamSet.erased || list.isPending || anew && !list.events.isEmpty else { return [] }
        list.isPending = true
        try keep(list)
        let erased = try findCopies(&list)
        if list != streamSet.erased { try keep(list) }
        try removeSnapshots()
        for replica in try directory.replicas() { try rewrite(replica, list) }
        list.isPending = false
        try keep(list)
        try restart()
        return erased
      }
    }
  }

  /// Whether the owner of a stream has signed a commit of it, as far as this store knows.
  package func isSigned(_ head: Head) throws(StorageError) -> Bool {
    try checkpoint(of: head.replica).map { $0.checkpoint.size >= head.commit.rawValue } ?? false
  }

  /// From here on no run brings the content back, and every process with the store builds its state anew.
  private func keep(_ list: ErasedList) throws(StorageError) {
    lease.lock.update { $0.structure &+= 1 }
    try list.write(in: directory, options)
    lease.lock.update { $0.structure &+= 1 }
    streamSet.erased = list
  }

  /// Adds to `list` the places at which its events stand in this store, if they are not the ones named: in branches, and in streams that
  /// were ended.
  ///
  /// - Returns: The content that will be withheld.
  private func findCopies(_ list: inout ErasedList) throws -> [Event] {
    let withheld = streamSet.withheld
    var copies: [ErasedEvent] = []
    var found: [EventHash: Event] = [:]
    var hasher = SHA256Hasher()
    for replica in try directory.replicas() {
      try forEachFrame(of: replica) { frame, _ in
        if case .block(let block) = frame, !withheld.concerns(block) { return }
        guard let (commits, secrets) = frame.commits else { return }
        var salts = Salts(secrets)
        for commit in commits where withheld.concerns(commit.header) {
          for (index, hash) in withheld.contents(of: commit, salts: &salts, hasher: &hasher) {
            guard let segment = salts.segment(of: commit.number) else { continue }
            copies.append(
              ErasedEvent(
                replica: replica, segment: segment, commit: commit.number, stamp: commit.stamp, index: index,
                hash: hash))
            found[hash] = commit.records[index].event
          }
        }
      }
    }
    list.add(copies)
    return Array(found.values)
  }

  /// Passes all frames of a stream, including those behind its end if it was ended.
  private func forEachFrame(
    of replica: ReplicaID, _ body: (StoredFrame, SegmentCursor) throws -> Void
  ) throws {
    let reader = StreamReader(
      directory, behind: StreamTail(replica: replica), at: nil, listing: try directory.listing(of: replica),
      end: nil)
    while case .frame(let frame, let cursor) = try reader.next() { try body(frame, cursor) }
  }

  /// Replaces the segments of a stream that have content of the listed events, or secrets that lead to their salts.
  private func rewrite(_ replica: ReplicaID, _ list: ErasedList) throws {
    let withheld = streamSet.withheld
    var files: Set<CommitNumber> = []
    try forEachFrame(of: replica) { frame, cursor in
      let first = cursor.header.firstCommit
      switch frame {
      case .record: break
      case .row, .rows: if withheld.concernsSegment(of: replica, from: first) { files.insert(first) }
      case .block(let block):
        guard withheld.concerns(block) else { return }
        if withheld.withheld(from: Block(block)) != nil { files.insert(first) }
      }
    }
    if let end = try StreamEnd.read(of: replica, in: directory) {
      try remove(files.filter { $0.rawValue > end.commit }, of: replica)
      files = files.filter { $0.rawValue <= end.commit }
    }
    if list.events.contains(where: { $0.replica == replica }) { try removeKeptAside(of: replica) }
    guard !files.isEmpty, let reader = streamSet.readers[replica] else { return }
    try recovery.resolve(reader)
    var report = SealReport()
    for segment in try sealableSegments(of: reader) where files.contains(segment.file.firstCommit) {
      try sealUnderLock([segment], &report)
      files.remove(segment.file.firstCommit)
    }
    guard files.isEmpty, report.sealedFiles == report.replacedFiles else {
      throw StorageError(
        .inputOutput, "the segments changed while content was erased from them",
        file: directory.streamPath(replica))
    }
  }

  /// Removes segments behind the end of a stream; its branch has their commits.
  private func remove(_ segments: Set<CommitNumber>, of replica: ReplicaID) throws(StorageError) {
    guard !segments.isEmpty else { return }
    for segment in try directory.segments(of: replica).reversed() where segments.contains(segment.firstCommit)
    {
      try onFiles { () throws(FileError) in
        try directory.fileSystem.remove(directory.path(of: segment, in: replica))
        try directory.fileSystem.synchronizeDirectory(directory.streamPath(replica))
      }
    }
  }

  /// Removes the bytes that recovery cut from the tails of a stream. They cannot be rewritten, because they are not whole frames.
  private func removeKeptAside(of replica: ReplicaID) throws(StorageError) {
    let folder = directory.streamPath(replica)
    try onFiles { () throws(FileError) in
      guard try directory.fileSystem.info(folder) != nil else { return }
      for name in try directory.fileSystem.entries(of: folder) where name.contains(".cut-") {
        try directory.fileSystem.remove("\(folder)/\(name)")
      }
      try directory.fileSystem.synchronizeDirectory(folder)
    }
  }

  /// Removes all snapshots, also those that are unfinished or set aside.
  private func removeSnapshots() throws(StorageError) {
    try SnapshotFolder(at: directory.path, on: directory.fileSystem, options: options).removeAll()
    streamSet.snapshots = []
  }
}
