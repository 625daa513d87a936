import HeartlogEvents

/// The replicas that a state has seen, and how far it has applied each one's stream.
struct ReplicaTable: Sendable {
  /// One replica's stream, as far as it was applied.
  struct Progress: Sendable {
    let id: ReplicaID
    /// Every commit up to this number is applied.
    var head: UInt64 = 0
    /// Commits applied beyond a gap, with their events: the sequence number of the first, and how many.
    var beyond: [UInt64: (firstSequence: UInt64, eventCount: Int)] = [:]
    /// Of the commits up to `head`.
    var commitNumbers = CommitNumbers()
    var seen = SeenCommits()
    var eventCount: UInt64 = 0
    var lastStamp = HybridTimestamp(rawValue: 0)
  }

  private(set) var replicas: [Progress] = []
  private var slots: [ReplicaID: ReplicaSlot] = [:]
  /// By replica slot: what a span of its commits had seen, as it was last asked for; nil where it must be looked up anew.
  private var horizons: [CausalityCache?] = []

  /// What all commits of a span had seen of others: as their stream says itself, or as those say that it had seen.
  fileprivate struct CausalityCache: Sendable {
    let commits: Range<UInt64>
    /// By replica slot; there may be later slots, of which nothing was seen.
    let seen: [UInt64]
  }

  func slot(of id: ReplicaID) -> ReplicaSlot? { slots[id] }

  func progress(of id: ReplicaID) -> Progress? { slots[id].map { replicas[Int($0.index)] } }

  mutating func intern(_ id: ReplicaID) -> ReplicaSlot {
    // Commits mostly come in runs of one replica.
    if let last = replicas.last, last.id == id { return ReplicaSlot(index: Int32(replicas.count - 1)) }
    if let slot = slots[id] { return slot }
    let slot = ReplicaSlot(index: Int32(replicas.count))
    replicas.append(Progress(id: id))
    horizons.append(nil)
    slots[id] = slot
    return slot
  }

  /// Adds a replica that is not there yet.
  mutating func append(_ progress: Progress) -> Bool {
    guard slots[progress.id] == nil else { return false }
    slots[progress.id] = ReplicaSlot(index: Int32(replicas.count))
    replicas.append(progress)
    horizons.append(nil)
    return true
  }

  func isApplied(_ number: CommitNumber, of slot: ReplicaSlot) -> Bool {
    let progress = replicas[Int(slot.index)]
    return number.rawValue <= progress.head || progress.beyond[number.rawValue] != nil
  }

  /// Takes note of a commit; false where it was noted before.
  mutating func note(
    _ number: CommitNumber, of slot: ReplicaSlot, stamp: HybridTimestamp, firstSequence: SequenceNumber,
    eventCount: Int
  ) -> Bool {
    let index = Int(slot.index)
    let number = number.rawValue
    guard number > replicas[index].head else { return false }
    if number == replicas[index].head + 1 {
      replicas[index].head = number
      replicas[index].commitNumbers.append(
        number, firstSequence: firstSequence.rawValue, eventCount: eventCount)
      while !replicas[index].beyond.isEmpty,
        let next = replicas[index].beyond.removeValue(forKey: replicas[index].head + 1)
      {
        replicas[index].head += 1
        replicas[index].commitNumbers.append(
          replicas[index].head, firstSequence: next.firstSequence, eventCount: next.eventCount)
      }
    } else {
      guard replicas[index].beyond[number] == nil else { return false }
      replicas[index].beyond[number] = (firstSequence.rawValue, eventCount)
    }
    replicas[index].eventCount &+= UInt64(eventCount)
    replicas[index].lastStamp = max(replicas[index].lastStamp, stamp)
    return true
  }

  /// Takes note of commits that follow the last one of their stream, of which none has seen anything new.
  ///
  /// - Parameter eventStarts: where the events of each begin, and where those of the last one end.
  /// - Returns: false where they do not follow it, or others came before their turn: then nothing is noted.
  mutating func note(
    from first: CommitNumber, of slot: ReplicaSlot, lastStamp: HybridTimestamp, firstSequence: SequenceNumber,
    eventStarts: Span<Int32>
  ) -> Bool {
    let index = Int(slot.index)
    guard first.rawValue == replicas[index].head &+ 1, replicas[index].beyond.isEmpty else { return false }
    replicas[index].commitNumbers.append(
      from: first.rawValue, firstSequence: firstSequence.rawValue, eventStarts: eventStarts)
    replicas[index].head += UInt64(eventStarts.count - 1)
    replicas[index].eventCount &+= UInt64(eventStarts[eventStarts.count - 1] - eventStarts[0])
    replicas[index].lastStamp = max(replicas[index].lastStamp, lastStamp)
    return true
  }

  /// Takes note of what a commit had seen of others.
  mutating func note(_ heads: [Head], seenBy number: CommitNumber, of slot: ReplicaSlot) {
    for head in heads {
      let other = intern(head.replica)
      replicas[Int(slot.index)].seen.note(number.rawValue, saw: head.commit.rawValue, of: other)
    }
    for index in horizons.indices { horizons[index] = nil }
  }

  /// Whether the write at `a` comes after the one at `b` in the total order. Any write comes after none.
  @inline(__always)
  func isLater(_ a: WritePosition, than b: WritePosition) -> Bool {
    if b.replica == .none { return true }
    return MergeOrder.isLater(
      stamps: (a.stamp, than: b.stamp), numbers: (a.sequence, than: b.sequence),
      isSameReplica: a.replica == b.replica
    ) { (id(of: a.replica), than: id(of: b.replica)) }
  }

  /// Whether the write at `a` takes the place of the one at `b`: it is later, and its writer had seen the other.
  ///
  /// Both must have been noted. Only a later write can: a stamp that a clock or a writer got wrong never makes the winner of a register
  /// one that was overwritten.
  mutating func supersedes(_ a: WritePosition, _ b: WritePosition) -> Bool {
    guard isLater(a, than: b) else { return false }
    return a.replica == b.replica || sees(commit(of: b), of: b.replica, by: commit(of: a), of: a.replica)
  }

  /// The id of a replica; the lowest for a slot that a snapshot made up.
  private func id(of slot: ReplicaSlot) -> ReplicaID {
    has(slot) ? replicas[Int(slot.index)].id : ReplicaID(high: 0, low: 0)
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

  /// Whether commit `b` of a stream had been seen when commit `a` of another was written: as that stream says itself, or as those say
  /// that it had seen.
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

  /// The place of a write for readers outside this state; nil where there was none.
  func eventPosition(of write: WritePosition) -> EventPosition? {
    guard has(write.replica) else { return nil }
    return EventPosition(
      stamp: HybridTimestamp(rawValue: write.stamp), replica: replicas[Int(write.replica.index)].id,
      sequence: SequenceNumber(rawValue: write.sequence))
  }
}

extension ReplicaTable.CausalityCache {
  /// The last commit of a stream that `commit` had seen; nil where `commit` is not of the span.
  @inline(__always)
  fileprivate func seen(of stream: ReplicaSlot, by commit: UInt64) -> UInt64? {
    guard commits.contains(commit) else { return nil }
    return Int(stream.index) < seen.count ? seen[Int(stream.index)] : 0
  }
}

/// An `EventPosition` with the replica as its slot: what a register keeps.
struct WritePosition: Sendable {
  var stamp: UInt64
  var sequence: UInt64
  var replica: ReplicaSlot

  /// Before every write.
  static let none = WritePosition(stamp: 0, sequence: 0, replica: .none)
}
