import HeartlogStorage

/// The schema of an item type, in a library of a store: reads and writes fields under all their names, and announces the version.
final class LibrarySchema: Sendable {
  private let lineage: FieldLineage
  private let names: [String]
  private let library: FavoritesLibrary
  private let settings: FavoritesLibrary
  private let announcement: Field
  private let template: ItemTemplate?

  /// - Parameter template: supplies values for fields that a stored item lacks.
  /// - Returns: nil if the type needs none: it is of version 1, and no device, such as this one before, announced another.
  /// - Throws: `invalid` if the schema breaks a rule.
  init?(of type: Any.Type, in library: FavoritesLibrary, template: ItemTemplate?) throws(HeartlogError) {
    guard let type = type as? any FavoriteItem.Type else { return nil }
    do throws(MalformedError) {
      lineage = try FieldLineage(type.schema)
      announcement = try SchemaAnnouncement(lineage).field(of: library.name)
    } catch {
      throw HeartlogError(.invalid, "the schema of \(type): \(error.reason)")
    }
    names = lineage.names
    self.library = library
    self.template = template
    settings = try library.store.library(SchemaAnnouncement.library)
    // Which replica is the own one is asked of the log, and only when something is written: readers do not wait for writers.
    if lineage.version == 1, !library.store.hasAnnouncement(in: announcement.name) { return nil }
  }

  // MARK: - Reading

  /// The fields of an item as the newest version has them. Names of other versions are left out; all other fields are kept.
  func fields(of item: ItemState) -> ItemFields {
    guard !names.isEmpty, !item.fields.isEmpty else { return item.fields }
    let writes = writes(of: item.id)
    var fields = item.fields.filter { lineage.index(of: $0.name) == nil }
    for name in names.indices where lineage.isCurrent(name) {
      guard let value = lineage.value(of: name, in: writes).value, !value.isNull else { continue }
      let place = fields.firstIndex { names[name].bytesPrecede($0.name) } ?? fields.count
      fields.insert(Field(name: names[name], value: value), at: place)
    }
    return ItemFields(fields)
  }

  /// What each of `names` shows, read at once, so that the writes belong together.
  private func writes(of id: String) -> [FieldLineage.Write?] {
    let writes: [Conflict.Write?] =
      if let transaction = WriteTransaction.joined(by: library.store) {
        transaction.shownWrites(ofFields: names, of: id, in: library.name)
      } else {
        library.store.read { state in
          names.map { state.shownWrite(of: .field($0), of: id, in: library.name, under: WriteOverlay()) }
        }
      }
    return writes.map { write in
      guard let write, case .field(let value) = write.value else { return nil }
      return FieldLineage.Write(position: write.position, value: value)
    }
  }

  // MARK: - Writing

  /// The fields of an encoded item, without those that the newest version has dropped.
  ///
  /// - Throws: `FieldCodingError` if the item encodes a field under a name that was replaced.
  func current(_ fields: [Field]) throws(FieldCodingError) -> [Field] {
    var current: [Field] = []
    for field in fields {
      guard let name = lineage.index(of: field.name), !lineage.isCurrent(name) else {
        current.append(field)
        continue
      }
      let successors = lineage.successors(of: name)
      guard successors.isEmpty else {
        throw FieldCodingError(
          field: field.name,
          reason: "the schema replaced it with \(successors.map { "\"\($0)\"" }.joined(separator: ", "))")
      }
    }
    return current
  }

  /// Performs an operation with the fields of an item of the newest version. Fields that differ from what is read are written, also under the
  /// older names that other devices use. If anything is written, the version is announced, unless it is already.
  func perform(
    _ operation: HeartlogState.Operation, on id: String
  ) throws(HeartlogError) -> WriteResult {
    let store = library.store
    return try store.writeAsOne { () throws(HeartlogError) in
      guard let transaction = WriteTransaction.joined(by: store) else {
        preconditionFailure("no transaction")
      }
      let fields = fields(toWrite: operation.fields, of: id, in: transaction)
      let result = try library.perform(.exactly(operation.with(fields)), on: id)
      // A commit that is full takes no more events. The next write announces.
      if result.isChange, !transaction.isFull, !isAnnounced(by: transaction.ownAndEndedReplicas.own) {
        let item = FavoritesStore.settingsItem(of: transaction.ownAndEndedReplicas.own)
        try settings.set([announcement], of: item)
      }
      return result
    }
  }

  private func fields(toWrite fields: [Field], of id: String, in transaction: WriteTransaction) -> [Field] {
    let item = library.item(id)
    let writes = writes(of: id)
    var values = [FieldValue?](repeating: nil, count: names.count)
    var changed: Set<Int> = []
    var differing: [Field] = []
    for field in fields {
      guard let name = lineage.index(of: field.name) else {
        if item?.fields[field.name] ?? .null != field.value { differing.append(field) }
        continue
      }
      values[name] = field.value
      let (read, isUnreadable) = lineage.value(of: name, in: writes)
      if isUnreadable, read?.isNull ?? true, isSubstitute(field) { continue }
      if field.value != read ?? .null { changed.insert(name) }
    }
    guard !changed.isEmpty else { return differing }
    let versions = library.store.otherVersions(announcedIn: announcement.name, in: transaction)
    return differing + lineage.fields(changing: changed, of: values, over: writes, for: versions)
  }

  /// Whether a value is what reading gives for a stored one that cannot be converted. Then it must not replace that.
  private func isSubstitute(_ field: Field) -> Bool {
    field.value.isNull || template?[field.name] == field.value.jsonValue
  }

  // MARK: - Announcing

  private func isAnnounced(by replica: ReplicaID) -> Bool {
    let announced = settings.item(FavoritesStore.settingsItem(of: replica))?.value(of: announcement.name)
    return announced.map { $0 == announcement.value } ?? (lineage.version == 1)
  }
}
