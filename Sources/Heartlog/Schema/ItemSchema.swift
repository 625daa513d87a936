import HeartlogEngine

/// The version of an item type, and the steps by which its fields changed since version 1.
///
/// ```swift
/// static var schema: ItemSchema {
///   ItemSchema(version: 2, [.renamed("desc", to: "description", since: 2)])
/// }
/// ```
///
/// <doc:WhenYourItemTypeChanges> says what is read and written. A version stays listed as long as items of it may exist: steps are added, and
/// never changed.
public struct ItemSchema: Sendable {
  /// A change of a field, in the version that brought it.
  public struct Step: Sendable {
    /// The name that the versions before use.
    let old: String
    /// The names that take its place: none if the field was dropped, one if it was renamed or retyped, several if it was split.
    let new: [String]
    /// The first version with the new names.
    let since: Int
    var isSplit = false
    /// Converts a value other than null to the values of the new names; nil if it cannot.
    let forward: @Sendable (FieldValue) -> [FieldValue]?
    /// Converts the values of the new names, which are not all null, to the old value; nil if it cannot.
    let backward: @Sendable ([FieldValue]) -> FieldValue?

    /// A field has a new name.
    ///
    /// - Parameters:
    ///   - old: the name before.
    ///   - new: the name from then on. No earlier version may have used it.
    ///   - version: the first version with the new name; 2 or later.
    public static func renamed(_ old: String, to new: String, since version: Int) -> Step {
      Step(old: old, new: [new], since: version, forward: { [$0] }, backward: \.first)
    }

    /// A field has values of another type. It gets a new name, because versions before cannot read the new values.
    ///
    /// A conversion that returns nil leaves the field to the other name: see <doc:WhenYourItemTypeChanges>.
    ///
    /// - Parameters:
    ///   - old: the name before.
    ///   - new: the name from then on. No earlier version may have used it.
    ///   - version: the first version with the new name; 2 or later.
    ///   - forward: converts an old value; nil if it has no new form.
    ///   - backward: converts a new value for the versions before; nil if it has no old form.
    public static func retyped<Old: Codable & Sendable, New: Codable & Sendable>(
      _ old: String, to new: String, since version: Int, forward: @escaping @Sendable (Old) -> New?,
      backward: @escaping @Sendable (New) -> Old?
    ) -> Step {
      Step(
        old: old, new: [new], since: version,
        forward: { value in
          value.decoded(as: Old.self).flatMap(forward).flatMap(FieldValue.init(encoding:)).map { [$0] }
        },
        backward: { values in
          values[0].decoded(as: New.self).flatMap(backward).flatMap(FieldValue.init(encoding:))
        })
    }

    /// A field has become several.
    ///
    /// A conversion that returns nil leaves the fields to the other names: see <doc:WhenYourItemTypeChanges>.
    ///
    /// - Parameters:
    ///   - old: the name before.
    ///   - new: at least two names. No earlier version may have used them.
    ///   - version: the first version with the new names; 2 or later.
    ///   - forward: converts an old value to one value for each new name, in their order, with nil for one without a value. Returns nil if
    ///     it cannot. Another number of values counts as nil.
    ///   - backward: converts the values of the new names, in their order, of which at least one is not nil. Returns nil if it cannot.
    public static func split<Old: Codable & Sendable, New: Codable & Sendable>(
      _ old: String, into new: [String], since version: Int,
      forward: @escaping @Sendable (Old) -> [New?]?, backward: @escaping @Sendable ([New?]) -> Old?
    ) -> Step {
      Step(
        old: old, new: new, since: version, isSplit: true,
        forward: { value in
          guard let parts = value.decoded(as: Old.self).flatMap(forward), parts.count == new.count else {
            return nil
          }
          let values = parts.compactMap { $0.map(FieldValue.init(encoding:)) ?? .null }
          return values.count == new.count ? values : nil
        },
        backward: { values in
          let parts = values.map { $0.decoded(as: New.self) }
          // A value of another type than the parts have is not a missing one.
          guard zip(values, parts).allSatisfy({ $0.isNull || $1 != nil }) else { return nil }
          return backward(parts).flatMap(FieldValue.init(encoding:))
        })
    }

    /// A field is gone. Later versions neither read nor write it; what is stored stays, and versions before go on with it.
    ///
    /// - Parameters:
    ///   - name: the name of the field. It cannot be used again for another one.
    ///   - version: the first version without it; 2 or later.
    public static func dropped(_ name: String, since version: Int) -> Step {
      Step(old: name, new: [], since: version, forward: { _ in [] }, backward: { _ in nil })
    }
  }

  /// The version of the type; 1 for the first.
  public let version: Int
  /// The changes of all versions, the oldest first.
  public let steps: [Step]

  /// Creates a schema. It is checked when the favorites of its type are requested from a store.
  ///
  /// - Parameters:
  ///   - version: the version of the type; 1 or greater. Raise it whenever a step is added.
  ///   - steps: the changes of all versions, the oldest first.
  public init(version: Int = 1, _ steps: [Step] = []) {
    self.version = version
    self.steps = steps
  }
}

extension FieldValue {
  /// The value as a type of the conversion of a step; nil if it is null or does not fit.
  fileprivate func decoded<T: Decodable>(as type: T.Type) -> T? {
    switch self {
    case .null, .unknown: nil
    default: try? ValueDecoder(jsonValue).decode(type)
    }
  }

  /// The value that the conversion of a step returned; nil if no field can hold it.
  fileprivate init?(encoding value: some Encodable) {
    guard let json = try? ValueEncoder.json(value, at: []), let value = try? FieldValue(json) else {
      return nil
    }
    self = value
  }
}

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
    do {
      lineage = try FieldLineage(type.schema)
      announcement = try SchemaAnnouncement(lineage).field(of: library.name)
    } catch {
      throw HeartlogError(.invalid, "the schema of \(type): \(error)")
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

/// What a device says of a library's schema: a field of its item in the library "settings".
struct SchemaAnnouncement: Codable {
  static let library = "settings"
  private static let prefix = "schema/"

  /// The version of the item type that the device runs.
  let version: Int
  /// The first and the last version that use a name instead of newer ones.
  private let oldNames: [String: [Int]]

  init(_ lineage: FieldLineage) {
    version = lineage.version
    let names = lineage.replacedNames.map { ($0.name, [$0.versions.lowerBound, $0.versions.upperBound - 1]) }
    oldNames = Dictionary(names) { _, last in last }
  }

  /// Reads an announcement; nil for any other value.
  init?(_ value: FieldValue?) {
    guard let value, let read = try? ValueDecoder(value.jsonValue).decode(Self.self), read.version >= 1 else {
      return nil
    }
    self = read
  }

  /// The names that a version uses instead of newer ones, sorted by bytes.
  func oldNames(of version: Int) -> [String] {
    oldNames.filter { name, ends in ends.count == 2 && ends[0] <= version && version <= ends[1] }
      .map(\.key).sorted { $0.bytesPrecede($1) }
  }

  static func fieldName(of library: String) -> String { prefix + library }

  /// The library that a field announces a schema of; nil for another field.
  static func library(of field: String) -> String? {
    field.hasPrefix(prefix) ? String(field.dropFirst(prefix.count)) : nil
  }

  func field(of library: String) throws(FieldCodingError) -> Field {
    guard let field = try FieldEncoder.fields(of: [Self.fieldName(of: library): self]).first else {
      preconditionFailure("an object of one member has one field")
    }
    return field
  }
}

/// Which version of a library's item type a device runs, as far as it has announced it.
package struct RunningSchema: Hashable, Sendable {
  /// The library.
  package let library: String
  /// The device.
  package let device: Device
  /// The version that it announced; 1 if it announced none, because the first version of a type announces nothing.
  package let version: Int
  /// Whether it announced a version.
  package let isAnnounced: Bool
  /// The older names of fields that newer versions write because of this device, sorted by bytes. Empty for a device that is retired or has
  /// ended.
  package let oldNames: [String]
}

extension FavoritesStore {
  /// Which version of its item type each device runs, for every library of which a device has announced a version. Sorted by library and
  /// replica.
  ///
  /// A device announces its version with the first write of the library that it makes with it. Devices without commits are left out.
  package var runningSchemas: [RunningSchema] {
    let devices = devices.filter { $0.head > 0 }
    let fields = read { state in
      devices.map {
        state.item(Self.settingsItem(of: $0.replica), in: SchemaAnnouncement.library)?.fields ?? []
      }
    }
    let libraries = Set(fields.joined().compactMap { SchemaAnnouncement.library(of: $0.name) })
    return libraries.sorted { $0.bytesPrecede($1) }.flatMap { library in
      let announced = fields.map { SchemaAnnouncement($0[SchemaAnnouncement.fieldName(of: library)]) }
      let newest = announced.compactMap(\.self).max { $0.version < $1.version }
      return zip(devices, announced).map { device, announced in
        let version = announced?.version ?? 1
        let oldNames = newest?.oldNames(of: version) ?? []
        return RunningSchema(
          library: library, device: device, version: version, isAnnounced: announced != nil,
          oldNames: device.isRetired || device.isEnded ? [] : oldNames)
      }
    }
  }

  /// Whether any device announced a version in a field.
  func hasAnnouncement(in field: String) -> Bool {
    read { state in
      state.heads.contains { head in
        state.item(Self.settingsItem(of: head.replica), in: SchemaAnnouncement.library)?.value(of: field)
          != nil
      }
    }
  }

  /// The versions of a library's item type that other devices run, without those that write no more.
  ///
  /// A device that announced none counts as version 1, even if it never wrote to the library: it may read it.
  func otherVersions(announcedIn field: String, in transaction: WriteTransaction) -> Set<Int> {
    let (own, ended) = transaction.ownAndEndedReplicas
    return read { state in
      var versions: Set<Int> = []
      for replica in state.heads.lazy.map(\.replica) where replica != own && !ended.contains(replica) {
        let settings = state.item(Self.settingsItem(of: replica), in: SchemaAnnouncement.library)
        guard settings?.value(of: "retired") != .bool(true) else { continue }
        versions.insert(SchemaAnnouncement(settings?.value(of: field))?.version ?? 1)
      }
      return versions
    }
  }
}
