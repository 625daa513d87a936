import HeartlogFormat
import HeartlogState

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Encodes an item as fields: the members of its object are fields of their own, and are not collected as JSON.
///
/// A member that decoding would fill in with the same value from the store is no field.
final class ItemEncoder: ValueEncoder {
  private var fields: [Field] = []
  /// The encoders handed out for fields. Their values are known only after the item has encoded all of itself.
  private var children: [(index: Int, encoder: ValueEncoder)] = []
  /// The first rule that a field broke. Reported at the end, even if the item's own coding continues.
  private var failure: FieldCodingError?
  /// The text of the item's id; nil if it has none.
  private let id: String?
  /// The names of the members that the store has.
  private(set) var suppliedNames: [String] = []

  init(id: String?) {
    self.id = id
    super.init(codingPath: [])
  }

  /// Returns the fields in the order of encoding, without those that the store supplies.
  func encodedFields() throws(FieldCodingError) -> [Field] {
    if let value {
      guard case .object = value else {
        throw FieldCodingError(field: nil, reason: "the item encodes as \(value.kind), not as an object")
      }
    }
    for (index, child) in children {
      let name = fields[index].name
      fields[index] = Field(name: name, value: fieldValue(child.value ?? .object([]), of: name))
    }
    if let failure { throw failure }
    return fields
  }

  override func set<T>(_ value: JSONValue, of type: T.Type, for key: some CodingKey) {
    if isSupplied(value, of: type, for: key) {
      suppliedNames.append(key.stringValue)
    } else {
      set(value, for: key.stringValue)
    }
  }

  /// Whether decoding fills in the value from the store: any Bool called isFavorite, any Date called favoritedDate, and the item's id under
  /// its key.
  private func isSupplied<T>(_ value: JSONValue, of type: T.Type, for key: some CodingKey) -> Bool {
    let name = key.stringValue
    switch name.utf8.count {
    case 10 where name == FieldKey.isFavorite:
      if case .bool = value { return true }
      return type == Bool.self
    case 13 where name == FieldKey.favoritedDate: return type == Date.self
    default: break
    }
    guard let id, FieldKey.isID(name) || Self.mayBeID(value, id), key.isOfID else { return false }
    let supplied = SuppliedValues.encodedID(id, as: type)
    if value.isNull, supplied != nil {
      failure =
        failure
        ?? FieldCodingError(
          field: name,
          reason: "nil cannot be stored under the key of the item's id; give the property another key")
    }
    if case .string(let text) = value, case .string(let id)? = supplied { return text.hasSameBytes(as: id) }
    return value == supplied
  }

  /// Whether a value may be an id, as far as can be told without its type and key.
  private static func mayBeID(_ value: JSONValue, _ id: String) -> Bool {
    switch value {
    case .string(let text): text.hasSameBytes(as: id)
    case .int64(let number): id.utf8.first.map { $0 <= UInt8(ascii: "9") } == true && "\(number)" == id
    case .object, .array, .null: true
    default: false
    }
  }

  override func set(_ value: JSONValue, for name: String) {
    let value = fieldValue(value, of: name)
    do throws(MalformedError) {
      if name.utf8.first == UInt8(ascii: "@") {
        throw MalformedError("names that begin with @ are the store's own")
      }
      try NameRules.checkFieldName(name)
    } catch {
      failure = failure ?? FieldCodingError(field: name, reason: error.reason)
    }
    if fields.isEmpty { fields.reserveCapacity(8) }
    fields.append(Field(name: name, value: value))
  }

  private func fieldValue(_ value: JSONValue, of name: String) -> FieldValue {
    do { return try FieldValue(value) } catch {
      failure = failure ?? FieldCodingError(field: name, reason: error.reason)
      return .null
    }
  }

  override func child(for key: some CodingKey) -> ValueEncoder {
    let child = ValueEncoder(codingPath: [key])
    let name = key.stringValue
    set(.null, for: name)
    children.append((fields.count - 1, child))
    return child
  }
}

/// Decodes an item from its stored fields. Texts, dates and lists of strings are decoded in place, all other values as JSON.
///
/// A field that has one of the store's own names is the item's own: see `FieldKey`.
final class ItemDecoder: KeyedValues, Decoder {
  private let fields: FieldReader
  private let values: SuppliedValues
  /// Whether fields with the store's own names are read.
  private let readsReserved: Bool
  /// Whether such a field was read.
  private var didReadReserved = false

  init(_ fields: ItemFields, supplied: SuppliedValues, readsReserved: Bool = true) {
    self.fields = FieldReader(fields)
    values = supplied
    self.readsReserved = readsReserved
  }

  /// Decodes an item. A field with one of the store's own names that does not fit the type, or that would give the item another id, was
  /// written by something else and is ignored.
  static func decode<T: Decodable>(
    _ type: T.Type, from fields: ItemFields, supplied: SuppliedValues
  ) throws -> T {
    let decoder = ItemDecoder(fields, supplied: supplied)
    do {
      let item = try T(from: decoder)
      if !decoder.didReadReserved { return item }
      if favoriteID(of: item)?.hasSameBytes(as: supplied.id) ?? true { return item }
    } catch {
      guard decoder.didReadReserved else { throw error }
    }
    return try T(from: ItemDecoder(fields, supplied: supplied, readsReserved: false))
  }

  /// Decodes an item.
  ///
  /// - Parameters:
  ///   - schema: shows the fields of all versions of the type under the names of its own.
  ///   - template: supplies values for fields that the item lacks.
  static func decode<T: Decodable>(
    _ type: T.Type, from state: ItemState, _ schema: LibrarySchema?, _ template: ItemTemplate?
  ) throws -> T {
    try decode(
      type, from: schema?.fields(of: state) ?? state.fields,
      supplied: SuppliedValues(
        id: state.id, isFavorite: state.isFavorite, favoritedDate: state.favoritedDate, template: template))
  }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(KeyedValueDecoder<Key>(self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try object.unkeyedContainer() }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    SingleValueDecoder(decoder: object, item: self)
  }

  /// The item for callers that ask for anything other than a keyed container.
  private var object: ValueDecoder { ValueDecoder(.object([])) }

  // MARK: Members

  override var supplied: SuppliedValues? { values }

  override var names: [String] {
    [FieldKey.id, FieldKey.isFavorite, FieldKey.favoritedDate]
      + fields.names.filter { !FieldKey.isSupplied($0) }
  }

  /// Whether a field of this name is read, if there is one.
  @inline(__always)
  private func reads(_ name: String) -> Bool { !FieldKey.isSupplied(name) || readsField(reserved: name) }

  @inline(never)
  private func readsField(reserved name: String) -> Bool {
    guard readsReserved, fields.isNull(name) == false else { return false }
    didReadReserved = true
    return true
  }

  override func contains(_ name: String) -> Bool { reads(name) && fields.contains(name) }

  override func isNil(_ name: String) -> Bool { reads(name) ? fields.isNull(name) ?? true : true }

  override func value(named name: String) -> JSONValue? {
    reads(name) ? fields.value(of: name)?.jsonValue : nil
  }

  override func valueIfMissing(named name: String) -> JSONValue? { values.template?[name] }

  override func string(named name: String) -> String? { reads(name) ? fields.string(of: name) : nil }

  /// A list of strings without escapes; all other lists are parsed.
  override func strings(named name: String) -> [String]? { reads(name) ? fields.strings(of: name) : nil }

  override func date(named name: String) -> Date? {
    reads(name) ? fields.time(of: name).map(Date.init(milliseconds:)) : nil
  }
}

/// The text of an item's id; nil if it has none that a store takes.
func favoriteID(of item: Any) -> String? {
  func text(_ item: some Identifiable) -> String? { (item.id as? any FavoriteID)?.favoriteID }
  return (item as? any Identifiable).flatMap { text($0) }
}

/// Encodes items as fields.
package enum FieldEncoder {
  /// Returns the fields of an item, sorted by the bytes of their names. Nil is encoded as `.null`.
  ///
  /// Leaves out what the store keeps itself: the item's id under the key of its property `id`, a Bool called `isFavorite`, and a Date called
  /// `favoritedDate`. Any other value under these names is a field.
  ///
  /// - Throws: `FieldCodingError` if the item does not encode as an object, or if a field breaks a rule: a name that begins with `@`, a
  ///   number that is not finite, a value beyond its limits.
  package static func fields(of item: some Encodable) throws(FieldCodingError) -> [Field] {
    try encode(item, id: favoriteID(of: item)).fields
  }

  /// Returns the fields of an item, and the names that were left out.
  ///
  /// - Parameter id: the text of the item's id; nil if it has none.
  static func encode(
    _ item: some Encodable, id: String?
  ) throws(FieldCodingError) -> (fields: [Field], suppliedNames: [String]) {
    var fields: [Field]
    var suppliedNames: [String]
    do {
      // An item that encodes as a single string is rejected, with its kind in the message.
      if let text = try ScalarCoding.string(of: item) {
        throw FieldCodingError(
          field: nil, reason: "the item encodes as \(JSONValue.string(text).kind), not as an object")
      }
      let encoder = ItemEncoder(id: id)
      try item.encode(to: encoder)
      fields = try encoder.encodedFields()
      suppliedNames = encoder.suppliedNames
    } catch {
      throw FieldCodingError(error)
    }
    sort(&fields)
    for index in fields.indices.dropFirst() where fields[index].name.hasSameBytes(as: fields[index - 1].name)
    {
      throw FieldCodingError(field: fields[index].name, reason: "it is encoded twice")
    }
    return (fields, suppliedNames)
  }

  /// Sorts by the bytes of the names. Items have few fields, usually in nearly sorted order.
  private static func sort(_ fields: inout [Field]) {
    if fields.count > 16 { return fields.sort { $0.name.bytesPrecede($1.name) } }
    for end in fields.indices.dropFirst() {
      var index = end
      while index > 0, fields[index].name.bytesPrecede(fields[index - 1].name) {
        fields.swapAt(index, index - 1)
        index -= 1
      }
    }
  }
}

/// Decodes items from fields.
package enum FieldDecoder {
  /// Decodes an item from its stored fields.
  ///
  /// - Parameters:
  ///   - type: the type to decode.
  ///   - id: the value for the key of the property `id`, converted to its type, where there is no such field.
  ///   - isFavorite: the value for the key `isFavorite`, if the type decodes a Bool, or if there is no such field.
  ///   - favoritedDate: the value for the key `favoritedDate`, if the type decodes a Date, or if there is no such field.
  ///   - fields: all other values. Fields that the type does not decode are ignored; null counts as absent.
  /// - Throws: `FieldCodingError` with the first field that does not fit the type.
  package static func decode<T: Decodable>(
    _ type: T.Type, id: String, isFavorite: Bool, favoritedDate: Milliseconds?,
    fields: some Sequence<Field>
  ) throws(FieldCodingError) -> T {
    let supplied = SuppliedValues(id: id, isFavorite: isFavorite, favoritedDate: favoritedDate, template: nil)
    do {
      return try ItemDecoder.decode(type, from: ItemFields(Array(fields)), supplied: supplied)
    } catch {
      throw FieldCodingError(error)
    }
  }
}

extension FieldDecoder {
  /// Decodes an item from JSON that holds all of it, as an app without a store wrote it.
  ///
  /// - Throws: `FieldCodingError` with the first member that does not fit the type.
  package static func decode<T: Decodable>(_ type: T.Type, json: JSONValue) throws(FieldCodingError) -> T {
    do { return try ValueDecoder(json).decode(type) } catch { throw FieldCodingError(error) }
  }
}

/// The values for fields that a stored item lacks, by name.
struct ItemTemplate: Sendable {
  private let values: [UTF8Key: JSONValue]

  /// The template of a type that declares one; nil for any other type.
  ///
  /// - Throws: `FieldCodingError` if the template cannot be stored.
  init?(of type: Any.Type) throws(FieldCodingError) {
    guard let type = type as? any FavoriteItem.Type, let fields = try Self.fields(of: type) else {
      return nil
    }
    var values: [UTF8Key: JSONValue] = [:]
    for field in fields where !field.value.isNull { values[UTF8Key(field.name)] = field.value.jsonValue }
    self.values = values
  }

  private static func fields<Item: FavoriteItem>(of type: Item.Type) throws(FieldCodingError) -> [Field]? {
    guard let template = type.template else { return nil }
    return try FieldEncoder.fields(of: template)
  }

  subscript(name: String) -> JSONValue? { values[UTF8Key(name)] }
}

/// The values that an item decodes from the store where it has none of its own.
struct SuppliedValues {
  let id: String
  let isFavorite: Bool
  let favoritedDate: Milliseconds?
  let template: ItemTemplate?

  /// Returns the value for a key; nil if the key belongs to a field.
  func json(for key: some CodingKey) -> JSONValue? {
    switch key.stringValue {
    case FieldKey.isFavorite: .bool(isFavorite)
    case FieldKey.favoritedDate: favoritedDate.map { .string(RFC3339.text($0)) } ?? .null
    default: key.isOfID ? .string(id) : nil
    }
  }

  /// Returns an id as a value of a type; nil if the type is not one of ids, and decodes the text itself.
  static func id<T>(_ id: String, as type: T.Type) throws(MalformedError) -> T? {
    guard let identity = type as? any FavoriteID.Type else { return nil }
    guard let value = identity.init(favoriteID: id) as? T else {
      throw MalformedError("\"\(id)\" is not an identity of the type \(type)")
    }
    return value
  }

  /// Returns the encoded form of what a type decodes where the store fills in the id; nil if it decodes nothing from it.
  static func encodedID<T>(_ id: String, as type: T.Type) -> JSONValue? {
    if type == String.self { return .string(id) }
    guard let identity = type as? any FavoriteID.Type else {
      guard let type = type as? any Decodable.Type,
        (try? ValueDecoder(.string(id)).decode(type)) != nil
      else { return nil }
      return .string(id)
    }
    guard let value = identity.init(favoriteID: id) as? any Encodable else { return nil }
    return try? ValueEncoder.json(value, at: [])
  }
}

/// Keeps the members of nested values that a type does not know, such as those that a later version of it has.
///
/// Each value is compared with what the type reads and encodes again from the stored one: what it changed is written, all else stays.
enum UnknownMembers {
  /// Whether a stored value may have members that a type does not know.
  static func mayBe(in value: FieldValue?) -> Bool {
    guard case .json(let json)? = value else { return false }
    return json.text.utf8.contains(UInt8(ascii: "{"))
  }

  /// The value to write in place of `stored`.
  ///
  /// - Parameters:
  ///   - known: what the type reads and encodes again from `stored`.
  ///   - new: what the type encodes now.
  static func merge(_ new: JSONValue, over stored: JSONValue, known: JSONValue) -> JSONValue {
    if new == known { return stored }
    switch (new, stored, known) {
    case (.object(let new), .object(let stored), .object(let known)):
      return .object(merge(new, over: stored, known: known))
    case (.array(let new), .array(let stored), .array(let known)) where stored.count == known.count:
      return .array(merge(new, over: stored, known: known))
    default: return new
    }
  }

  private static func merge(
    _ new: [JSONMember], over stored: [JSONMember], known: [JSONMember]
  ) -> [JSONMember] {
    func value(_ name: String, in members: [JSONMember]) -> JSONValue? {
      members.first { $0.name.hasSameBytes(as: name) }?.value
    }
    let kept = stored.filter { value($0.name, in: known) == nil && value($0.name, in: new) == nil }
    return kept
      + new.map { member in
        guard let stored = value(member.name, in: stored), let known = value(member.name, in: known) else {
          return member
        }
        return JSONMember(member.name, merge(member.value, over: stored, known: known))
      }
  }

  /// An element that the type left as it was keeps its stored form, wherever it is now. If there are as many as before, the others are
  /// changed ones.
  private static func merge(_ new: [JSONValue], over stored: [JSONValue], known: [JSONValue]) -> [JSONValue] {
    var left = Set(known.indices)
    let kept = new.enumerated().map { place, element in
      let same =
        known.indices.contains(place) && left.contains(place) && known[place] == element ? place : nil
      let index = same ?? left.filter { known[$0] == element }.min()
      if let index { left.remove(index) }
      return index
    }
    return zip(new.indices, kept).map { place, index in
      if let index { return stored[index] }
      guard new.count == known.count, left.contains(place) else { return new[place] }
      return merge(new[place], over: stored[place], known: known[place])
    }
  }
}
