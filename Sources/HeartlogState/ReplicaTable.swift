import HeartlogFormat

/// The replicas that a state has seen, and how much of each stream it has applied.
package struct ReplicaTable: Sendable {
  /// The progress in one replica's stream.
  struct Progress: Sendable {
    let id: ReplicaID
    /// Every commit up to this number was applied.
    var head: UInt64 = 0
    /// Commits applied beyond a gap, by number: the sequence number of the first event, and the number of events.
    var beyond: [UInt64: (firstSequence: UInt64, eventCount: Int)] = [:]
    /// Covers the commits up to `head`.
    var commitNumbers = CommitNumbers()
    var seen = SeenCommits()
    var eventCount: UInt64 = 0
    var lastStamp = HybridTimestamp(rawValue: 0)
  }

  private(set) var replicas: [Progress] = []
  private var slots: [ReplicaID: ReplicaSlot] = [:]
  /// By replica slot: what a span of its commits had seen, from the last lookup; nil if it must be recomputed.
  private var horizons: [CausalityCache?] = []

  /// What all commits of a span had seen of other streams, directly or through the commits they had seen.
  fileprivate struct CausalityCache: Sendable {
    let commits: Range<UInt64>
    /// By replica slot. Nothing was seen of slots beyond the end.
    let seen: [UInt64]
  }

  func slot(of id: ReplicaID) -> ReplicaSlot? { slots[id] }

  func progress(of id: ReplicaID) -> Progress? { slots[id].map { replicas[Int($0.index)] } }

  mutating func intern(_ id: ReplicaID) -> ReplicaSlot {
    // Commits usually come in runs of one replica.
    if let last = replicas.last, last.id == id { return ReplicaSlot(index: Int32(replicas.count - 1)) }
    if let slot = slots[id] { return slot }
    append(Progress(id: id))
    return ReplicaSlot(index: Int32(replicas.count - 1))
  }

  private mutating func append(_ progress: Progress) {
    slots[progress.id] = ReplicaSlot(index: Int32(replicas.count))
    replicas.append(progress)
    horizons.append(nil)
    assert(slots.count == replicas.count && horizons.count == replicas.count, "each replica has one slot")
  }

  /// Records a commit; false if it was recorded before.
  mutating func note(_ commit: CommitHeader, of slot: ReplicaSlot) -> Bool {
    let index = Int(slot.index)
    let number = commit.number.rawValue
    guard number > replicas[index].head else { return false }
    if number == replicas[index].head + 1 {
      replicas[index].head = number
      replicas[index].commitNumbers.append(
        number, firstSequence: commit.firstSequence.rawValue, eventCount: commit.eventCount)
      while !replicas[index].beyond.isEmpty,
        let next = replicas[index].beyond.removeValue(forKey: replicas[index].head + 1)
      {
        replicas[index].head += 1
        replicas[index].commitNumbers.append(
          replicas[index].head, firstSequence: next.firstSequence, eventCount: next.eventCount)
      }
    } else {
      guard replicas[index].beyond[number] == nil else { return false }
      replicas[index].beyond[number] = (commit.firstSequence.rawValue, commit.eventCount)
    }
    replicas[index].eventCount &+= UInt64(commit.eventCount)
    replicas[index].lastStamp = max(replicas[index].lastStamp, commit.stamp)
    return true
  }

  /// Records commits that follow the last one of their stream and have seen nothing new of other streams.
  ///
  /// - Parameter eventStarts: the index of the first event of each commit, followed by the end of the last commit.
  /// - Returns: false if they do not follow directly, or if later commits were applied already. Then nothing is recorded.
  mutating func note(
    from first: CommitNumber, of slot: ReplicaSlot, lastStamp: HybridTimestamp, firstSequence: SequenceNumber,
    eventStarts: Span<Int32>
  ) -> Bool {
    assert(eventStarts.count > 1, "there is a commit")
    let index = Int(slot.index)
    guard first.rawValue == replicas[index].head &+ 1, replicas[index].beyond.isEmpty else { return false }
    replicas[index].commitNumbers.append(
      from: first.rawValue, firstSequence: firstSequence.rawValue, eventStarts: eventStarts)
    replicas[index].head += UInt64(eventStarts.count - 1)
    replicas[index].eventCount &+= UInt64(eventStarts[eventStarts.count - 1] - eventStarts[0])
    replicas[index].lastStamp = max(replicas[index].lastStamp, lastStamp)
    return true
  }

  /// Records what a commit had seen of other streams.
  mutating func note(_ heads: [Head], seenBy number: CommitNumber, of slot: ReplicaSlot) {
    for head in heads {
      let other = intern(head.replica)
      assert(other != slot, "a stream is not among the others that it has seen")
      replicas[Int(slot.index)].seen.note(number.rawValue, saw: head.commit.rawValue, of: other)
    }
    for index in horizons.indices { horizons[index] = nil }
  }

  /// Returns whether the write at `a` comes after the one at `b` in the total order. Any write comes after `.none`.
  @inline(__always)
  func isLater(_ a: WritePosition, than b: WritePosition) -> Bool {
    if b.replica == .none { return true }
    return MergeOrder.isLater(
      stamps: (a.stamp, than: b.stamp), numbers: (a.sequence, than: b.sequence),
      isSameReplica: a.replica == b.replica
    ) { (id(of: a.replica), than: id(of: b.replica)) }
  }

  /// Returns whether the write at `a` supersedes the one at `b`: it is later, and its writer had seen the other.
  ///
  /// Both must have been recorded. An earlier write never supersedes a later one, so the winner of a register is never superseded, even if
  /// a clock or a writer got a stamp wrong.
  mutating func supersedes(_ a: WritePosition, _ b: WritePosition) -> Bool {
    guard isLater(a, than: b) else { return false }
    return a.replica == b.replica || sees(commit(of: b), of: b.replica, by: commit(of: a), of: a.replica)
  }

  /// Returns whether a write supersedes another one of the same register. False for a write that is not part of the state.
  package mutating func supersedes(_ write: EventPosition, _ other: EventPosition) -> Bool {
    guard let later = position(write), let earlier = position(other) else { return false }
    return supersedes(later, earlier)
  }

  private func position(_ event: EventPosition) -> WritePosition? {
    slot(of: event.replica).map {
      WritePosition(stamp: event.stamp.rawValue, sequence: event.sequence.rawValue, replica: $0)
    }
  }

  /// Returns the id of a replica; the lowest possible id for an invalid slot of a malformed snapshot.
  private func id(of slot: ReplicaSlot) -> ReplicaID {
    replicas[checked: slot.index]?.id ?? ReplicaID(high: 0, low: 0)
  }

  private func has(_ slot: ReplicaSlot) -> Bool { replicas.indices.contains(Int(slot.index)) }

  private func commit(of write: WritePosition) -> UInt64 {
    guard has(write.replica) else { return 0 }
    if !replicas[Int(write.replica.index)].beyond.isEmpty {
      for (number, events) in replicas[Int(write.replica.index)].beyond
      where events.firstSequence <= write.sequence
        && write.sequence - events.firstSequence < UInt64(events.eventCount)
      {
        return number
      }
    }
    return replicas[Int(write.replica.index)].commitNumbers.commit(of: write.sequence)
  }

  /// Returns whether commit `a` of one stream had seen commit `b` of another, directly or through the commits it had seen.
  private mutating func sees(
    _ b: UInt64, of streamOfB: ReplicaSlot, by a: UInt64, of streamOfA: ReplicaSlot
  ) -> Bool {
    guard has(streamOfA), has(streamOfB) else { return false }
    let index = Int(streamOfA.index)
    if let seen = horizons[index]?.seen(of: streamOfB, by: a) { return seen >= b }
    let horizon = horizon(around: a, of: streamOfA)
    horizons[index] = horizon
    return horizon.seen(of: streamOfB, by: a) ?? 0 >= b
  }

  private func horizon(around commit: UInt64, of stream: ReplicaSlot) -> CausalityCache {
    var reached = [UInt64](repeating: 0, count: replicas.count)
    var open = [(stream: stream, commit: commit)]
    reached[Int(stream.index)] = commit
    while let (stream, commit) = open.popLast() {
      let seen = replicas[Int(stream.index)].seen
      for other in seen.replicas where has(other) {
        let last = seen.seen(of: other, by: commit)
        guard last > reached[Int(other.index)] else { continue }
        reached[Int(other.index)] = last
        open.append((other, last))
      }
    }
    return CausalityCache(commits: replicas[Int(stream.index)].seen.span(around: commit), seen: reached)
  }

  /// Returns since when an item is a favorite; nil unless it is one.
  func favoritedMoment(of item: ItemRecord) -> FavoritedMoment? {
    guard item.isFavorite else { return nil }
    guard let position = eventPosition(of: item.membership) else {
      return FavoritedMoment(date: item.favoritedDate)
    }
    return FavoritedMoment(date: item.favoritedDate, position: position)
  }

  /// Returns the position of a write for use outside this state; nil if there was none.
  func eventPosition(of write: WritePosition) -> EventPosition? {
    guard has(write.replica) else { return nil }
    return EventPosition(
      stamp: HybridTimestamp(rawValue: write.stamp), replica: replicas[Int(write.replica.index)].id,
      sequence: SequenceNumber(rawValue: write.sequence))
  }
}

extension ReplicaTable.CausalityCache {
  /// Returns the last commit of a stream that `commit` had seen; nil if `commit` is outside the span.
  @inline(__always)
  fileprivate func seen(of stream: ReplicaSlot, by commit: UInt64) -> UInt64? {
    guard commits.contains(commit) else { return nil }
    return Int(stream.index) < seen.count ? seen[Int(stream.index)] : 0
  }
}

/// The position of an event in the `MergeOrder`.
package struct EventPosition: Hashable, Sendable, Comparable {
  /// Compared first.
  package let stamp: HybridTimestamp
  /// Compared if the stamps are equal.
  package let replica: ReplicaID
  /// Compared between events of one commit.
  package let sequence: SequenceNumber

  /// Creates a position.
  package init(stamp: HybridTimestamp, replica: ReplicaID, sequence: SequenceNumber) {
    self.stamp = stamp
    self.replica = replica
    self.sequence = sequence
  }

  package static func < (a: EventPosition, b: EventPosition) -> Bool {
    MergeOrder.isLater(
      stamps: (b.stamp.rawValue, than: a.stamp.rawValue),
      numbers: (b.sequence.rawValue, than: a.sequence.rawValue), isSameReplica: a.replica == b.replica
    ) { (b.replica, than: a.replica) }
  }
}

/// An `EventPosition` with the replica as a slot, as registers store it.
struct WritePosition: Sendable {
  var stamp: UInt64
  var sequence: UInt64
  var replica: ReplicaSlot

  /// Comes before every write.
  static let none = WritePosition(stamp: 0, sequence: 0, replica: .none)
}

extension ReplicaTable {
  func append(to directory: inout ByteWriter, _ writer: inout SnapshotWriter) throws {
    directory.varint(replicas.count)
    for replica in replicas {
      directory.replica(replica.id)
      directory.u64(replica.head)
      directory.u64(replica.eventCount)
      directory.u64(replica.lastStamp.rawValue)
      directory.varint(replica.beyond.count)
      for (number, events) in replica.beyond.sorted(by: { $0.key < $1.key }) {
        directory.u64(number)
        directory.u64(events.firstSequence)
        directory.varint(events.eventCount)
      }
      directory.location(try writer.records(replica.commitNumbers.runs))
      directory.u64(replica.commitNumbers.next.commit)
      directory.u64(replica.commitNumbers.next.sequence)
      directory.varint(replica.seen.entries.count)
      for (other, entries) in replica.seen.entries.sorted(by: { $0.key.index < $1.key.index }) {
        directory.varint(Int(other.index))
        directory.location(try writer.records(entries))
      }
    }
  }

  init(_ reader: inout SnapshotReader) throws(MalformedError) {
    self.init()
    let count = try reader.count("replicas")
    for _ in 0..<count {
      var progress = Progress(id: try reader.bytes.replica())
      progress.head = try reader.number()
      progress.eventCount = try reader.number()
      progress.lastStamp = try reader.stamp()
      for _ in 0..<(try reader.count("commits beyond a gap")) {
        let number = try reader.number()
        let sequence = try reader.number()
        progress.beyond[number] = (
          sequence, try reader.bytes.count(atMost: Limits.blockEventsMax, "events of a commit")
        )
      }
      let runs: PagedTable<CommitNumbers.Run> = try reader.table()
      progress.commitNumbers = CommitNumbers(runs, next: (try reader.number(), try reader.number()))
      var seen: [ReplicaSlot: PagedTable<SeenCommits.Entry>] = [:]
      for _ in 0..<(try reader.count("replicas that were seen")) {
        let other = try reader.bytes.count(atMost: max(0, count - 1), "a replica")
        seen[ReplicaSlot(index: Int32(other))] = try reader.table()
      }
      progress.seen = SeenCommits(seen)
      guard slot(of: progress.id) == nil else { throw MalformedError("a replica that a snapshot has twice") }
      append(progress)
    }
  }

  func loadAll() {
    for replica in replicas {
      replica.commitNumbers.loadAll()
      replica.seen.loadAll()
    }
  }
}
