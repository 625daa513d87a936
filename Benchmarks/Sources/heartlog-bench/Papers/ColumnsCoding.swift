import Foundation

// A value of a Codable type in the columns of a row, as libraries for SQLite do it: a column for each key. Only what a row can hold is
// coded: texts, numbers and dates.

/// Decodes a value from the current row of a statement.
struct ColumnsDecoder: Decoder {
  let row: SQLiteStatement

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Columns<Key>(row: row))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NotInARow() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw NotInARow() }

  private struct Columns<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let row: SQLiteStatement

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { row.columns.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { row.columns.contains(key.stringValue) }
    func decodeNil(forKey key: Key) throws -> Bool { row.isNull(try column(key)) }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { row.integer(try column(key)) != 0 }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { row.text(try column(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { row.double(try column(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { Float(row.double(try column(key))) }

    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
      guard let value = T(exactly: row.integer(try column(key))) else { throw NotInARow() }
      return value
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
      let date = Date(timeIntervalSince1970: row.double(try column(key)))
      guard type == Date.self, let date = date as? T else { throw NotInARow() }
      return date
    }

    private func column(_ key: Key) throws -> Int32 {
      guard let column = row.columns.firstIndex(of: key.stringValue) else { throw NotInARow() }
      return Int32(column)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { throw NotInARow() }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw NotInARow() }
    func superDecoder() throws -> any Decoder { throw NotInARow() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw NotInARow() }
  }
}

/// Encodes a value into the parameters of a statement. Keys without a parameter are left out.
struct ColumnsEncoder: Encoder {
  let statement: SQLiteStatement
  /// The keys of the parameters.
  let names: [String]
  /// The parameter of the first key.
  let parameter: Int32

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Parameters<Key>(encoder: self))
  }

  // These cannot throw, and no paper asks for them.
  func unkeyedContainer() -> any UnkeyedEncodingContainer { preconditionFailure("an array in a row") }
  func singleValueContainer() -> any SingleValueEncodingContainer { preconditionFailure("a value for a row") }

  private struct Parameters<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ColumnsEncoder

    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) {}
    func encode(_ value: Bool, forKey key: Key) throws { try encode(value ? 1 : 0, forKey: key) }
    func encode(_ value: Float, forKey key: Key) { encode(Double(value), forKey: key) }

    func encode(_ value: String, forKey key: Key) {
      parameter(key).map { encoder.statement.bind(value, at: $0) }
    }

    func encode(_ value: Double, forKey key: Key) {
      parameter(key).map { encoder.statement.bind(value, at: $0) }
    }

    func encode(_ value: some FixedWidthInteger & Encodable, forKey key: Key) throws {
      guard let integer = Int64(exactly: value) else { throw NotInARow() }
      parameter(key).map { encoder.statement.bind(integer, at: $0) }
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
      guard T.self == Date.self, let date = value as? Date else { throw NotInARow() }
      encode(date.timeIntervalSince1970, forKey: key)
    }

    private func parameter(_ key: Key) -> Int32? {
      encoder.names.firstIndex(of: key.stringValue).map { encoder.parameter + Int32($0) }
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { preconditionFailure("an object in a column") }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      preconditionFailure("an array in a column")
    }
    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { encoder }
  }
}

/// What no column holds.
struct NotInARow: Error {}
