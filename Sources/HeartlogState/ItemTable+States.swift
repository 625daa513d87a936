import HeartlogFormat

// Creates the state of an item from its records.
extension ItemTable {
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
