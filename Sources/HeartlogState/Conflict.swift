import HeartlogFormat

/// An open conflict: a register with concurrent writes of different values. The last write in the total order is shown. A write that has
/// seen all of them closes the conflict.
public struct Conflict: Hashable, Sendable {
  /// What the devices disagree on.
  public enum Register: Hashable, Sendable {
    /// Whether the item is a favorite.
    case membership
    /// The value of the field with that name.
    case field(String)
  }

  /// The value of a write.
  public enum Value: Hashable, Sendable {
    /// - Parameter favoritedDate: meaningless unless it is a favorite.
    case membership(isFavorite: Bool, favoritedDate: Milliseconds)
    /// The value of a field; null if the write cleared it.
    case field(FieldValue)
  }

  /// One of the conflicting writes.
  public struct Write: Hashable, Sendable {
    /// The event that wrote it, with its stamp.
    package let position: EventPosition
    /// The value that it wrote.
    public let value: Value

    /// Creates a write, for tests and an app's own lists.
    package init(position: EventPosition, value: Value) {
      self.position = position
      self.value = value
    }

    /// The timestamp of the write.
    package var stamp: HybridTimestamp { position.stamp }
    /// The event that wrote it.
    public var event: EventID { EventID(replica: position.replica, sequence: position.sequence) }
  }

  /// The library of the item.
  public let library: String
  /// The item's id.
  public let item: String
  /// Whether the conflict is about the membership or a field.
  public let register: Register
  /// At least two writes. The last in the total order, which is the one shown, comes first.
  public let writes: [Write]

  /// Creates a conflict, for tests and an app's own lists.
  ///
  /// - Parameters:
  ///   - library: the library of the item.
  ///   - item: the item's id.
  ///   - register: whether the conflict is about the membership or a field.
  ///   - writes: at least two; the last in the total order comes first.
  package init(library: String, item: String, register: Register, writes: [Write]) {
    self.library = library
    self.item = item
    self.register = register
    self.writes = writes
  }

  // Names compare by bytes. Equal bytes have equal hashes.
  public static func == (a: Conflict, b: Conflict) -> Bool {
    a.library.utf8.elementsEqual(b.library.utf8) && a.item.utf8.elementsEqual(b.item.utf8)
      && a.register == b.register
      && a.writes == b.writes
  }
}

extension Conflict.Register {
  public static func == (a: Conflict.Register, b: Conflict.Register) -> Bool {
    switch (a, b) {
    case (.membership, .membership): true
    case (.field(let a), .field(let b)): a.utf8.elementsEqual(b.utf8)
    default: false
    }
  }
}

extension FavoritesState {
  /// The open conflicts, sorted by library, item and register, all by bytes; the membership comes before the fields.
  ///
  /// They depend only on the commits that were applied, in any order. O(registers with concurrent writes).
  public var conflicts: [Conflict] {
    var found: [Conflict] = []
    for slot in (0..<Int32(tables.count)).sorted(by: { libraryNames.precedes($0, $1) }) {
      let table = tables[Int(slot)]
      guard !table.rivals.isEmpty else { continue }
      let library = libraryNames.string(of: slot)
      let registers = table.rivals.registers.sorted { a, b in
        if a.item != b.item { return table.ids.precedes(a.item.index, b.item.index) }
        if a.field < 0 || b.field < 0 { return a.field < b.field }
        return fieldNames.precedes(
          table.fields[Int(a.field)].name, table.fields[Int(b.field)].name)
      }
      found += registers.compactMap { conflict(of: $0, in: table, of: library) }
    }
    return found
  }

  private func conflict(
    of register: ConcurrentWrites.Register, in table: ItemTable, of library: String
  ) -> Conflict? {
    let item = table.item(register.item)
    let winner: RivalRecord
    let rivals: [RivalRecord]
    if register.field < 0 {
      winner = RivalRecord(
        item: register.item, position: item.membership, isFavorite: item.isFavorite,
        favoritedDate: item.favoritedDate)
      rivals = table.rivals.writes(in: item.rivals)
    } else {
      let field = table.fields[Int(register.field)]
      winner = RivalRecord(
        item: register.item, field: register.field, position: field.position, value: field.value,
        isQuiet: field.isQuiet)
      rivals = table.rivals.writes(in: field.rivals)
    }
    // Commits received since may show that a rival was seen.
    let all = [winner] + rivals
    var order = replicas
    let open = all.filter { write in !all.contains { order.supersedes($0.position, write.position) } }
      .filter { !$0.isQuiet }
      .sorted { replicas.isLater($0.position, than: $1.position) }
    guard let first = open.first, open.contains(where: { !Self.agree($0, first, in: table.texts) }) else {
      return nil
    }
    let writes = open.compactMap { write in
      replicas.eventPosition(of: write.position).map {
        Conflict.Write(position: $0, value: .init(write, in: table.texts))
      }
    }
    // A snapshot that lies may have writes of no replica.
    guard writes.count > 1 else { return nil }
    return Conflict(
      library: library, item: table.ids.string(of: register.item.index),
      register: register.field < 0
        ? .membership : .field(fieldNames.string(of: table.fields[Int(register.field)].name)),
      writes: writes)
  }

  /// Two devices that both made the item a favorite agree, even with different dates.
  private static func agree(_ a: RivalRecord, _ b: RivalRecord, in texts: TextTable) -> Bool {
    a.field < 0
      ? a.isFavorite == b.isFavorite : b.value.withBorrowed(in: texts) { a.value.equals($0, in: texts) }
  }
}

extension Conflict.Value {
  fileprivate init(_ write: RivalRecord, in texts: TextTable) {
    self =
      write.field < 0
      ? .membership(isFavorite: write.isFavorite, favoritedDate: write.favoritedDate)
      : .field(write.value.value(in: texts))
  }
}

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
