import HeartlogEvents

// What is true of an item, made from its records.
extension ItemTable {
  /// Where in `fields` those of an item's are that hold a value, by the bytes of their names.
  func heldFieldIndices(of item: ItemSlot, names: FieldNames) -> [Int] {
    guard self.item(item).heldCount > 0 else { return [] }
    var held = fieldIndices(of: item)
    held.removeAll { fields.read($0).pointee.value.isNull }
    for place in held.indices.dropFirst()
    where !names.precedes(fields[held[place - 1]].name, fields[held[place]].name) {
      held.sort { names.precedes(fields[$0].name, fields[$1].name) }
      break
    }
    return held
  }

  func value(ofField place: Int) -> FieldValue { fields.read(place).pointee.value.value(in: texts) }

  /// Has what an item brought from its snapshot fetched into the cache: fields and texts wait for memory together.
  @inline(__always)
  private func seekBase(of record: ItemRecord) {
    guard record.baseFieldCount > 0 else { return }
    Prefetch.lines(3, at: UnsafeRawPointer(fields.read(Int(record.baseFields))))
    texts.seek(Int(truncatingIfNeeded: record.baseTexts))
  }

  /// - Parameter id: the item's, where it is at hand.
  func state(of item: ItemSlot, id: String? = nil, names: FieldNames) -> ItemState {
    let record = self.item(item)
    seekBase(of: record)
    var held: [Field] = []
    // What a snapshot claims is not believed before it is found.
    held.reserveCapacity(min(Int(max(0, record.heldCount)), 64))
    func append(_ place: Int) {
      let field = fields.read(place)
      let value = field.pointee.value
      guard !value.isNull else { return }
      held.append(Field(name: names.string(of: field.pointee.name), value: value.value(in: texts)))
    }
    if record.addedFieldCount == 0 {
      // All of them came with the snapshot, by the bytes of their names.
      let first = max(0, Int(record.baseFields))
      for place in first..<max(first, min(first + Int(record.baseFieldCount), fields.count)) { append(place) }
    } else {
      for place in heldFieldIndices(of: item, names: names) { append(place) }
    }
    return ItemState(
      id: id ?? ids.string(of: item.index), isFavorite: record.isFavorite,
      favoritedDate: record.favoritedDate,
      fields: held)
  }
}
