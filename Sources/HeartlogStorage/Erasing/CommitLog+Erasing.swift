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
  /// The lock is held for one segment at a time, so that other writers go on. What they write meanwhile cannot bring the content back.
  ///
  /// - Parameter anew: Whether to look for content again if all of it should be gone.
  /// - Returns: The content that was withheld by this call.
  package func erase(_ commits: [ErasingCommit], anew: Bool = false) throws(StorageError) -> [Event] {
    let known = withStreams { streamSet.erased }
    let isNew = { () -> Bool in
      if commits.isEmpty { return false }
      let events = Set(known.events)
      return commits.contains { !events.isSuperset(of: $0.events) }
    }
    guard anew || known.isPending || isNew() else { return [] }
    return try storageErrors {
      guard try withQuietLog({ try beginErasing(commits, anew: anew) }) else { return [] }
      var erased: [EventHash: Event] = [:]
      while true {
        let copies = try findCopies(&erased)
        let list = try withQuietLog {
          var list = streamSet.erased
          list.add(copies)
          if list != streamSet.erased { try keep(list) }
          return list
        }
        for replica in try directory.replicas() { try rewrite(replica) }
        // Another process may have begun to erase more.
        if try withQuietLog({ try finishErasing(list) }) { return Array(erased.values) }
      }
    }
  }

  /// Lists what is to be withheld from here on.
  ///
  /// - Returns: Whether there is anything to do.
  private func beginErasing(_ commits: [ErasingCommit], anew: Bool) throws -> Bool {
    var list = streamSet.erased
    list.add(try commits.filter { try isSigned($0.source) }.flatMap(\.events))
    guard list != streamSet.erased || list.isPending || anew && !list.events.isEmpty else { return false }
    list.isPending = true
    try keep(list)
    try removeSnapshots()
    return true
  }

  /// Removes what is not part of the log, and records that nothing is left of the listed events.
  ///
  /// - Returns: false if more was listed since.
  private func finishErasing(_ list: ErasedList) throws -> Bool {
    guard streamSet.erased == list else { return false }
    for reader in streamSet.readers.values {
      reader.resolvedStructure = nil
      try recovery.resolve(reader)
      if list.events.contains(where: { $0.replica == reader.replica }) {
        try removeKeptAside(of: reader.replica)
      }
    }
    try ErasedList.removeUnfinished(in: directory)
    try removeSnapshots()
    var finished = list
    finished.isPending = false
    try keep(finished)
    try restart()
    return true
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

  /// Returns the places at which the listed events stand in this store with their content: those that were named, and others in branches
  /// and in streams that were ended.
  ///
  /// - Parameter found: Receives the content.
  private func findCopies(_ found: inout [EventHash: Event]) throws -> [ErasedEvent] {
    let withheld = withStreams { streamSet.withheld }
    var copies: [ErasedEvent] = []
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
    return copies
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
  private func rewrite(_ replica: ReplicaID) throws {
    var left = Int.max
    while case let files = try segmentsWithErased(of: replica), !files.isEmpty {
      // Another process may have joined some of them.
      guard files.count < left else {
        throw StorageError(
          .inputOutput, "the segments keep changing while content is erased from them",
          file: directory.streamPath(replica))
      }
      left = files.count
      for first in files.sorted() { try withQuietLog { try rewriteSegment(from: first, of: replica) } }
    }
  }

  /// The first commits of the segments of a stream that have content of the listed events, or secrets that lead to their salts.
  private func segmentsWithErased(of replica: ReplicaID) throws -> Set<CommitNumber> {
    let withheld = withStreams { streamSet.withheld }
    let end = try StreamEnd.read(of: replica, in: directory)?.commit ?? .max
    var files: Set<CommitNumber> = []
    try forEachFrame(of: replica) { frame, cursor in
      let first = cursor.header.firstCommit
      let isFound =
        switch frame {
        case .record: false
        case .row(let commit, _):
          withheld.concernsSegment(of: replica, from: first)
            || commit.number.rawValue > end && withheld.concerns(commit.header)
        case .rows: false
        case .block(let block):
          // Older branches have other hashes than the commits behind the end that they replace.
          withheld.concerns(block)
            && (block.lastCommit.rawValue > end || withheld.withheld(from: Block(block)) != nil)
        }
      if isFound { files.insert(first) }
    }
    return files
  }

  /// Replaces a segment. One behind the end of its stream is removed: the stream's branch has its commits. The log is quiet.
  private func rewriteSegment(from first: CommitNumber, of replica: ReplicaID) throws {
    if let end = try StreamEnd.read(of: replica, in: directory), first.rawValue > end.commit {
      for segment in try directory.segments(of: replica) where segment.firstCommit == first {
        try directory.fileSystem.remove(directory.path(of: segment, in: replica))
      }
      return try directory.fileSystem.synchronizeDirectory(directory.streamPath(replica))
    }
    guard let reader = streamSet.readers[replica] else { return }
    try recovery.resolve(reader)
    var report = SealReport()
    for segment in try sealableSegments(of: reader) where segment.file.firstCommit == first {
      try sealUnderLock([segment], &report)
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
