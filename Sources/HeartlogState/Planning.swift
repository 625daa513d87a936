import HeartlogFormat

/// An operation on one item. What it writes depends on the state of the item: see `WritePlan`.
///
/// Fields may come in any order; if a name occurs more than once, the last value counts.
package enum Operation: Hashable, Sendable {
  /// Makes the item a favorite. If `favoritedDate` is nil, the commit's wall time is used.
  case add(fields: [Field] = [], favoritedDate: Milliseconds? = nil)
  /// Removes the item from the favorites. Its fields stay.
  case remove
  /// Switches the stored membership. The fields and the date are used only when the item becomes a favorite.
  case toggle(fields: [Field] = [], favoritedDate: Milliseconds? = nil)
  /// Writes fields of an item, favorite or not. Null clears a field.
  case set(fields: [Field])
  /// Writes registers even if they are unchanged: the membership if it is given, and the fields. The event has seen all other writes of
  /// them, and so closes their conflicts.
  case overwrite(membership: Membership? = nil, fields: [Field] = [])
  /// An add, a toggle or a set whose fields are written even if they are unchanged, wherever it takes fields.
  indirect case exactly(Operation)

  /// A value of the membership.
  package struct Membership: Hashable, Sendable {
    package let isFavorite: Bool
    /// Ignored unless it is a favorite.
    package let favoritedDate: Milliseconds

    package init(isFavorite: Bool, favoritedDate: Milliseconds) {
      self.isFavorite = isFavorite
      self.favoritedDate = favoritedDate
    }
  }
}

extension Operation {
  /// The fields of the operation, whether they are written or not.
  package var fields: [Field] {
    switch self {
    case .add(let fields, _): fields
    case .toggle(let fields, _): fields
    case .set(let fields): fields
    case .remove: []
    case .overwrite(_, let fields): fields
    case .exactly(let operation): operation.fields
    }
  }

  /// The operation with other fields; a removal takes none.
  package func with(_ fields: [Field]) -> Operation {
    switch self {
    case .add(_, let date): .add(fields: fields, favoritedDate: date)
    case .remove: .remove
    case .toggle(_, let date): .toggle(fields: fields, favoritedDate: date)
    case .set: .set(fields: fields)
    case .overwrite(let membership, _): .overwrite(membership: membership, fields: fields)
    case .exactly(let operation): .exactly(operation.with(fields))
    }
  }

  package var isOverwrite: Bool { if case .overwrite = self { true } else { false } }

  var isExact: Bool { if case .exactly = self { true } else { false } }
}

/// What an operation writes, decided from the current item.
package struct WritePlan: Sendable {
  /// The one event to write, only with fields whose value differs from the current one; nil if there is nothing to write. An object,
  /// because a copy of an event counts four references.
  package let record: SingleRecord?
  /// What the caller learns of it.
  package let result: WriteResult

  init(
    _ record: SingleRecord?, isFavorite: Bool, ignoredFields: Bool = false, ignoredFavoritedDate: Bool = false
  ) {
    self.record = record
    result = WriteResult(
      isChange: record != nil, isFavorite: isFavorite, ignoredFields: ignoredFields,
      ignoredFavoritedDate: ignoredFavoritedDate)
  }

  /// The event of `record`.
  package var event: Event? { record?.record.event }
}

/// The result of an operation.
package struct WriteResult: Hashable, Sendable {
  /// Whether an event or a device-local value was written.
  package let isChange: Bool
  /// Whether the item is a favorite now.
  package let isFavorite: Bool
  /// True if fields or a favorited date were given to an operation that does not take them: adding an existing favorite, or a toggle that
  /// switched off.
  package let ignoredFields: Bool
  /// The same for a favorited date alone.
  package let ignoredFavoritedDate: Bool

  /// The result with these parts.
  package init(isChange: Bool, isFavorite: Bool, ignoredFields: Bool, ignoredFavoritedDate: Bool) {
    self.isChange = isChange
    self.isFavorite = isFavorite
    self.ignoredFields = ignoredFields
    self.ignoredFavoritedDate = ignoredFavoritedDate
  }
}

extension Operation {
  /// The fields written to an item: where they differ from its current ones, or all if the operation is exact.
  func takenFields(isFavorite: Bool) -> [Field] {
    switch self {
    case .add(let fields, _): isFavorite ? [] : fields
    case .toggle(let fields, _): isFavorite ? [] : fields
    case .set(let fields): fields
    case .remove, .overwrite: []
    case .exactly(let operation): operation.takenFields(isFavorite: isFavorite)
    }
  }

  /// Decides what this operation writes to `item`.
  ///
  /// - Parameters:
  ///   - isFavorite: whether the item is a favorite.
  ///   - differing: those of `takenFields` that are written, sorted by the bytes of their names.
  ///   - wallTime: the commit's wall time; a favorited date equal to it is omitted from the event.
  func plan(
    item: String, in library: String, isFavorite: Bool, differing: [Field], wallTime: Milliseconds
  ) -> WritePlan {
    assert(
      zip(differing, differing.dropFirst()).allSatisfy { $0.name.bytesPrecede($1.name) },
      "fields are sorted by the bytes of their names")
    func event(_ action: Action, _ fields: [Field] = [], _ date: Milliseconds? = nil) -> SingleRecord {
      SingleRecord(
        .event(
          Event(
            library: library, item: item, action: action, favoritedDate: date == wallTime ? nil : date,
            fields: fields)))
    }

    switch self {
    case .add(let fields, let date):
      guard isFavorite else { return WritePlan(event(.added, differing, date), isFavorite: true) }
      return WritePlan(
        nil, isFavorite: true, ignoredFields: !fields.isEmpty, ignoredFavoritedDate: date != nil)

    case .remove:
      return WritePlan(isFavorite ? event(.removed) : nil, isFavorite: false)

    case .toggle(let fields, let date):
      guard isFavorite else {
        return WritePlan(event(.toggled(on: true), differing, date), isFavorite: true)
      }
      return WritePlan(
        event(.toggled(on: false)), isFavorite: false, ignoredFields: !fields.isEmpty,
        ignoredFavoritedDate: date != nil)

    case .set:
      return WritePlan(differing.isEmpty ? nil : event(.changed, differing), isFavorite: isFavorite)

    case .overwrite(let membership, let fields):
      let action = membership.map { $0.isFavorite ? Action.added : .removed } ?? .changed
      let date = membership.flatMap { $0.isFavorite ? $0.favoritedDate : nil }
      return WritePlan(
        event(action, Self.sortedByName(fields), date), isFavorite: membership?.isFavorite ?? isFavorite)

    case .exactly(let operation):
      return operation.plan(
        item: item, in: library, isFavorite: isFavorite, differing: differing, wallTime: wallTime)
    }
  }

  /// Fields sorted by the bytes of their names; of several with one name the last. Those of an encoded item are already sorted.
  static func sortedByName(_ fields: [Field]) -> [Field] {
    if zip(fields, fields.dropFirst()).allSatisfy({ $0.name.bytesPrecede($1.name) }) { return fields }
    // Sorting is stable, so the last of several with one name is the last one given.
    let sorted = fields.sorted { $0.name.bytesPrecede($1.name) }
    return sorted.indices.filter { index in
      index + 1 == sorted.count || !sorted[index + 1].name.hasSameBytes(as: sorted[index].name)
    }.map { sorted[$0] }
  }
}

extension FavoritesState {
  /// Decides what an operation writes, given this state, the pending writes over it, and a draft over both.
  ///
  /// No item is created: the given fields are compared with pending writes and with those in the tables.
  ///
  /// The item's position is stored: a planned item is usually the next one applied.
  ///
  /// - Parameter wallTime: the commit's wall time; a favorited date equal to it is omitted from the event.
  /// - Returns: the plan, and whether the item is a favorite before it.
  package mutating func plan(
    _ operation: Operation, on item: String, in library: LibraryKey, under pending: WriteOverlay,
    and draft: WriteOverlay, wallTime: Milliseconds
  ) -> WritePlan {
    let found = Self.find(item, in: library, of: &self)
    let written = pending.written(item, in: library.name, under: draft)
    if let found { planned = (found.table, ItemSlot(index: found.item), found.record.pointee.key) }
    var wasFavorite = found?.record.pointee.isFavorite ?? false
    if let write = written?.membership,
      write.isLater(than: found.flatMap { replicas.eventPosition(of: $0.record.pointee.membership) })
    {
      wasFavorite = write.isFavorite
    }
    var differing = operation.takenFields(isFavorite: wasFavorite)
    if !differing.isEmpty {
      differing = Operation.sortedByName(differing)
    }
    if !differing.isEmpty, !operation.isExact {
      differing.removeAll { field in
        if let write = written?[field.name],
          write.isLater(than: position(ofField: field.name, of: item, in: library.name))
        {
          return write.field.value == field.value
        }
        guard let found else { return field.value.isNull }
        return Self.holds(field, of: ItemSlot(index: found.item), in: found.table, of: &self)
      }
    }
    return operation.plan(
      item: item, in: library.name, isFavorite: wasFavorite, differing: differing, wallTime: wallTime)
  }

  /// Whether an item has that value in that field, or no value if it is null.
  private static func holds(
    _ field: Field, of item: ItemSlot, in table: Int, of state: inout FavoritesState
  ) -> Bool {
    guard let name = state.fieldNames.find(field.name) else { return field.value.isNull }
    let index = state.tables[table].fieldIndex(of: item, name: name)
    guard index >= 0 else { return field.value.isNull }
    let stored = state.tables[table].fields.read(index).pointee.value
    let texts = state.tables[table].texts
    return field.value.withBorrowed { stored.equals($0, in: texts) }
  }
}

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

extension FavoritesState {
  /// What another state shows of writes that this one does not have, as operations that write it anew: register by register, unless a later
  /// write is here.
  package func restoring(
    _ other: FavoritesState
  ) -> [(library: String, item: String, operation: Operation)] {
    other.libraries.flatMap { library in
      other.items(in: library).compactMap { item in
        func isLost(_ register: Conflict.Register) -> Bool {
          guard let write = other.writtenRegister(register, of: item.id, in: library) else { return false }
          return writtenRegister(register, of: item.id, in: library).map { $0.position < write.position }
            ?? true
        }
        let membership =
          isLost(.membership)
          ? Operation.Membership(isFavorite: item.isFavorite, favoritedDate: item.favoritedDate ?? 0) : nil
        let fields = item.fields.filter { isLost(.field($0.name)) }
        guard membership != nil || !fields.isEmpty else { return nil }
        return (library, item.id, .overwrite(membership: membership, fields: fields))
      }
    }
  }
}
