import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes one value from JSON: a field's value, or a nested one.
struct ValueDecoder: Decoder {
  let value: JSONValue
  /// The path of the containing value.
  private let parent: [any CodingKey]
  /// The position inside the containing value.
  private let position: Position

  enum Position {
    /// Not contained in another value.
    case whole
    case key(any CodingKey)
    case index(Int)
  }

  init(_ value: JSONValue, in parent: [any CodingKey] = [], at position: Position = .whole) {
    self.value = value
    self.parent = parent
    self.position = position
  }

  /// Computed on demand: only errors and values with parts need it.
  var codingPath: [any CodingKey] {
    switch position {
    case .whole: parent
    case .key(let key): parent + [key]
    case .index(let index): parent + [FieldKey(intValue: index)]
    }
  }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = value else { throw mismatch("an object") }
    return KeyedDecodingContainer(KeyedValueDecoder<Key>(ObjectMembers(members, codingPath: codingPath)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch("an array") }
    return UnkeyedValueDecoder(elements, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { SingleValueDecoder(decoder: self) }

  // MARK: Values

  func mismatch(_ wanted: String) -> FieldCodingError {
    FieldCodingError(path: codingPath, reason: "\(value.kind) where \(wanted) should be")
  }

  func bool() throws(FieldCodingError) -> Bool {
    guard case .bool(let value) = value else { throw mismatch("a bool") }
    return value
  }

  func string() throws(FieldCodingError) -> String {
    guard case .string(let value) = value else { throw mismatch("a string") }
    return value
  }

  /// Accepts integers too.
  func double() throws(FieldCodingError) -> Double {
    guard let value = value.number else { throw mismatch("a number") }
    return value
  }

  func float() throws(FieldCodingError) -> Float {
    let value = Float(try double())
    guard value.isFinite else {
      throw FieldCodingError(path: codingPath, reason: "a number too large for a Float")
    }
    return value
  }

  /// Decodes a number without a fraction that fits the type.
  func integer<T: FixedWidthInteger>(_ type: T.Type) throws(FieldCodingError) -> T {
    let integer: T?
    switch value {
    case .int64(let value): integer = T(exactly: value)
    case .double(let value): integer = T(exactly: value)
    default: throw mismatch("an integer")
    }
    guard let integer else {
      throw FieldCodingError(path: codingPath, reason: "\(value.jsonText) does not fit the type \(type)")
    }
    return integer
  }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    // These types decode themselves in the same way, without a container.
    if type == String.self, let text = try string() as? T { return text }
    guard ScalarCoding.isOneString(type) else { return try T(from: self) }
    let text = try string()
    do {
      if let value = try ScalarCoding.value(type, from: text) { return value }
    } catch {
      throw FieldCodingError(path: codingPath, reason: error.reason)
    }
    throw mismatch("\(type)")
  }
}

/// The single-value container of a value.
struct SingleValueDecoder: SingleValueDecodingContainer {
  let decoder: ValueDecoder
  /// The item, if the value is a whole item; other types are decoded from it.
  var item: ItemDecoder?

  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { decoder.value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool() }
  func decode(_ type: String.Type) throws -> String { try decoder.string() }
  func decode(_ type: Double.Type) throws -> Double { try decoder.double() }
  func decode(_ type: Float.Type) throws -> Float { try decoder.float() }
  // Serves the integers that the standard library does not decode by default.
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T { try decoder.integer(type) }
  func decode(_ type: Int128.Type) throws -> Int128 { try decoder.integer(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try decoder.integer(type) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    if let item, !ScalarCoding.isOneString(type) { return try T(from: item) }
    return try decoder.decode(type)
  }
}

/// Decodes the members of an object, or an item from its fields.
struct KeyedValueDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let source: KeyedValues

  init(_ source: KeyedValues) { self.source = source }

  var codingPath: [any CodingKey] { source.codingPath }
  var allKeys: [Key] { source.names.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { source.contains(key.stringValue) || isSupplied(key) }

  func decodeNil(forKey key: Key) -> Bool {
    guard source.isNil(key.stringValue) else { return false }
    guard isSupplied(key) else { return true }
    return key.stringValue == FieldKey.favoritedDate && source.supplied?.favoritedDate == nil
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if let flag = suppliedFlag(key) { return flag }
    return try source.value(named: key.stringValue)?.bool ?? member(key).bool()
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try source.string(named: key.stringValue) ?? member(key).string()
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try source.value(named: key.stringValue)?.number ?? member(key).double()
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).float() }

  // Serves the integers that the standard library does not decode by default. Inlined, so that it is specialized for each of them.
  @inline(__always)
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try integer(type, key)
  }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    // A dynamic cast between the same types takes as long as reading the date.
    if type == Date.self {
      if let time = suppliedTime(key) {
        guard let time else { throw missing(key) }
        return unsafeBitCast(Date(milliseconds: time), to: type)
      }
      if let date = source.date(named: key.stringValue) { return unsafeBitCast(date, to: type) }
    }
    if type == [String].self, let texts = source.strings(named: key.stringValue) {
      return unsafeBitCast(texts, to: type)
    }
    return try other(type, key)
  }

  /// Decodes a value of any other type. Not inlined, because a function that has an optional `T` looks up its type at each call.
  @inline(never)
  private func other<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    if type == Bool.self, let flag = suppliedFlag(key) as? T { return flag }
    if let value = stored(key) { return try value.decode(type) }
    return try suppliedID(type, key) ?? member(key).decode(type)
  }

  // An optional value that is absent stays nil, except for the flag, the date and the id of the store.

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try suppliedFlag(key) ?? present(key)?.bool()
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try source.string(named: key.stringValue) ?? present(key)?.string() ?? idIfAbsent(type, key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key)?.double() }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    source.isNil(key.stringValue) ? idIfAbsent(type, key) : try decode(type, forKey: key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    if type == Date.self, let time = suppliedTime(key) { return time.map(Date.init(milliseconds:)) as? T }
    if type == Bool.self, let flag = suppliedFlag(key) as? T { return flag }
    return source.isNil(key.stringValue) ? idIfAbsent(type, key) : try decode(type, forKey: key)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try member(FieldKey.super) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

  @inline(__always)
  private func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    if let value = source.value(named: key.stringValue)?.int64, let value = T(exactly: value) { return value }
    if let value = stored(key) { return try value.integer(type) }
    return try suppliedID(type, key) ?? member(key).integer(type)
  }

  /// A member's value: what is stored, else that of the template, else that of the store.
  private func member(_ key: some CodingKey) throws(FieldCodingError) -> ValueDecoder {
    if let value = stored(key) { return value }
    guard let value = source.supplied?.json(for: key) else { throw missing(key) }
    if key.isOfID { source.didSupplyID = true }
    return ValueDecoder(value, in: codingPath, at: .key(key))
  }

  private func stored(_ key: some CodingKey) -> ValueDecoder? {
    let name = key.stringValue
    return (source.value(named: name) ?? source.valueIfMissing(named: name)).map {
      ValueDecoder($0, in: codingPath, at: .key(key))
    }
  }

  private func missing(_ key: some CodingKey) -> FieldCodingError {
    FieldCodingError(path: codingPath + [key], reason: FieldCodingError.missing)
  }

  private func present(_ key: Key) -> ValueDecoder? {
    guard let value = source.value(named: key.stringValue), !value.isNull else { return nil }
    return ValueDecoder(value, in: codingPath, at: .key(key))
  }

  // MARK: The store's values

  /// The membership, if the key asks for it. A Bool of this name is the store's, whatever is stored.
  @inline(__always)
  private func suppliedFlag(_ key: Key) -> Bool? {
    let name = key.stringValue
    guard name.utf8.count == FieldKey.isFavorite.utf8.count, name == FieldKey.isFavorite else { return nil }
    return source.supplied?.isFavorite
  }

  /// The favorited date, if the key asks for it. A Date of this name is the store's, whatever is stored.
  private func suppliedTime(_ key: Key) -> Milliseconds?? {
    let name = key.stringValue
    guard name.utf8.count == FieldKey.favoritedDate.utf8.count, name == FieldKey.favoritedDate,
      let supplied = source.supplied
    else { return nil }
    return .some(supplied.favoritedDate)
  }

  /// Whether the store has a value for a key under which nothing is stored.
  private func isSupplied(_ key: Key) -> Bool {
    guard source.supplied != nil else { return false }
    return FieldKey.isSupplied(key.stringValue) || isOfID(key)
  }

  /// Whether the key is that of the id. To ask for the name of a case takes as long as to read a field, so that of a second key is not
  /// asked for.
  private func isOfID(_ key: Key) -> Bool {
    FieldKey.isID(key.stringValue) || !source.didSupplyID && key.isOfID
  }

  /// The id as a value of a type of ids, if the key is that of the id. Nothing is stored under it.
  private func suppliedID<T>(_ type: T.Type, _ key: Key) throws(FieldCodingError) -> T? {
    guard let supplied = source.supplied, key.isOfID else { return nil }
    source.didSupplyID = true
    do { return try SuppliedValues.id(supplied.id, as: type) } catch {
      throw FieldCodingError(path: codingPath + [key], reason: error.reason)
    }
  }

  /// The id as an optional value, if the key is that of the id and the type decodes it. Nothing is stored under it.
  private func idIfAbsent<T: Decodable>(_ type: T.Type, _ key: Key) -> T? {
    guard let supplied = source.supplied, isOfID(key) else { return nil }
    source.didSupplyID = true
    do {
      return try SuppliedValues.id(supplied.id, as: type) ?? ValueDecoder(.string(supplied.id)).decode(type)
    } catch {
      // A type that the id is not a value of.
      return nil
    }
  }
}

/// The values that a keyed container decodes: the members of an object, or the fields of an item. This one has none.
class KeyedValues {
  var codingPath: [any CodingKey] { [] }
  var names: [String] { [] }
  func contains(_ name: String) -> Bool { false }
  /// Whether a value is absent or null.
  func isNil(_ name: String) -> Bool { true }
  func value(named name: String) -> JSONValue? { nil }
  /// The value of a required member that is missing.
  func valueIfMissing(named name: String) -> JSONValue? { nil }
  /// The values of the store; nil for the members of an object, which are all its own.
  var supplied: SuppliedValues? { nil }
  /// Whether the item's id was asked for and given.
  final var didSupplyID = false

  // A value of one type, if it is decoded without going through JSON. Not generic, because generic code is not specialized for an item's
  // keys here.
  func string(named name: String) -> String? { nil }
  func strings(named name: String) -> [String]? { nil }
  func date(named name: String) -> Date? { nil }
}

/// The members of an object.
final class ObjectMembers: KeyedValues {
  private let members: [JSONMember]
  private let path: [any CodingKey]
  /// The index of each member by name. Nil for few members, which are compared one by one.
  private let indices: [String: Int]?

  init(_ members: [JSONMember], codingPath: [any CodingKey]) {
    self.members = members
    path = codingPath
    let comparedMax = 16
    indices =
      members.count > comparedMax
      ? Dictionary(members.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { $1 }) : nil
  }

  override var codingPath: [any CodingKey] { path }
  override var names: [String] { members.map(\.name) }
  override func contains(_ name: String) -> Bool { value(named: name) != nil }
  override func isNil(_ name: String) -> Bool { value(named: name)?.isNull ?? true }

  override func value(named name: String) -> JSONValue? {
    if let indices { return indices[name].map { members[$0].value } }
    return members.first { $0.name == name }?.value
  }
}

/// Decodes the elements of an array in order.
struct UnkeyedValueDecoder: UnkeyedDecodingContainer {
  private let elements: [JSONValue]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(_ elements: [JSONValue], codingPath: [any CodingKey]) {
    self.elements = elements
    self.codingPath = codingPath
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  /// Advances only past a null.
  mutating func decodeNil() -> Bool {
    guard !isAtEnd, elements[currentIndex].isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try next { try $0.bool() } }
  mutating func decode(_ type: String.Type) throws -> String { try next { try $0.string() } }
  mutating func decode(_ type: Double.Type) throws -> Double { try next { try $0.double() } }
  mutating func decode(_ type: Float.Type) throws -> Float { try next { try $0.float() } }
  // Serves the integers that the standard library does not decode by default.
  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try next { try $0.integer(type) }
  }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try next { try $0.integer(type) } }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next { try $0.integer(type) } }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next { try $0.decode(type) } }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next { $0 } }

  /// Decodes the next element, and moves on if that succeeds.
  private mutating func next<T>(_ decode: (ValueDecoder) throws -> T) throws -> T {
    guard !isAtEnd else {
      throw FieldCodingError(
        path: codingPath + [FieldKey(intValue: currentIndex)], reason: "the array has no more elements")
    }
    let value = try decode(ValueDecoder(elements[currentIndex], in: codingPath, at: .index(currentIndex)))
    currentIndex += 1
    return value
  }
}

/// Types that encode as a single string: Date as RFC 3339 in UTC with milliseconds, URL as its absolute string, UUID in lowercase, Data in
/// base64.
enum ScalarCoding {
  /// Returns the string of such a value; nil for a value of another type.
  static func string<T>(of value: T) throws(MalformedError) -> String? {
    // Comparing types is much cheaper than a cast that fails.
    if T.self == Date.self, let date = value as? Date { return RFC3339.text(try milliseconds(of: date)) }
    if T.self == URL.self, let url = value as? URL { return url.absoluteString }
    if T.self == UUID.self, let uuid = value as? UUID { return uuid.favoriteID }
    if T.self == Data.self, let data = value as? Data { return data.base64EncodedString() }
    return nil
  }

  static func isOneString<T>(_ type: T.Type) -> Bool {
    type == Date.self || type == URL.self || type == UUID.self || type == Data.self
  }

  /// Returns the value of such a type; nil for another type.
  static func value<T>(_ type: T.Type, from text: String) throws(MalformedError) -> T? {
    if type == Date.self { return Date(milliseconds: try RFC3339.parse(text)) as? T }
    if type == URL.self {
      guard let url = URL(string: text) else { throw MalformedError("a string that is not a URL") }
      return url as? T
    }
    if type == UUID.self {
      guard let uuid = UUID(uuidString: text) else { throw MalformedError("a string that is not a UUID") }
      return uuid as? T
    }
    if type == Data.self {
      guard let data = Data(base64Encoded: text) else { throw MalformedError("a string that is not base64") }
      return data as? T
    }
    return nil
  }

  /// Returns the last millisecond that is not after `date`.
  static func milliseconds(of date: Date) throws(MalformedError) -> Milliseconds {
    let estimate = (date.timeIntervalSince1970 * 1_000).rounded(.down)
    guard (Double(Limits.dateMillisecondsMin)...Double(Limits.dateMillisecondsMax)).contains(estimate) else {
      throw MalformedError("a date outside the years 0000 to 9999")
    }
    return date.milliseconds
  }
}
