import HeartlogFormat

/// A write, and the register that it wrote.
package struct RegisterWrite: Hashable, Sendable {
  package let library: String
  package let item: String
  package let register: Conflict.Register
  package let write: Conflict.Write
  package let isQuiet: Bool

  /// Whether both are of one item.
  package func isOfSameItem(as other: RegisterWrite) -> Bool {
    library.hasSameBytes(as: other.library) && item.hasSameBytes(as: other.item)
  }

  /// The order by library, item and register, all by bytes; the membership comes before the fields.
  package func precedes(_ other: RegisterWrite) -> Bool {
    if !library.hasSameBytes(as: other.library) { return library.bytesPrecede(other.library) }
    if !item.hasSameBytes(as: other.item) { return item.bytesPrecede(other.item) }
    switch (register, other.register) {
    case (_, .membership): return false
    case (.membership, .field): return true
    case (.field(let a), .field(let b)): return a.bytesPrecede(b)
    }
  }
}

extension Conflict.Value {
  /// A membership that equals any other with the same meaning: without a date unless it is a favorite.
  static func comparable(isFavorite: Bool, favoritedDate: Milliseconds) -> Conflict.Value {
    .membership(isFavorite: isFavorite, favoritedDate: isFavorite ? favoritedDate : 0)
  }
}

extension Conflict.Register {
  /// The value of a register that was never written.
  package var unwritten: Conflict.Value {
    switch self {
    case .membership: .comparable(isFavorite: false, favoritedDate: 0)
    case .field: .field(.null)
    }
  }
}

extension FavoritesState {
  /// Returns the write that a register shows once `pending` and `draft` are published; nil if it was never written. A membership without a
  /// favorite has the date 0, so that values that mean the same are equal.
  package func shownWrite(
    of register: Conflict.Register, of id: String, in library: String, under pending: WriteOverlay,
    and draft: WriteOverlay = WriteOverlay()
  ) -> Conflict.Write? {
    let above = pending.written(id, in: library, under: draft)
    let below = writtenRegister(register, of: id, in: library)
    switch register {
    case .membership:
      guard let write = above?.membership, write.isLater(than: below?.position) else { return below }
      return Conflict.Write(position: write.position, value: write.value)
    case .field(let name):
      guard let write = above?[name], write.isLater(than: below?.position) else { return below }
      return Conflict.Write(position: write.position, value: .field(write.field.value))
    }
  }

  private func writtenRegister(
    _ register: Conflict.Register, of id: String, in library: String
  ) -> Conflict.Write? {
    guard let (table, slot) = find(id, in: library) else { return nil }
    let position: EventPosition?
    let value: Conflict.Value
    switch register {
    case .membership:
      let record = tables[table].items[slot]
      position = replicas.eventPosition(of: record.membership)
      value = .comparable(isFavorite: record.isFavorite, favoritedDate: record.favoritedDate)
    case .field(let name):
      guard let name = fieldNames.find(name) else { return nil }
      let index = tables[table].fieldIndex(of: ItemSlot(index: Int32(slot)), name: name)
      guard index >= 0 else { return nil }
      position = replicas.eventPosition(of: tables[table].fields[index].position)
      value = .field(tables[table].value(ofField: index))
    }
    return position.map { Conflict.Write(position: $0, value: value) }
  }
}
