import HeartlogEvents

/// The replicas that a state has seen, and how far it has applied each one's stream.
struct ReplicaTable: Sendable {
  /// One replica's stream, as far as it was applied.
  struct Progress: Sendable {
    let id: ReplicaID
    /// Every commit up to this number is applied.
    var head: UInt64 = 0
    /// Commits applied beyond a gap.
    var beyond: Set<UInt64> = []
    var eventCount: UInt64 = 0
    var lastStamp = HybridTimestamp(rawValue: 0)
  }

  private(set) var replicas: [Progress] = []
  private var slots: [ReplicaID: ReplicaSlot] = [:]

  func slot(of id: ReplicaID) -> ReplicaSlot? { slots[id] }

  func progress(of id: ReplicaID) -> Progress? { slots[id].map { replicas[Int($0.index)] } }

  mutating func intern(_ id: ReplicaID) -> ReplicaSlot {
    // Commits mostly come in runs of one replica.
    if let last = replicas.last, last.id == id { return ReplicaSlot(index: Int32(replicas.count - 1)) }
    if let slot = slots[id] { return slot }
    let slot = ReplicaSlot(index: Int32(replicas.count))
    replicas.append(Progress(id: id))
    slots[id] = slot
    return slot
  }

  func isApplied(_ number: CommitNumber, of slot: ReplicaSlot) -> Bool {
    let progress = replicas[Int(slot.index)]
    return number.rawValue <= progress.head || progress.beyond.contains(number.rawValue)
  }

  /// Takes note of a commit; false where it was noted before.
  mutating func note(
    _ number: CommitNumber, of slot: ReplicaSlot, stamp: HybridTimestamp, eventCount: Int
  ) -> Bool {
    let index = Int(slot.index)
    let number = number.rawValue
    guard number > replicas[index].head else { return false }
    if number == replicas[index].head + 1 {
      replicas[index].head = number
      if !replicas[index].beyond.isEmpty {
        while replicas[index].beyond.remove(replicas[index].head + 1) != nil { replicas[index].head += 1 }
      }
    } else {
      guard replicas[index].beyond.insert(number).inserted else { return false }
    }
    replicas[index].eventCount += UInt64(eventCount)
    replicas[index].lastStamp = max(replicas[index].lastStamp, stamp)
    return true
  }

  /// Whether the write at `a` comes after the one at `b` in the total order. Any write comes after none.
  @inline(__always)
  func isLater(_ a: WritePosition, than b: WritePosition) -> Bool {
    if b.replica == .none { return true }
    if a.stamp != b.stamp { return a.stamp > b.stamp }
    if a.replica == b.replica { return a.sequence > b.sequence }
    return replicas[Int(a.replica.index)].id > replicas[Int(b.replica.index)].id
  }

  /// The place of a write for readers outside this state; nil where there was none.
  func eventPosition(of write: WritePosition) -> EventPosition? {
    guard write.replica != .none else { return nil }
    return EventPosition(
      stamp: HybridTimestamp(rawValue: write.stamp), replica: replicas[Int(write.replica.index)].id,
      sequence: SequenceNumber(rawValue: write.sequence))
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
