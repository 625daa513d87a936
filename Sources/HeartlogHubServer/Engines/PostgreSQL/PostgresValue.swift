import Heartlog

/// A parameter or a column in the binary format of the protocol ("binary representation" in PostgreSQL's documentation of libpq).
struct PostgresValue {
  /// `nil` for null.
  let bytes: [UInt8]?

  static let null = PostgresValue(bytes: nil)

  static func uuid(_ bytes: [UInt8]) -> PostgresValue { PostgresValue(bytes: bytes) }
  static func bytes(_ bytes: [UInt8]) -> PostgresValue { PostgresValue(bytes: bytes) }
  static func text(_ text: String) -> PostgresValue { PostgresValue(bytes: Array(text.utf8)) }
  static func bool(_ value: Bool) -> PostgresValue { PostgresValue(bytes: [value ? 1 : 0]) }
  static func int32(_ number: Int32) -> PostgresValue { PostgresValue(bytes: bigEndian(number)) }
  static func int64(_ number: Int64) -> PostgresValue { PostgresValue(bytes: bigEndian(number)) }

  /// The object ids of types that are elements of arrays.
  enum ElementType: UInt32 {
    case bytes = 17
    case text = 25
    case uuid = 2950
  }

  /// An array of one dimension without nulls.
  static func array(_ type: ElementType, _ elements: [[UInt8]]) -> PostgresValue {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20 + elements.reduce(0) { $0 + $1.count + 4 })
    bytes += bigEndian(Int32(elements.isEmpty ? 0 : 1))
    bytes += bigEndian(Int32(0))
    bytes += bigEndian(type.rawValue)
    if !elements.isEmpty {
      bytes += bigEndian(Int32(elements.count))
      bytes += bigEndian(Int32(1))
    }
    for element in elements {
      bytes += bigEndian(Int32(element.count))
      bytes += element
    }
    return PostgresValue(bytes: bytes)
  }

  private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}

/// What a statement returned: rows of columns in binary format.
struct PostgresRows {
  private let rows: [[[UInt8]?]]

  init(_ rows: [[[UInt8]?]]) { self.rows = rows }

  var count: Int { rows.count }
  var indices: Range<Int> { rows.indices }

  func isNull(_ row: Int, _ column: Int) -> Bool { rows[row][column] == nil }

  func bytes(_ row: Int, _ column: Int) throws(HeartlogError) -> [UInt8] {
    guard let bytes = rows[row][column] else {
      throw HeartlogError(.inputOutput, "the database returned nothing for column \(column)")
    }
    return bytes
  }

  func text(_ row: Int, _ column: Int) throws(HeartlogError) -> String {
    String(decoding: try bytes(row, column), as: UTF8.self)
  }

  /// A number of four or eight bytes.
  func integer(_ row: Int, _ column: Int) throws(HeartlogError) -> Int64 {
    let bytes = try bytes(row, column)
    guard bytes.count == 4 || bytes.count == 8 else {
      throw HeartlogError(.inputOutput, "the database returned a number of \(bytes.count) bytes")
    }
    let word = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return bytes.count == 4 ? Int64(Int32(truncatingIfNeeded: word)) : Int64(bitPattern: word)
  }
}
