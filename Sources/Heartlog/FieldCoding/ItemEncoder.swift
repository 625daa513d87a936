import HeartlogEvents

/// Encodes an item as fields: the members of its object are fields of their own, and are not collected as JSON.
final class ItemEncoder: ValueEncoder {
  private var fields: [Field] = []
  /// The encoders handed out for fields. Their values are known only after the item has encoded all of itself.
  private var children: [(index: Int, encoder: ValueEncoder)] = []
  /// The first rule that a field broke. Reported at the end, even if the item's own coding continues.
  private var failure: FieldCodingError?

  init() { super.init(codingPath: []) }

  /// Returns the fields in the order of encoding, without those that the store supplies.
  func encodedFields() throws(FieldCodingError) -> [Field] {
    if let value {
      guard case .object(let members) = value else {
        throw FieldCodingError(field: nil, reason: "the item encodes as \(value.kind), not as an object")
      }
      // Those of an item that encodes as another value; an item's own are in `fields`.
      for member in members { set(member.value, for: member.name) }
    }
    for (index, child) in children {
      let name = fields[index].name
      fields[index] = Field(name: name, value: fieldValue(child.value ?? .object([]), of: name))
    }
    if let failure { throw failure }
    return fields
  }

  override func set(_ value: JSONValue, for name: String) {
    guard !FieldKey.isSupplied(name) else { return }
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
    guard !FieldKey.isSupplied(name) else { return child }
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
