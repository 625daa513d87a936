import HeartlogEvents

/// An open conflict: a register to which concurrent writes gave different values. One of them is shown, as always the last in the total
/// order; a write that has seen them all closes the conflict.
public struct Conflict: Hashable, Sendable {
  /// What devices disagree on.
  public enum Register: Hashable, Sendable {
    /// Whether the item is a favorite.
    case membership
    /// The value of the field of that name.
    case field(String)
  }

  /// What a side wrote.
  public enum Value: Hashable, Sendable {
    /// - Parameter favoritedDate: means nothing where it is no favorite.
    case membership(isFavorite: Bool, favoritedDate: Milliseconds)
    /// The value of a field; null where it was cleared.
    case field(FieldValue)
  }

  /// One side.
  public struct Write: Hashable, Sendable {
    /// The event that wrote it, and when.
    package let position: EventPosition
    /// What it wrote.
    public let value: Value

    /// A side, as a test or an app's own list has it.
    package init(position: EventPosition, value: Value) {
      self.position = position
      self.value = value
    }

    /// When it was written.
    public var stamp: HybridTimestamp { position.stamp }
    /// The event that wrote it.
    public var event: EventID { EventID(replica: position.replica, sequence: position.sequence) }
  }

  /// The library of the item.
  public let library: String
  /// The item's id.
  public let item: String
  /// What of the item it is about.
  public let register: Register
  /// At least two, the last in the total order first: that is the one that is shown.
  public let writes: [Write]

  /// A conflict, as a test or an app's own list has it.
  ///
  /// - Parameters:
  ///   - library: the library of the item.
  ///   - item: its id.
  ///   - register: what of the item it is about.
  ///   - writes: at least two, the last in the total order first.
  public init(library: String, item: String, register: Register, writes: [Write]) {
    self.library = library
    self.item = item
    self.register = register
    self.writes = writes
  }

  // Names are equal where their bytes are; equal bytes hash alike.
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
  /// The open conflicts: by library, item, and register, the membership first and fields by name, all by bytes.
  ///
  /// They follow from the commits that were applied alone, in whatever order these came. Costs a look at each register to which
  /// concurrent writes came.
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
    // What has come since may tell of a rival that it was seen.
    let all = [winner] + rivals
    var order = replicas
    let open = all.filter { write in !all.contains { order.supersedes($0.position, write.position) } }
      .filter { !$0.isQuiet }
      .sorted { replicas.isLater($0.position, than: $1.position) }
    guard let first = open.first, open.contains(where: { !Self.agree($0, first, in: table.texts) }) else {
      return nil
    }
    return Conflict(
      library: library, item: table.ids.string(of: register.item.index),
      register: register.field < 0
        ? .membership : .field(fieldNames.string(of: table.fields[Int(register.field)].name)),
      writes: open.compactMap { write in
        guard let position = replicas.eventPosition(of: write.position) else { return nil }
        return Conflict.Write(position: position, value: .init(write, in: table.texts))
      })
  }

  /// Two devices that both made it a favorite agree, at whatever times they did.
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
