import HeartlogFiles
import HeartlogFormat

/// Reads what is left of a stream, damaged or not: its commits in order, and what is lost between them.
///
/// Up to the first damage these are the commits of the stream. Behind it, a frame counts if its checksums hold where it stands and its
/// commits can be decoded. Takes no lock. Source: docs/format.md, "Salvage".
final class DamagedStreamReader {
  /// Consecutive commits.
  struct Piece {
    let commits: [Commit]
    /// The secrets for their salts.
    let secrets: [SegmentSecret]
    /// Whether they continue what was returned before.
    let isContinued: Bool
    /// If not: what the stream had seen before, as far as it can be read.
    let seen: [Head]
  }

  private let directory: StoreDirectory
  let replica: ReplicaID
  /// Nil behind the first damage.
  private var reader: StreamReader?
  /// The last commit that counts.
  private let last: UInt64
  /// The segments behind the damage that were not looked at yet.
  private var segments: ArraySlice<SegmentFile> = []
  private var cursor: SegmentCursor?
  private var isPieceBroken = false
  private var next = CommitNumber(rawValue: 1)
  private var nextSequence = SequenceNumber(rawValue: 1)
  private var seen: [ReplicaID: CommitNumber] = [:]

  /// What was found, as far as the stream was read: the name, the damage, the bad bytes, and what is lost.
  private(set) var found: SalvagedStream

  init(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError) {
    self.directory = directory
    self.replica = replica
    found = SalvagedStream(replica: replica)
    do {
      last = try StreamEnd.read(of: replica, in: directory)?.commit ?? .max
      reader = StreamReader(directory, replica: replica)
    } catch {
      // Where it ended is not known. All of it is read: whoever knows the end ends it again.
      guard error.isRepairable else { throw error }
      last = .max
      reader = StreamReader(
        directory, behind: StreamTail(replica: replica), at: nil, listing: StoreDirectory.StreamListing(),
        end: nil)
      found.damage = error
    }
  }

  /// Returns the next commits; nil at the end.
  func read() throws -> Piece? {
    guard next.rawValue <= last else { return nil }
    guard let reader else { return try readBehindDamage() }
    switch try reader.next() {
    case .frame(let frame, let cursor):
      found.name = cursor.header.replicaName
      guard let (commits, secrets) = frame.commits else { return try read() }
      return pass(commits, secrets)
    case .end(let finding):
      guard let finding, finding.isCorrupt else {
        end(knownFrom: try lastKnownCommit())
        return nil
      }
      found.damage = found.damage ?? finding.error
      self.reader = nil
      isPieceBroken = true
      try lookBehindDamage()
      return try readBehindDamage()
    }
  }

  private func pass(_ commits: [Commit], _ secrets: [SegmentSecret], seenBefore: [Head]? = nil) -> Piece? {
    guard let first = commits.first, let final = commits.last else { return nil }
    let isContinued = !isPieceBroken && first.number == next
    isPieceBroken = false
    for head in seenBefore ?? [] { seen[head.replica] = max(head.commit, seen[head.replica] ?? head.commit) }
    let before =
      isContinued
      ? [] : seen.map { Head(replica: $0.key, commit: $0.value) }.sorted { $0.replica < $1.replica }
    if first.number > next { found.lost.append(next...CommitNumber(rawValue: first.number.rawValue - 1)) }
    for head in commits.lazy.flatMap(\.heads) { seen[head.replica] = head.commit }
    next = final.number.next
    nextSequence = final.nextSequence
    return Piece(commits: commits, secrets: secrets, isContinued: isContinued, seen: before)
  }

  // MARK: - Behind the damage

  private func lookBehindDamage() throws {
    let all = try directory.segments(of: replica)
    let start = all.last { $0.firstCommit <= next }?.firstCommit ?? next
    // One that should be a leftover may have commits that no other segment has.
    let leftovers = try directory.servingSegments(in: all, of: replica).leftovers
    segments = all.filter { $0.firstCommit >= start || leftovers.contains($0) }[...]
  }

  private func readBehindDamage() throws -> Piece? {
    while true {
      guard let cursor else {
        guard let segment = segments.popFirst() else {
          end(knownFrom: try lastKnownCommit())
          return nil
        }
        try enter(segment)
        continue
      }
      switch try cursor.look() {
      case .end: self.cursor = nil
      case .bad(let reason): try passBadBytes(cursor, reason)
      case .frame(let frame):
        let offset = cursor.offset
        defer { cursor.pass(frame) }
        guard frame.commitCount > 0,
          frame.firstCommit.rawValue + UInt64(frame.commitCount) > next.rawValue
        else { continue }
        do throws(MalformedError) {
          let stored = try StoredFrame.decode(frame, at: cursor, headsBefore: nil)
          guard let (commits, secrets) = stored.commits else { continue }
          let new = commits.filter { $0.number >= next && $0.number.rawValue <= last }
          var heads: [Head]?
          if case .block(let block) = stored, new.count == commits.count { heads = block.headsAtStart }
          if new.first?.firstSequence != nextSequence { isPieceBroken = true }
          found.name = cursor.header.replicaName
          guard let piece = pass(new, secrets, seenBefore: heads) else { continue }
          return piece
        } catch {
          note(cursor.path, offset, frame.frameBytes, error.reason)
        }
      }
    }
  }

  /// Opens a segment, or passes it as a whole if its header does not tell how it is to be read.
  private func enter(_ segment: SegmentFile) throws {
    let path = directory.path(of: segment, in: replica)
    let file: any OpenFile
    do { file = try directory.fileSystem.open(path, .read) } catch {
      if error.isNotFound { return }
      guard error.isNotAFile else { throw error }
      return note(path, 0, 0, error.description)
    }
    do throws(HeartlogError) {
      let header = try directory.header(of: file, path: path).header
      guard header.replica == replica, header.firstCommit == segment.firstCommit else {
        throw HeartlogError(.corrupt, "a segment header that belongs to another file", file: path)
      }
      cursor = SegmentCursor(file: file, path: path, header: header)
      found.mayLackMore = false
    } catch {
      guard error.code == .corrupt else { throw error }
      note(path, 0, try file.size(), error.message)
      found.mayLackMore = true
    }
  }

  private func passBadBytes(_ cursor: SegmentCursor, _ reason: String) throws {
    let start = cursor.offset
    if try cursor.skipBadBytes() != nil { return note(cursor.path, start, cursor.offset - start, reason) }
    self.cursor = nil
    let file = try directory.fileSystem.open(cursor.path, .read)
    let size = try file.size()
    let rest = try file.bytes(Int(clamping: size - min(size, start)), at: start)
    if cursor.header.kind == .sealed {
      // Bytes behind the end are no part of the log.
      guard start < cursor.header.totals.fileBytes else { return }
      note(cursor.path, start, cursor.header.totals.fileBytes - start, reason)
    } else if let end = rest.lastIndex(where: { $0 != 0 }) {
      note(cursor.path, start, UInt64(end + 1), reason)
      found.mayLackMore = true
    }
  }

  private func note(_ file: String, _ offset: UInt64, _ byteCount: UInt64, _ reason: String) {
    found.badBytes.append(
      SalvagedStream.BadBytes(file: file, offset: offset, byteCount: byteCount, reason: reason))
    isPieceBroken = true
  }

  /// The last commit of which segments and the checkpoint know; 0 if there is none.
  private func lastKnownCommit() throws -> UInt64 {
    var known = (try? CheckpointFile.read(of: replica, in: directory))?.checkpoint.size ?? 0
    for segment in try directory.segments(of: replica) {
      known = max(known, segment.firstCommit.rawValue - 1)
      guard let header = try directory.lastCommit(of: segment, in: replica) else { continue }
      known = max(known, header.rawValue)
    }
    return min(known, last)
  }

  private func end(knownFrom known: UInt64) {
    if known >= next.rawValue { found.lost.append(next...CommitNumber(rawValue: known)) }
    next = CommitNumber(rawValue: .max)
  }
}

/// The file `lost`: commits that were acknowledged and are gone, until they are here again or a person retires their replica. Source:
/// docs/format.md, "Lost commits".
struct LostCommits: Equatable {
  /// One range for each stream.
  private(set) var ranges: [ReplicaID: ClosedRange<CommitNumber>] = [:]

  static func path(in directory: StoreDirectory) -> String { "\(directory.path)/lost" }

  /// Reads the file. A damaged one says nothing: the loss was reported when it was found.
  static func read(_ directory: StoreDirectory) throws(HeartlogError) -> LostCommits {
    guard let bytes = try directory.fileSystem.contents(of: path(in: directory)),
      let text = ChecksummedText(bytes)
    else { return LostCommits() }
    try text.checkVersion(of: "a list of lost commits", file: path(in: directory))
    var list = LostCommits()
    for line in text.lines {
      let words = ChecksummedText.value(of: "lost", in: line)?.split(separator: " ") ?? []
      guard words.count == 3, let replica = ReplicaID(String(words[0])), let first = UInt64(words[1]),
        let last = UInt64(words[2]), 1 <= first, first <= last
      else { continue }
      list.ranges[replica] = CommitNumber(rawValue: first)...CommitNumber(rawValue: last)
    }
    return list
  }

  mutating func add(_ commits: ClosedRange<CommitNumber>, of replica: ReplicaID) {
    let known = ranges[replica] ?? commits
    ranges[replica] =
      min(known.lowerBound, commits.lowerBound)...max(known.upperBound, commits.upperBound)
  }

  mutating func remove(_ replica: ReplicaID) { ranges[replica] = nil }

  /// The part of a loss that is not here; nil if everything is.
  ///
  /// - Parameter next: The first commit after those that are here.
  func missing(of replica: ReplicaID, from next: CommitNumber) -> ClosedRange<CommitNumber>? {
    guard let range = ranges[replica], next <= range.upperBound else { return nil }
    return max(next, range.lowerBound)...range.upperBound
  }

  /// Replaces the file, durably. The caller holds the lock.
  func write(in directory: StoreDirectory, _ options: StorageOptions) throws(HeartlogError) {
    let path = Self.path(in: directory)
    try directory.removeUnfinished(path)
    let lines = ranges.sorted { $0.key < $1.key }.map {
      "lost \($0.key) \($0.value.lowerBound) \($0.value.upperBound)"
    }
    try directory.replaceFile(path, with: ChecksummedText.encoded(lines), suffix: options.random())
  }
}

extension CommitLog {
  /// The losses that an earlier writer noted, of commits that are not here again, sorted by stream.
  func notedLosses() throws(HeartlogError) -> [Finding] {
    let lost = try LostCommits.read(directory)
    return lost.ranges.keys.sorted().compactMap { replica in
      let (next, isDropped) = withStreams {
        (streamSet.readers[replica]?.tail.next, streamSet.dropped.contains(replica))
      }
      guard !isDropped,
        let commits = lost.missing(of: replica, from: next ?? CommitNumber(rawValue: 1))
      else { return nil }
      return .missing(commits, of: replica, knownFrom: LostCommits.path(in: directory))
    }
  }

  /// The streams of these losses.
  package func lostReplicas() throws(HeartlogError) -> [ReplicaID] { try notedLosses().map(\.replica) }

  /// Forgets what was lost of a stream: nobody waits for it.
  ///
  /// - Parameter last: only if no later commit was lost; nil for any.
  package func forgetLost(of replica: ReplicaID, upTo last: CommitNumber? = nil) throws(HeartlogError) {
    try exclusively { _ in
      var list = try LostCommits.read(directory)
      guard let range = list.ranges[replica], last.map({ range.upperBound <= $0 }) ?? true else { return }
      list.remove(replica)
      try list.write(in: directory, options)
    }
  }
}
