import HeartlogFormat

/// The writes of a library's registers that lost to concurrent writes and were not superseded since.
///
/// Together with the register's winner they are its causally maximal writes, as far as the received commits tell which writes had seen
/// which. They are linked by register, in no particular order.
struct ConcurrentWrites: Sendable {
  /// The end of a chain; also the empty chain of a register without rivals.
  static let none: Int32 = -1

  /// A register of the table: an item's membership, or one of its fields.
  struct Register: Hashable, Sendable {
    let item: ItemSlot
    /// The index of the field; -1 for the membership.
    let field: Int32
  }

  private(set) var records = PagedTable<RivalRecord>()
  private var free = ConcurrentWrites.none
  private(set) var count = 0

  init() {}

  /// Creates the rivals from a snapshot, which has no free slots.
  init(_ records: PagedTable<RivalRecord>) {
    self.records = records
    count = records.count
  }

  var isEmpty: Bool { count == 0 }

  /// Adds a write to a register that was written before. Removes the writes that it supersedes, and keeps the loser if it is concurrent.
  ///
  /// Not needed if both writes come from one replica and there are no rivals: the later write has then seen the earlier one.
  ///
  /// - Parameters:
  ///   - winner: the write that the register shows so far.
  ///   - chain: the register's rivals.
  ///   - removed: receives each write that is removed.
  mutating func take(
    _ write: RivalRecord, beside winner: RivalRecord, in chain: inout Int32, order: inout ReplicaTable,
    removed: (RivalRecord) -> Void
  ) {
    if order.isLater(write.position, than: winner.position) {
      removeSuperseded(by: write.position, from: &chain, order: &order, removed: removed)
      if !order.supersedes(write.position, winner.position) {
        append(winner, to: &chain)
      } else {
        removed(winner)
      }
    } else {
      if order.supersedes(winner.position, write.position)
        || writes(in: chain).contains(where: { order.supersedes($0.position, write.position) })
      {
        return removed(write)
      }
      removeSuperseded(by: write.position, from: &chain, order: &order, removed: removed)
      append(write, to: &chain)
    }
  }

  private mutating func append(_ write: RivalRecord, to chain: inout Int32) {
    var record = write
    record.next = chain
    count += 1
    if free != Self.none {
      chain = free
      free = records[Int(chain)].next
      records.write(Int(chain)).pointee = record
    } else {
      chain = Int32(records.count)
      records.append(record)
    }
  }

  private mutating func removeSuperseded(
    by position: WritePosition, from chain: inout Int32, order: inout ReplicaTable,
    removed: (RivalRecord) -> Void
  ) {
    var kept = Self.none
    for index in indices(in: chain) {
      let record = records[Int(index)]
      if order.supersedes(position, record.position) {
        removed(record)
        let freed = records.write(Int(index))
        freed.pointee.position = .none
        freed.pointee.next = free
        free = index
        count -= 1
      } else {
        records.write(Int(index)).pointee.next = kept
        kept = index
      }
    }
    chain = kept
  }

  private func indices(in chain: Int32) -> [Int32] {
    var indices: [Int32] = []
    var index = chain
    // Bounded, because a chain in a malformed snapshot may be cyclic or leave the table.
    while index >= 0, Int(index) < records.count, indices.count < records.count {
      indices.append(index)
      index = records[Int(index)].next
    }
    return indices
  }

  /// The registers that have rivals, each once, in no particular order.
  var registers: Set<Register> {
    var registers: Set<Register> = []
    for index in 0..<records.count {
      let record = records[index]
      if !record.isFree { registers.insert(Register(item: record.item, field: record.field)) }
    }
    return registers
  }

  /// Returns the writes of a chain.
  func writes(in chain: Int32) -> [RivalRecord] {
    chain == Self.none ? [] : indices(in: chain).map { records[Int($0)] }
  }

  /// Replaces each value whose text has moved.
  mutating func replaceValues(_ body: (StoredValue) -> StoredValue) {
    for index in 0..<records.count {
      let record = records[index]
      guard !record.isFree, record.field >= 0, record.value.isNamed else { continue }
      records.write(index).pointee.value = body(record.value)
    }
  }

  func loadAll() { records.loadAll() }
}
