import HeartlogEvents

/// The registers of one library: a membership an item, and any number of fields, each last-writer-wins.
struct ItemTable: Sendable {
  /// An item's membership register, and where its fields are.
  struct Item: Sendable {
    var membership = WritePosition.none
    var isFavorite = false
    /// Means nothing while it is no favorite.
    var favoritedDate: Milliseconds = 0
    /// The item's newest field in `fields`; -1 for none. The others follow by `next`.
    var firstField: Int32 = -1
    var fieldCount: Int32 = 0
    /// How many of its fields hold a value other than null.
    var heldCount: Int32 = 0
    /// Writes of its membership that lost to a concurrent one.
    var rivals = RivalWrites.none
    /// The last count of changed items that it was part of.
    var counted: UInt32 = 0

    var isVisible: Bool { isFavorite || heldCount > 0 }
    /// Visible, or a tombstone: what was a favorite once stays in the list of everything.
    var isListed: Bool { isVisible || membership.replica != .none }
    var wasWritten: Bool { membership.replica != .none || firstField >= 0 }
  }

  /// A field register. It stays where it is, since a register is never taken away: null is a value.
  struct FieldRegister: Sendable {
    let name: FieldNameSlot
    let next: Int32
    var position: WritePosition
    var value: FieldValue
    var isQuiet: Bool
    /// Writes of the field that lost to a concurrent one.
    var rivals = RivalWrites.none
  }

  private struct FieldKey: Hashable, Sendable {
    let item: ItemSlot
    let name: FieldNameSlot
  }

  /// An item with more fields than this has them looked up in `wideFields`, so that one item with a
  /// hundred thousand fields does not cost a walk over them at each write.
  private static let chainedFieldsMax = 32

  private(set) var ids = KeyTable()
  /// By item slot.
  private(set) var items: [Item] = []
  private(set) var fields: [FieldRegister] = []
  private var wideFields: [FieldKey: Int32] = [:]
  private(set) var rivals = RivalWrites()
  /// The count of changed items that is under way; 0 where none is.
  private var counting: UInt32 = 0
  private var changedCount = 0
  private(set) var favoriteCount = 0
  private(set) var listedCount = 0
  var eventCount: UInt64 = 0

  func find(_ id: UnsafeRawBufferPointer) -> ItemSlot? { ids.find(id).map(ItemSlot.init) }

  mutating func intern(_ id: UnsafeRawBufferPointer) -> ItemSlot {
    let number = ids.intern(id)
    if Int(number) == items.count { items.append(Item()) }
    return ItemSlot(index: number)
  }

  /// Counts from here on the items of which a register changes.
  ///
  /// - Parameter number: of this count; each is one more than the last.
  mutating func beginCountingChanges(_ number: UInt32) {
    counting = number
    changedCount = 0
  }

  /// Ends the count and returns it.
  mutating func endCountingChanges() -> Int {
    counting = 0
    return changedCount
  }

  @inline(__always)
  private mutating func noteChange(of item: ItemSlot) {
    guard counting != 0, items[Int(item.index)].counted != counting else { return }
    items[Int(item.index)].counted = counting
    changedCount += 1
  }

  mutating func writeMembership(
    _ item: ItemSlot, isFavorite: Bool, favoritedDate: Milliseconds, at position: WritePosition,
    order: inout ReplicaTable
  ) {
    let index = Int(item.index)
    let old = items[index]
    let isWinner = order.isLater(position, than: old.membership)
    if old.membership.replica != .none, position.replica != old.membership.replica || old.rivals >= 0 {
      let write = RivalWrites.Write(
        register: .init(item: item, field: -1), position: position,
        value: .membership(isFavorite: isFavorite, favoritedDate: favoritedDate))
      let winner = RivalWrites.Write(
        register: write.register, position: old.membership,
        value: .membership(isFavorite: old.isFavorite, favoritedDate: old.favoritedDate))
      rivals.take(write, beside: winner, in: &items[index].rivals, order: &order)
    }
    guard isWinner else { return }
    noteChange(of: item)
    if !old.isListed { listedCount += 1 }
    items[index].membership = position
    items[index].isFavorite = isFavorite
    items[index].favoritedDate = favoritedDate
    if old.isFavorite != isFavorite { favoriteCount += isFavorite ? 1 : -1 }
  }

  mutating func writeField(
    _ item: ItemSlot, name: FieldNameSlot, value: FieldValue, isQuiet: Bool, at position: WritePosition,
    order: inout ReplicaTable
  ) {
    let found = fieldIndex(of: item, name: name)
    var held: Int32 = value.isNull ? 0 : 1
    if found >= 0 {
      let old = fields[found]
      let isWinner = order.isLater(position, than: old.position)
      if position.replica != old.position.replica || old.rivals >= 0 {
        let register = RivalWrites.Register(item: item, field: Int32(found))
        rivals.take(
          .init(register: register, position: position, value: .field(value, isQuiet: isQuiet)),
          beside: .init(
            register: register, position: old.position, value: .field(old.value, isQuiet: old.isQuiet)),
          in: &fields[found].rivals, order: &order)
      }
      guard isWinner else { return }
      noteChange(of: item)
      held -= old.value.isNull ? 0 : 1
      fields[found].position = position
      fields[found].value = value
      fields[found].isQuiet = isQuiet
    } else {
      noteChange(of: item)
      appendField(item, name: name, value: value, isQuiet: isQuiet, at: position)
    }
    guard held != 0 else { return }
    let index = Int(item.index)
    let wasListed = items[index].isListed
    items[index].heldCount += held
    if items[index].isListed != wasListed { listedCount += wasListed ? -1 : 1 }
  }

  /// Where in `fields` a field of an item is; -1 where it was never written.
  func fieldIndex(of item: ItemSlot, name: FieldNameSlot) -> Int {
    if items[Int(item.index)].fieldCount > Self.chainedFieldsMax {
      return wideFields[FieldKey(item: item, name: name)].map(Int.init) ?? -1
    }
    var index = Int(items[Int(item.index)].firstField)
    while index >= 0, fields[index].name != name { index = Int(fields[index].next) }
    return index
  }

  private mutating func appendField(
    _ item: ItemSlot, name: FieldNameSlot, value: FieldValue, isQuiet: Bool, at position: WritePosition
  ) {
    let index = Int(item.index)
    let new = Int32(fields.count)
    fields.append(
      FieldRegister(
        name: name, next: items[index].firstField, position: position, value: value, isQuiet: isQuiet))
    items[index].firstField = new
    items[index].fieldCount += 1
    let count = Int(items[index].fieldCount)
    if count > Self.chainedFieldsMax + 1 {
      wideFields[FieldKey(item: item, name: name)] = new
    } else if count == Self.chainedFieldsMax + 1 {
      var field = new
      while field >= 0 {
        wideFields[FieldKey(item: item, name: fields[Int(field)].name)] = field
        field = fields[Int(field)].next
      }
    }
  }

  /// Where in `fields` those of an item's are that hold a value, by the bytes of their names.
  func heldFieldIndices(of item: ItemSlot, names: KeyTable) -> [Int] {
    let count = Int(items[Int(item.index)].heldCount)
    guard count > 0 else { return [] }
    var held: [Int] = []
    held.reserveCapacity(count)
    var index = Int(items[Int(item.index)].firstField)
    while index >= 0 {
      if !fields[index].value.isNull { held.append(index) }
      index = Int(fields[index].next)
    }
    if count > 1 { held.sort { names.precedes(fields[$0].name.index, fields[$1].name.index) } }
    return held
  }

  func state(of item: ItemSlot, names: KeyTable) -> ItemState {
    let record = items[Int(item.index)]
    return ItemState(
      id: ids.string(of: item.index), isFavorite: record.isFavorite, favoritedDate: record.favoritedDate,
      fields: heldFieldIndices(of: item, names: names).map {
        Field(name: names.string(of: fields[$0].name.index), value: fields[$0].value)
      })
  }
}
