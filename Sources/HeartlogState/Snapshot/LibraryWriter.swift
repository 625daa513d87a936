import HeartlogFormat

/// Writes the table of a library to a snapshot: favorites from the newest on, then the other items by id, with the fields of each sorted by name.
struct LibraryWriter {
  private let table: ItemTable
  /// By field name slot: the name's slot in the snapshot.
  private let names: [Int32]
  /// The item slots in their new order.
  private var order: [Int32] = []
  private var favoriteCount = 0
  /// By item slot: the item's slot in the snapshot.
  private var newSlots: [Int32]
  /// All item slots, sorted by id.
  private let byID: [Int32]
  /// By rival index: the rival's index in the snapshot, or -1 if the slot is free.
  private var rivalIndices: [Int32] = []
  /// The new indices of fields that have rivals, or had some.
  private var fieldIndices: [Int32: Int32] = [:]

  /// - Parameter replicas: the replicas that wrote the items.
  init(_ table: ItemTable, names: [Int32], replicas: ReplicaTable) {
    self.table = table
    self.names = names
    byID = ItemListing(of: table, order: .byID, replicas: replicas) { _, _ in true }.slots.map(\.index)
    let favorites = ItemListing(of: table, order: .newestFirst, replicas: replicas) {
      $1.pointee.isFavorite
    }.slots
    favoriteCount = favorites.count
    order.reserveCapacity(table.items.count)
    for slot in favorites { order.append(slot.index) }
    for slot in byID where !table.items[Int(slot)].isFavorite { order.append(slot) }
    newSlots = [Int32](repeating: 0, count: table.items.count)
    for (newSlot, slot) in order.enumerated() { newSlots[Int(slot)] = Int32(newSlot) }
    var next: Int32 = 0
    for index in 0..<table.rivals.records.count {
      let isFree = table.rivals.records[index].isFree
      rivalIndices.append(isFree ? -1 : next)
      if !isFree { next += 1 }
    }
  }

  mutating func append(to directory: inout ByteWriter, _ writer: inout SnapshotWriter) throws {
    directory.u64(table.eventCount)
    directory.varint(table.items.count)
    directory.varint(favoriteCount)
    // Counted again, because the count of a malformed snapshot may be wrong.
    directory.varint(order.count { table.items.read(Int($0)).pointee.isListed })
    directory.u64(table.ids.seed)
    directory.location(try appendEntries(&writer))
    var textBytes = 0
    directory.location(try appendItems(&writer, &textBytes))
    directory.location(try appendFields(&writer, &textBytes))
    directory.location(try appendRivals(&writer, &textBytes))
    let newSlots = newSlots
    let byID = byID
    directory.location(try writer.records(byID.count) { newSlots[Int(byID[$0])] })
    directory.location(try appendTexts(&writer))
  }

  /// The hashes stay; the slots are replaced with the new ones.
  private func appendEntries(_ writer: inout SnapshotWriter) throws -> SnapshotWriter.Location {
    // Leaves some room, so that the first new items do not trigger a rehash.
    let capacity = InternTable<ItemRecord>.capacity(for: table.items.count + table.items.count / 8 + 1)
    var entries = [UInt64](repeating: 0, count: capacity)
    var left = table.items.count
    for index in 0..<table.ids.entries.count where left > 0 {
      let entry = table.ids.entries[index]
      let slot = Int(Int32(truncatingIfNeeded: entry)) - 1
      // A malformed snapshot is detected when this one is verified against the log.
      guard slot >= 0, slot < newSlots.count else { continue }
      left -= 1
      let hash = UInt32(truncatingIfNeeded: entry >> 32)
      var entrySlot = Int(hash) & (capacity - 1)
      while entries[entrySlot] != 0 { entrySlot = (entrySlot + 1) & (capacity - 1) }
      entries[entrySlot] = InternTable<ItemRecord>.entry(hash, newSlots[slot])
    }
    return try writer.records(capacity) { entries[$0] }
  }

  private func appendItems(
    _ writer: inout SnapshotWriter, _ textBytes: inout Int
  ) throws -> SnapshotWriter.Location {
    var fieldCount: Int32 = 0
    // The texts of fields come after all ids that are not inline.
    var fieldTexts = order.reduce(0) { bytes, slot in
      let key = table.items.read(Int(slot)).pointee.key
      return bytes + (key.isInline ? 0 : Int(key.count))
    }
    return try writer.records(order.count) { index in
      var item = table.items[Int(order[index])]
      var key = item.key
      if !key.isInline {
        key.words.0 = TextTable.mappedName(textBytes)
        textBytes += Int(key.count)
        item = item.with(key)
      }
      item.baseFields = fieldCount
      item.baseFieldCount &+= item.addedFieldCount
      item.addedFieldCount = 0
      item.newestField = -1
      fieldCount &+= item.baseFieldCount
      item.baseTexts = UInt64(fieldTexts)
      for field in table.fieldIndices(of: ItemSlot(index: order[index])) {
        let value = table.fields.read(field).pointee.value
        if value.isNamed { fieldTexts += Int(value.length) }
      }
      item.rivals = newRival(item.rivals)
      item.counted = 0
      item.isMoved = false
      return item
    }
  }

  private mutating func appendFields(
    _ writer: inout SnapshotWriter, _ textBytes: inout Int
  ) throws -> SnapshotWriter.Location {
    var item = 0
    var ahead: [Int] = []
    var taken = 0
    var fieldIndices: [Int32: Int32] = [:]
    let location = try writer.records(table.fields.count) { (index: Int) -> FieldRecord in
      while taken == ahead.count {
        // Only a malformed snapshot has fields that belong to no item.
        guard item < order.count else { throw MalformedError("fields that belong to no item") }
        ahead = fields(of: ItemSlot(index: order[item]))
        taken = 0
        item += 1
      }
      let old = ahead[taken]
      taken += 1
      let field = table.fields[old]
      var value = field.value
      if value.isNamed {
        value.word = TextTable.mappedName(textBytes)
        textBytes += Int(value.length)
      }
      var new = FieldRecord(
        name: newName(field.name), next: -1, position: field.position, value: value, isQuiet: field.isQuiet)
      if field.rivals >= 0 {
        new.rivals = newRival(field.rivals)
        fieldIndices[Int32(old)] = Int32(index)
      }
      return new
    }
    self.fieldIndices = fieldIndices
    return location
  }

  private func newName(_ name: FieldNameSlot) -> FieldNameSlot {
    FieldNameSlot(index: names[checked: name.index] ?? 0)
  }

  private func newRival(_ index: Int32) -> Int32 {
    rivalIndices[checked: index] ?? -1
  }

  /// Returns an item's fields, sorted by the bytes of their names.
  private func fields(of item: ItemSlot) -> [Int] {
    var fields = table.fieldIndices(of: item)
    func name(_ index: Int) -> Int32 { newName(table.fields.read(index).pointee.name).index }
    for index in fields.indices.dropFirst() where name(fields[index - 1]) > name(fields[index]) {
      fields.sort { name($0) < name($1) }
      break
    }
    return fields
  }

  private func appendRivals(
    _ writer: inout SnapshotWriter, _ textBytes: inout Int
  ) throws -> SnapshotWriter.Location {
    let kept = rivalIndices.indices.filter { rivalIndices[$0] >= 0 }
    return try writer.records(kept.count) { index -> RivalRecord in
      let old = table.rivals.records[kept[index]]
      let item = ItemSlot(index: newSlots[checked: old.item.index] ?? 0)
      var new: RivalRecord
      if old.field < 0 {
        new = RivalRecord(
          item: item, position: old.position, isFavorite: old.isFavorite, favoritedDate: old.favoritedDate)
      } else {
        var value = old.value
        if value.isNamed {
          value.word = TextTable.mappedName(textBytes)
          textBytes += Int(value.length)
        }
        new = RivalRecord(
          item: item, field: fieldIndices[old.field] ?? -1, position: old.position, value: value,
          isQuiet: old.isQuiet)
      }
      new.next = newRival(old.next)
      return new
    }
  }

  /// Writes the texts of keys, fields and rivals, in the order in which names were assigned.
  private func appendTexts(_ writer: inout SnapshotWriter) throws -> SnapshotWriter.Location {
    var texts = SnapshotWriter.Texts()
    func append(_ value: StoredValue) throws {
      guard value.isNamed else { return }
      try writer.append(table.texts.bytes(value.word, count: Int(value.length)), to: &texts)
    }
    for slot in order where !table.items[Int(slot)].key.isInline {
      try table.ids.withBytes(of: slot) { try writer.append($0, to: &texts) }
    }
    for slot in order {
      for field in fields(of: ItemSlot(index: slot)) { try append(table.fields[field].value) }
    }
    for index in rivalIndices.indices where rivalIndices[index] >= 0 {
      let rival = table.rivals.records[index]
      if rival.field >= 0 { try append(rival.value) }
    }
    return try writer.end(&texts)
  }
}

extension ItemTable {
  init(_ reader: inout SnapshotReader) throws(MalformedError) {
    let eventCount = try reader.number()
    let itemCount = try reader.bytes.count(atMost: Int(Int32.max), "items")
    let favoriteCount = try reader.bytes.count(atMost: itemCount, "favorites")
    let listedCount = try reader.bytes.count(atMost: itemCount, "items that are listed")
    let seed = try reader.bytes.u64()
    let entries: PagedTable<UInt64> = try reader.table()
    let items: PagedTable<ItemRecord> = try reader.table()
    let fields: PagedTable<FieldRecord> = try reader.table()
    let rivals: PagedTable<RivalRecord> = try reader.table()
    let byID: PagedTable<Int32> = try reader.table()
    let texts = TextTable(try reader.texts())
    guard items.count == itemCount, byID.count == itemCount,
      entries.count > itemCount, entries.count.nonzeroBitCount == 1
    else { throw MalformedError("parts of a snapshot that do not fit each other") }
    self.init(
      base: Base(itemCount: itemCount, favoriteCount: favoriteCount, byID: byID),
      ids: InternTable(seed: seed, entries: entries, records: items, texts: texts), fields: fields,
      texts: texts,
      rivals: ConcurrentWrites(rivals), listedCount: listedCount, eventCount: eventCount)
  }
}
