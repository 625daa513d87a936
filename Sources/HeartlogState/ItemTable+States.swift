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

  /// - Parameter id: the item's, where it is at hand.
  func state(of item: ItemSlot, id: String? = nil, names: FieldNames) -> ItemState {
    let record = self.item(item)
    let id = id ?? ids.string(of: item.index)
    guard record.addedFieldCount > 0 else {
      return Self.baseState(of: record, id: id, fields: fields.reader, texts: texts, names: names.strings)
    }
    let held = heldFieldIndices(of: item, names: names).map { place in
      Field(name: names.string(of: fields[place].name), value: value(ofField: place))
    }
    return ItemState(
      id: id, isFavorite: record.isFavorite, favoritedDate: record.favoritedDate, fields: held)
  }

  /// An item all of whose fields came with the snapshot, by the bytes of their names.
  ///
  /// It takes the parts of the table that it looks at: to count references to all others costs as much as a string.
  static func baseState(
    of record: ItemRecord, id: String, fields: PagedReader<FieldRecord>, texts: TextTable, names: [String]
  ) -> ItemState {
    let first = max(0, Int(record.baseFields))
    let last = max(first, min(first + Int(record.baseFieldCount), fields.count))
    var held: [Field] = []
    if first < last {
      // Fields and texts wait for memory together.
      Prefetch.lines(3, at: fields.read(first))
      texts.seek(Int(truncatingIfNeeded: record.baseTexts))
      // What a snapshot claims is not believed before it is found.
      held.reserveCapacity(min(Int(max(0, record.heldCount)), 64))
    }
    for place in first..<last {
      let field = fields.read(place)
      let value = field.pointee.value
      guard !value.isNull else { continue }
      let name = Int(field.pointee.name.index)
      held.append(
        Field(name: names.indices.contains(name) ? names[name] : "", value: value.value(in: texts)))
    }
    return ItemState(
      id: id, isFavorite: record.isFavorite, favoritedDate: record.favoritedDate, fields: held)
  }
}
