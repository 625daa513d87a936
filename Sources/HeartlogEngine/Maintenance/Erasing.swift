import HeartlogFiles
import HeartlogFormat

/// Erasing: the content of events is withheld from every file of the store. Their hashes stay, so that roots and proofs remain valid.
extension CommitLog {
  /// The generation of the list of the events that this log withholds.
  package var erasedGeneration: UInt64 { withStreams { streamSet.erased.list.generation } }

  /// Whether the store signs its commits. What nobody signed erases nothing.
  package var isSigning: Bool { streamSet.checkpoints.keys.isSigning }

  /// Names events that have content, in the order of their streams.
  ///
  /// - Throws: `corrupt` if a stream is damaged: there may be more.
  package func events(in scope: ErasureScope) throws(HeartlogError) -> [(id: EventID, event: ErasedEvent)] {
    try heartlogErrors {
      var named: [(id: EventID, event: ErasedEvent)] = []
      var hasher = SHA256Hasher()
      for replica in try directory.replicas() {
        try forEachFrame(StreamReader(directory, replica: replica)) { frame, _ in
          let (commits, secrets) = scope.commits(in: frame)
          var salts = Salts(secrets)
          for commit in commits {
            for (index, record) in commit.records.enumerated() {
              guard let event = record.event, scope.contains(event, commit.eventID(at: index)),
                let erased = ErasedEvent(of: commit, at: index, salts: &salts, hasher: &hasher)
              else { continue }
              named.append((commit.eventID(at: index), erased))
            }
          }
        }
      }
      return named
    }
  }

  /// Checks that an erasure can be written and carried out. A segment is replaced by a copy, so there must be room for the largest one.
  ///
  /// - Throws: `diskFull`. Nothing was written then.
  package func checkRoom(toErase events: [ErasedEvent]) throws(HeartlogError) {
    guard let free = directory.fileSystem.freeBytes(at: directory.path) else { return }
    var largest: UInt64 = 0
    for replica in Set(events.map(\.replica)) {
      largest = max(largest, try directory.segmentSizes(of: replica).map(\.bytes).max() ?? 0)
    }
    let listed = withStreams { streamSet.erased.list.events.count }
    // The commit names the events, and then the list does, in a new file.
    let names = UInt64((2 * events.count + listed) * ErasedEvent.byteCountMax)
    let needed = largest + names + Self.smallFilesBytes
    guard free < needed else { return }
    throw HeartlogError(
      .diskFull, "erasing needs \(needed) bytes of room, and \(free) are free; nothing was erased",
      file: directory.path)
  }

  /// Above what a checkpoint, the names in folders, and a new segment for the erasing commit take.
  private static let smallFilesBytes: UInt64 = 128 << 10

  /// Whether the log withholds events of a stream as erased.
  package func hasErased(in replica: ReplicaID) -> Bool {
    withStreams { streamSet.erased.withheld.hasEvents(of: replica) }
  }

  /// Those of some events that the log withholds as erased.
  package func erased(of events: [ErasedEvent]) -> [ErasedEvent] {
    let known = withStreams { Set(streamSet.erased.list.events) }
    return events.filter(known.contains)
  }

  /// A run without what the log withholds; nil if it contains none of it.
  package func redacted(_ run: StreamRun) throws(HeartlogError) -> StreamRun? {
    let withheld = withStreams { streamSet.erased.withheld }
    guard !withheld.isEmpty else { return nil }
    return try heartlogErrors {
      guard let rest = withheld.redacted(try RunReceiver.block(of: run)) else { return nil }
      return try run.with(rest)
    }
  }

  /// Withholds the events that erasing commits name, wherever they stand, if the owners of those commits have signed them. Continues an
  /// erasure that was interrupted. The state is rebuilt if anything changed.
  ///
  /// Segments are rewritten with the lock held for one at a time, so that other writers go on. What they write meanwhile cannot bring the
  /// content back. At the end the lock is held while the log is read anew.
  ///
  /// - Parameter anew: Whether to look for content again if all of it should be gone.
  /// - Returns: The content that was withheld by this call; nil if there was nothing to do.
  package func erase(_ commits: [ErasingCommit], anew: Bool = false) throws(HeartlogError) -> [Event]? {
    let known = withStreams { streamSet.erased.list }
    var signed: [ErasingCommit] = []
    for commit in commits where try isSigned(commit.source) { signed.append(commit) }
    let isNew = { () -> Bool in
      if signed.isEmpty { return false }
      let events = Set(known.events)
      return signed.contains { !events.isSuperset(of: $0.events) }
    }
    guard anew || known.isPending || isNew() else { return nil }
    return try heartlogErrors {
      guard try exclusively({ try $0.beginErasing(signed, anew: anew) }) else { return nil }
      var erased: [EventHash: Event] = [:]
      while true {
        let copies = try findCopies(&erased)
        let list = try exclusively { _ in
          try streamSet.erased.add(copies)
          return streamSet.erased.list
        }
        for replica in try directory.replicas() { try rewrite(replica) }
        // Another process may have begun to erase more.
        if try exclusively({ try $0.finishErasing(list) }) { return Array(erased.values) }
      }
    }
  }

  /// Whether the owner of a stream has signed a commit of it, as far as this store knows.
  package func isSigned(_ head: Head) throws(HeartlogError) -> Bool {
    try checkpoint(of: head.replica).map { $0.checkpoint.size >= head.commit.rawValue } ?? false
  }

  /// Returns the places at which the listed events stand in this store with their content: those that were named, and others in branches
  /// and in streams that were ended.
  ///
  /// - Parameter found: Receives the content.
  private func findCopies(_ found: inout [EventHash: Event]) throws -> [ErasedEvent] {
    let withheld = withStreams { streamSet.erased.withheld }
    if withheld.isEmpty { return [] }
    var copies: [ErasedEvent] = []
    for replica in try directory.replicas() {
      try forEachFrame(try readerBeyondEnd(of: replica)) { frame, _ in
        if case .block(let block) = frame, !withheld.affects(block) { return }
        guard let (commits, secrets) = frame.commits else { return }
        for (place, event) in withheld.contents(of: commits, secrets: secrets) {
          copies.append(place)
          found[place.hash] = event
        }
      }
    }
    return copies
  }

  /// A reader that passes the end of a stream that was ended.
  private func readerBeyondEnd(of replica: ReplicaID) throws -> StreamReader {
    StreamReader(
      directory, behind: StreamTail(replica: replica), at: nil, listing: StoreDirectory.StreamListing(),
      end: nil)
  }

  /// Passes all frames of a stream.
  ///
  /// - Throws: `corrupt` if it is damaged. Behind its end that does not matter: all of it can be removed.
  private func forEachFrame(
    _ reader: StreamReader, _ body: (StoredFrame, SegmentCursor) throws -> Void
  ) throws {
    guard let finding = try reader.forEachFrame(body), finding.isCorrupt else { return }
    let end = try StreamEnd.read(of: reader.replica, in: directory)?.commit ?? .max
    if reader.tail.next.rawValue <= end { throw finding.error }
  }

  /// How often the segments of a stream are looked through. Other processes may join them meanwhile.
  private static let passesMax = 16

  /// Replaces the segments of a stream that have content of the listed events, or secrets that lead to their salts.
  private func rewrite(_ replica: ReplicaID) throws {
    for _ in 0..<Self.passesMax {
      let files = try segmentsWithErased(of: replica)
      if files.isEmpty { return }
      if let end = try StreamEnd.read(of: replica, in: directory) {
        try exclusively { try $0.removeSegments(behind: end, of: replica) }
      }
      for first in files.sorted() { try exclusively { try $0.rewriteSegment(from: first, of: replica) } }
    }
    throw HeartlogError(
      .inputOutput, "the segments keep changing while content is erased from them",
      file: directory.streamPath(replica))
  }

  /// The first commits of the segments of a stream that have content of the listed events, or secrets that lead to their salts.
  private func segmentsWithErased(of replica: ReplicaID) throws -> Set<CommitNumber> {
    let withheld = withStreams { streamSet.erased.withheld }
    if withheld.isEmpty { return [] }
    let end = try StreamEnd.read(of: replica, in: directory)?.commit ?? .max
    var files: Set<CommitNumber> = []
    try forEachFrame(try readerBeyondEnd(of: replica)) { frame, cursor in
      let first = cursor.header.firstCommit
      let isFound =
        switch frame {
        case .record: false
        case .rows: preconditionFailure("a reader that borrows no rows")
        case .row(let commit, _):
          withheld.affectsSegment(of: replica, from: first)
            || commit.number.rawValue > end && withheld.affects(commit.header)
        case .block(let block):
          // Older branches have other hashes than the commits behind the end that they replace.
          block.lastCommit.rawValue > end ? withheld.affects(block) : withheld.redacted(block) != nil
        }
      if isFound { files.insert(first) }
    }
    return files
  }

}

extension ExclusiveLog {
  /// Lists what is to be withheld from here on.
  ///
  /// - Returns: Whether there is anything to do.
  func beginErasing(_ commits: [ErasingCommit], anew: Bool) throws -> Bool {
    var list = streamSet.erased.list
    list.add(commits.flatMap(\.events))
    guard list != streamSet.erased.list || list.isPending || anew && !list.events.isEmpty else {
      return false
    }
    try markContentAsChanging(list)
    return true
  }

  /// Records that content of commits that are here is about to change. Until that is finished, there are no snapshots.
  private func markContentAsChanging(_ list: ErasedList) throws {
    var list = list
    list.isPending = true
    try streamSet.erased.replace(by: list)
    try removeSnapshots()
  }

  /// Removes what is not part of the log, and records that nothing is left of the listed events.
  ///
  /// - Returns: false if the list has changed since.
  func finishErasing(_ list: ErasedList) throws -> Bool {
    guard streamSet.erased.list == list else { return false }
    for reader in streamSet.readers.values {
      reader.resolvedStructure = nil
      try recovery.resolve(reader)
      guard streamSet.erased.withheld.hasEvents(of: reader.replica) else { continue }
      if let finding = streamSet.ends[reader.replica], finding.verdict != .corrupt {
        try recovery.cutTail(finding, of: reader)
        streamSet.ends[reader.replica] = nil
      }
      try removeKeptAside(of: reader.replica)
    }
    try directory.removeUnfinished(ErasedList.path(in: directory))
    try removeSnapshots()
    var finished = list
    finished.isPending = false
    try streamSet.erased.replace(by: finished)
    try log.restart()
    return true
  }

  /// Removes what lies behind the end of a stream, the last segment first: its branch has these commits.
  func removeSegments(behind end: StreamEnd, of replica: ReplicaID) throws {
    for segment in try directory.segments(of: replica).reversed()
    where segment.firstCommit.rawValue > end.commit {
      try directory.fileSystem.remove(directory.path(of: segment, in: replica))
      try directory.fileSystem.synchronizeDirectory(directory.streamPath(replica))
    }
  }

  /// Replaces a segment, as far as its stream goes.
  ///
  /// - Parameter end: The last commit that is kept; nil for all.
  func rewriteSegment(
    from first: CommitNumber, of replica: ReplicaID, upTo end: CommitNumber? = nil
  ) throws {
    guard let reader = streamSet.readers[replica] else { return }
    try recovery.resolve(reader)
    var report = SealReport()
    for segment in try sealableSegments(of: reader) where segment.file.firstCommit == first {
      try seal([segment], upTo: end, &report)
    }
  }

  /// Removes the bytes that recovery cut from the tails of a stream, and the damaged files that repair kept. They cannot be rewritten,
  /// because they are not whole frames.
  private func removeKeptAside(of replica: ReplicaID) throws(HeartlogError) {
    let folder = directory.streamPath(replica)
    try heartlogErrors {
      guard try directory.fileSystem.info(folder) != nil else { return }
      for name in try directory.fileSystem.entries(of: folder)
      where name.contains(".cut-") || name.contains(".damaged-") {
        try directory.fileSystem.remove("\(folder)/\(name)")
      }
      try directory.fileSystem.synchronizeDirectory(folder)
    }
  }

  /// Removes all snapshots, also those that are unfinished or set aside.
  func removeSnapshots() throws(HeartlogError) {
    try SnapshotFolder(at: directory.path, on: directory.fileSystem, options: options).removeAll()
    streamSet.snapshots = []
  }
}
