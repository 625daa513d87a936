import HeartlogFormat

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
    if !Self.isSound(name) {
      do throws(FieldCodingError) { try Self.check(name) } catch { failure = failure ?? error }
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

  /// A quick check that accepts only short names of printable ASCII.
  private static func isSound(_ name: String) -> Bool {
    let bytes = name.utf8
    guard let first = bytes.first, first != UInt8(ascii: "@"), bytes.count <= Limits.fieldNameBytesMax else {
      return false
    }
    return bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }

  private static func check(_ name: String) throws(FieldCodingError) {
    guard (1...Limits.fieldNameBytesMax).contains(name.utf8.count) else {
      throw FieldCodingError(
        field: name,
        reason: "a name of \(name.utf8.count) bytes, which must be 1 to \(Limits.fieldNameBytesMax)")
    }
    guard name.utf8.first != UInt8(ascii: "@") else {
      throw FieldCodingError(field: name, reason: "names that begin with @ are the store's own")
    }
    // The other rules were checked above.
    do { try NameRules.checkFieldName(name) } catch {
      throw FieldCodingError(field: name, reason: "a control character in the name")
    }
  }
}
