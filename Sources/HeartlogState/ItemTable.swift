import HeartlogFormat

/// The last-writer-wins registers of one library: a membership per item, and any number of fields.
///
/// Its first items may come from a snapshot: favorites by date, then the others. Later writes to them are kept on top of the snapshot, and
/// new items follow after it.
struct ItemTable: Sendable {
  /// The part of a table that describes the items of its snapshot.
  struct Base: Sendable {
    let itemCount: Int
    /// The number of favorites, which come first: newest first, as `ListOrder.newestFirst` says.
    let favoriteCount: Int
    /// The slots of all items, sorted by the bytes of their ids.
    let byID: PagedTable<Int32>
  }

  private struct FieldKey: Hashable, Sendable {
    let item: ItemSlot
    let name: FieldNameSlot
  }

  /// If more fields than this were added to an item, they are looked up in `wideFields`. Otherwise each write to an item with a hundred
  /// thousand fields would walk all of them.
  private static let chainedFieldsMax: Int32 = 32

  private(set) var ids = InternTable<ItemRecord>()
  private(set) var fields = PagedTable<FieldRecord>()
  private(set) var texts = TextTable()
  private(set) var rivals = ConcurrentWrites()
  let base: Base?
  /// 0 without a snapshot. Read at each write; reading it from `base` would retain the tables in it.
  private let baseItemCount: Int32
  private let baseFavoriteCount: Int32
  /// The numbers of first and of last favorites of the snapshot to skip, because their membership was written since.
  private(set) var movedFirst: Int32 = 0
  private(set) var movedLast: Int32 = 0
  /// The items that became favorites since the snapshot. The snapshot's items whose membership was written since are marked in their
  /// records.
  private(set) var favorited = FavoritedItems()
  private var wideFields: [FieldKey: Int32] = [:]
  /// The number of the current count of changed items; 0 if there is none.
  private var counting: UInt32 = 0
  private var changedCount = 0
  private(set) var favoriteCount = 0
  private(set) var listedCount = 0
  var eventCount: UInt64 = 0

  init() {
    base = nil
    baseItemCount = 0
    baseFavoriteCount = 0
  }

  /// The records, by item slot.
  var items: PagedTable<ItemRecord> {
    @inline(__always) _read { yield ids.records }
  }

  /// Creates the table of a snapshot.
  init(
    base: Base, ids: InternTable<ItemRecord>, fields: PagedTable<FieldRecord>, texts: TextTable,
    rivals: ConcurrentWrites,
    listedCount: Int, eventCount: UInt64
  ) {
    self.base = base
    baseItemCount = Int32(base.itemCount)
    baseFavoriteCount = Int32(clamping: base.favoriteCount)
    self.ids = ids
    self.fields = fields
    self.texts = texts
    self.rivals = rivals
    favoriteCount = base.favoriteCount
    self.listedCount = listedCount
    self.eventCount = eventCount
  }

  /// Checks everything that is in the snapshot.
  func loadAll() {
    ids.loadAll()
    fields.loadAll()
    texts.loadAll()
    rivals.loadAll()
    base?.byID.loadAll()
  }

  @inline(__always)
  func find(_ id: UnsafeRawBufferPointer) -> ItemSlot? { ids.find(id).map(ItemSlot.init) }

  @inline(__always)
  func item(_ slot: ItemSlot) -> ItemRecord { items[Int(slot.index)] }

  mutating func intern(_ id: UnsafeRawBufferPointer) -> ItemSlot { ItemSlot(index: ids.intern(id)) }

  /// Like `intern`, for an id that was already probed.
  mutating func intern(_ id: UnsafeRawBufferPointer, _ sought: InternTable<ItemRecord>.Probe) -> ItemSlot {
    ItemSlot(index: ids.intern(id, sought))
  }

  /// Whether the library has visible items.
  var hasVisibleItems: Bool { favoriteCount > 0 || (0..<items.count).contains { items[$0].isVisible } }

  /// Starts counting the items whose registers change.
  ///
  /// - Parameter number: the number of this count, one more than that of the last.
  mutating func beginCountingChanges(_ number: UInt32) {
    assert(number != 0 && counting == 0, "one count is in progress at a time")
    counting = number
    changedCount = 0
  }

  /// Ends the count and returns it.
  mutating func endCountingChanges() -> Int {
    assert(changedCount <= items.count, "an item is counted once")
    counting = 0
    return changedCount
  }

  @inline(__always)
  private mutating func noteChange(_ item: UnsafeMutablePointer<ItemRecord>) {
    guard counting != 0, item.pointee.counted != counting else { return }
    item.pointee.counted = counting
    changedCount += 1
  }

  // MARK: - Events

  /// Writes what an event changes of its item: the membership that its action names, and its fields, whatever the action. Every event
  /// goes through here, whether it lies in a commit, a row or a block; only how its names are looked up differs.
  ///
  /// `makeOwnIfShared` must have been called since the table was copied.
  ///
  /// - Parameters:
  ///   - favoritedDate: called for a membership; the commit's wall time where the event names no date.
  ///   - fields: calls its argument with each field. Not called where the event has none.
  @inline(__always)
  mutating func apply(
    _ event: EventHeader, to item: ItemSlot, favoritedDate: () -> Milliseconds, at position: WritePosition,
    order: inout ReplicaTable, fields: (_ write: (FieldWrite) -> Void) -> Void
  ) {
    assert(item.index >= 0 && Int(item.index) < items.count, "the item was looked up")
    if let isFavorite = event.membership {
      writeOwnMembership(
        item, isFavorite: isFavorite, favoritedDate: favoritedDate(), at: position, order: &order)
    }
    guard event.hasFields else { return }
    let hadNone = items.read(Int(item.index)).pointee.hasNoFields
    fields { write($0, to: item, hadNone: hadNone, at: position, order: &order) }
  }

  // MARK: - Memberships

  private mutating func writeMembership(
    _ item: ItemSlot, isFavorite: Bool, favoritedDate: Milliseconds, at position: WritePosition,
    order: inout ReplicaTable
  ) {
    // Most writes win. `contest` writes to the same record.
    let record = ids.records.write(Int(item.index))
    let old = record.pointee
    let isWinner = order.isLater(position, than: old.membership)
    if old.hasMembership, position.replica != old.membership.replica || old.rivals >= 0 {
      contest(item, old, isFavorite: isFavorite, favoritedDate: favoritedDate, at: position, order: &order)
    }
    guard isWinner else { return }
    set(record, of: item, isFavorite: isFavorite, favoritedDate: favoritedDate, at: position)
    if item.index < baseItemCount, !old.isMoved {
      record.pointee.isMoved = true
      noteMoved(item)
    }
  }

  @inline(__always)
  private mutating func set(
    _ record: UnsafeMutablePointer<ItemRecord>, of item: ItemSlot, isFavorite: Bool,
    favoritedDate: Milliseconds, at position: WritePosition
  ) {
    noteChange(record)
    if !record.pointee.isListed { listedCount += 1 }
    favoriteCount += (isFavorite ? 1 : 0) - (record.pointee.isFavorite ? 1 : 0)
    record.pointee.membership = position
    record.pointee.isFavorite = isFavorite
    record.pointee.favoritedDate = favoritedDate
    if isFavorite { noteFavorited(item, favoritedDate) }
  }

  /// Makes the records uniquely owned, so that `apply` may be called until the table is copied.
  mutating func makeOwnIfShared() { ids.records.makeOwnIfShared() }

  /// `writeMembership` with a fast path for a write that follows one of the same replica.
  @inline(__always)
  private mutating func writeOwnMembership(
    _ item: ItemSlot, isFavorite: Bool, favoritedDate: Milliseconds, at position: WritePosition,
    order: inout ReplicaTable
  ) {
    let record = ids.records.writeOwn(Int(item.index))
    guard record.pointee.isNext(position), record.pointee.isMoved || item.index >= baseItemCount else {
      return writeMembership(
        item, isFavorite: isFavorite, favoritedDate: favoritedDate, at: position, order: &order)
    }
    set(record, of: item, isFavorite: isFavorite, favoritedDate: favoritedDate, at: position)
  }

  private mutating func noteMoved(_ item: ItemSlot) {
    if item.index == movedFirst {
      repeat { movedFirst += 1 } while movedFirst < baseFavoriteCount && items[Int(movedFirst)].isMoved
    }
    if item.index == baseFavoriteCount - 1 - movedLast {
      repeat {
        movedLast += 1
      } while movedLast < baseFavoriteCount
        && items[Int(baseFavoriteCount - 1 - movedLast)].isMoved
    }
  }

  @inline(__always)
  private mutating func noteFavorited(_ item: ItemSlot, _ date: Milliseconds) {
    favorited.append(item.index, date)
    if favorited.hasManyRepeats(itemCount: items.count) { favorited.compact(items.reader) }
  }

  /// Records a write to a membership that another replica wrote last, or that has rivals.
  @inline(never)
  private mutating func contest(
    _ item: ItemSlot, _ old: ItemRecord, isFavorite: Bool, favoritedDate: Milliseconds,
    at position: WritePosition,
    order: inout ReplicaTable
  ) {
    var chain = old.rivals
    rivals.take(
      RivalRecord(item: item, position: position, isFavorite: isFavorite, favoritedDate: favoritedDate),
      beside: RivalRecord(
        item: item, position: old.membership, isFavorite: old.isFavorite, favoritedDate: old.favoritedDate),
      in: &chain, order: &order, removed: { _ in })
    if chain != old.rivals { ids.records.write(Int(item.index)).pointee.rivals = chain }
  }

  // MARK: - Fields

  /// Writes a field of an event, no two of which have one name.
  ///
  /// - Parameter hadNone: the item had no field before the event, so that there is nothing to look for. So it is mostly.
  private mutating func write(
    _ write: FieldWrite, to item: ItemSlot, hadNone: Bool, at position: WritePosition,
    order: inout ReplicaTable
  ) {
    let found = hadNone ? -1 : fieldIndex(of: item, name: write.name)
    let stored: StoredValue
    guard found >= 0 else {
      stored = StoredValue(write.value, in: &texts)
      appendField(item, name: write.name, value: stored, isQuiet: write.isQuiet, at: position)
      return changeHeld(of: item, by: stored.isNull ? 0 : 1)
    }
    let old = fields[found]
    let isWinner = order.isLater(position, than: old.position)
    let isContested = position.replica != old.position.replica || old.rivals >= 0
    guard isWinner || isContested else { return }
    stored = StoredValue(write.value, in: &texts)
    if isContested {
      contest(item, found, old, stored, isQuiet: write.isQuiet, at: position, order: &order)
    } else if old.value.isNamed {
      texts.remove(old.value.word, count: Int(old.value.length))
    }
    if isWinner {
      let field = fields.write(found)
      field.pointee.position = position
      field.pointee.value = stored
      field.pointee.isQuiet = write.isQuiet
      changeHeld(of: item, by: (stored.isNull ? 0 : 1) - (old.value.isNull ? 0 : 1))
    }
    if texts.hasManyGaps { compactTexts() }
  }

  @inline(never)
  private mutating func contest(
    _ item: ItemSlot, _ index: Int, _ old: FieldRecord, _ value: StoredValue, isQuiet: Bool,
    at position: WritePosition, order: inout ReplicaTable
  ) {
    var chain = old.rivals
    var gone: [StoredValue] = []
    rivals.take(
      RivalRecord(item: item, field: Int32(index), position: position, value: value, isQuiet: isQuiet),
      beside: RivalRecord(
        item: item, field: Int32(index), position: old.position, value: old.value, isQuiet: old.isQuiet),
      in: &chain, order: &order, removed: { gone.append($0.value) })
    for value in gone where value.isNamed { texts.remove(value.word, count: Int(value.length)) }
    if chain != old.rivals { fields.write(index).pointee.rivals = chain }
  }

  /// Records a change to one of the item's fields.
  private mutating func changeHeld(of item: ItemSlot, by difference: Int32) {
    // Most written fields held a value before, and usually nothing is being counted.
    guard difference != 0 || counting != 0 else { return }
    changeHeld(of: ids.records.write(Int(item.index)), by: difference)
  }

  private mutating func changeHeld(of record: UnsafeMutablePointer<ItemRecord>, by difference: Int32) {
    noteChange(record)
    let wasListed = record.pointee.isListed
    record.pointee.heldCount &+= difference
    if record.pointee.isListed != wasListed { listedCount += wasListed ? -1 : 1 }
  }

  /// Returns the index of an item's field in `fields`; -1 if it was never written.
  func fieldIndex(of item: ItemSlot, name: FieldNameSlot) -> Int {
    let record = items.read(Int(item.index))
    if record.pointee.baseFieldCount > 0 {
      let found = baseFieldIndex(record.pointee, name: name)
      if found >= 0 { return found }
    }
    var steps = record.pointee.addedFieldCount
    guard steps <= Self.chainedFieldsMax else {
      return wideFields[FieldKey(item: item, name: name)].map(Int.init) ?? -1
    }
    var index = record.pointee.newestField
    while steps > 0, index >= 0, Int(index) < fields.count {
      let field = fields.read(Int(index))
      if field.pointee.name == name { return Int(index) }
      index = field.pointee.next
      steps -= 1
    }
    return -1
  }

  /// Returns the index of a field from the snapshot; -1 if there is none.
  private func baseFieldIndex(_ record: ItemRecord, name: FieldNameSlot) -> Int {
    let range = record.baseFieldRange(of: fields.count)
    let found = range.partitionPoint { fields.read($0).pointee.name.index >= name.index }
    return found < range.upperBound && fields.read(found).pointee.name == name ? found : -1
  }

  private mutating func appendField(
    _ item: ItemSlot, name: FieldNameSlot, value: StoredValue, isQuiet: Bool, at position: WritePosition
  ) {
    let new = Int32(fields.count)
    let record = ids.records.write(Int(item.index))
    fields.append(
      FieldRecord(
        name: name, next: record.pointee.newestField, position: position, value: value, isQuiet: isQuiet))
    record.pointee.newestField = new
    record.pointee.addedFieldCount &+= 1
    let count = record.pointee.addedFieldCount
    if count > Self.chainedFieldsMax + 1 {
      wideFields[FieldKey(item: item, name: name)] = new
    } else if count == Self.chainedFieldsMax + 1 {
      var field = new
      for _ in 0..<count where field >= 0 && Int(field) < fields.count {
        wideFields[FieldKey(item: item, name: fields[Int(field)].name)] = field
        field = fields[Int(field)].next
      }
    }
  }

  /// Returns the indices of all of an item's fields in `fields`, in no particular order.
  func fieldIndices(of item: ItemSlot) -> [Int] {
    let record = self.item(item)
    var found: [Int] = []
    // Bounded, because a malformed snapshot may claim more fields than it has.
    let addedCount = min(max(0, Int(record.addedFieldCount)), fields.count)
    found.reserveCapacity(record.baseFieldRange(of: fields.count).count + addedCount)
    found.append(contentsOf: record.baseFieldRange(of: fields.count))
    let added = found.count
    var index = record.newestField
    for _ in 0..<addedCount where index >= 0 {
      found.append(Int(index))
      index = fields[Int(index)].next
    }
    // Usually they were added in the order of their names.
    found[added...].reverse()
    return found
  }

  /// Copies the texts that are still needed to a new table.
  private mutating func compactTexts() {
    var new = texts.emptied
    let old = texts
    func moved(_ value: StoredValue) -> StoredValue {
      guard !TextTable.isMapped(value.word) else { return value }
      var value = value
      let text = old.bytes(value.word, count: Int(value.length))
      // Only a malformed snapshot refers to a text that does not exist.
      guard !text.isEmpty else { return StoredValue() }
      value.word = new.append(text)
      return value
    }
    for index in 0..<fields.count {
      let value = fields.read(index).pointee.value
      if value.isNamed, !TextTable.isMapped(value.word) { fields.write(index).pointee.value = moved(value) }
    }
    rivals.replaceValues(moved)
    texts = new
  }

  // Creates the state of an item from its records.

  /// Returns the indices of an item's fields that hold a value, sorted by the bytes of their names.
  func heldFieldIndices(of item: ItemSlot, names: FieldNames) -> [Int] {
    guard self.item(item).heldCount > 0 else { return [] }
    var held = fieldIndices(of: item)
    held.removeAll { fields.read($0).pointee.value.isNull }
    for index in held.indices.dropFirst()
    where !names.precedes(fields[held[index - 1]].name, fields[held[index]].name) {
      held.sort { names.precedes(fields[$0].name, fields[$1].name) }
      break
    }
    return held
  }

  func value(ofField index: Int) -> FieldValue { fields.read(index).pointee.value.value(in: texts) }

  /// Returns whether one of an item's fields satisfies `isWanted`.
  func holdsField(of record: ItemRecord, where isWanted: (FieldRecord) -> Bool) -> Bool {
    for index in record.baseFieldRange(of: fields.count) where isWanted(fields.read(index).pointee) {
      return true
    }
    // Bounded, because a malformed snapshot may claim more fields than it has.
    var steps = record.addedFieldCount
    var index = record.newestField
    while steps > 0, index >= 0, Int(index) < fields.count {
      let field = fields.read(Int(index)).pointee
      if isWanted(field) { return true }
      index = field.next
      steps -= 1
    }
    return false
  }

  /// - Parameter id: the item's id, if known.
  func state(
    of item: ItemSlot, id: String? = nil, names: FieldNames, replicas: ReplicaTable
  ) -> ItemState {
    let record = self.item(item)
    let held =
      record.addedFieldCount > 0
      ? PackedFields.make(
        of: heldFieldIndices(of: item, names: names), in: fields.reader, names: names.texts,
        textBytesMax: texts.byteCountMax, text: { texts.bytes($0, count: $1) })
      : PackedFields.make(
        of: record.baseFieldRange(of: fields.count), in: fields.reader, names: names.texts,
        textBytesMax: texts.byteCountMax, text: { texts.bytes($0, count: $1) })
    return ItemState(record, id: id ?? ids.string(of: item.index), held, replicas)
  }
}

extension ItemState {
  init(_ record: ItemRecord, id: String, _ fields: PackedFields?, _ replicas: ReplicaTable) {
    self.init(
      id: id, isFavorite: record.isFavorite, favoritedMoment: replicas.favoritedMoment(of: record),
      fields: ItemFields(fields))
  }
}
