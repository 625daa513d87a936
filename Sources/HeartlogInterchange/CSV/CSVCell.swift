import Heartlog
import HeartlogLibraries

/// Conversion between the value of a field and a cell.
///
/// In a column of a known kind, a cell is of that kind. In any other column, a cell that parses as JSON (a
/// number, true, false, an object, an array, a text in quotation marks) is that value, and any other cell is
/// a text.
enum CSVCell {
  /// The value of a cell; `nil` if it has none.
  static func value(
    _ cell: CSVRows.Cell, in column: CSVColumns.Column, decimalComma: Bool
  ) throws(LibraryError) -> FieldValue? {
    if cell.isAbsent { return nil }
    switch column.kind {
    case .text, .url: return .string(cell.text)
    case .bool:
      let text = cell.text.withoutOuterWhiteSpace
      return text.isEmpty ? nil : .bool(try bool(text, column.name))
    case .number:
      let text = cell.text.withoutOuterWhiteSpace
      return text.isEmpty ? nil : try number(text, column.name, decimalComma: decimalComma)
    case .texts, nil: return try generic(cell.text, column.name)
    }
  }

  static func bool(_ text: String, _ name: String) throws(LibraryError) -> Bool {
    switch text.lowercased() {
    case "true", "yes", "1": return true
    case "false", "no", "0": return false
    default: throw .invalidItem("\(name) is neither true nor false: \(text.quoted)")
    }
  }

  private static func number(
    _ text: String, _ name: String, decimalComma: Bool
  ) throws(LibraryError) -> FieldValue {
    let digits = decimalComma && !text.contains(".") ? text.replacing(comma: ".") : text
    if let integer = Int64(digits) { return .int64(integer) }
    // Swift also parses "nan" and "0x1p4", which are not numbers here.
    let isDecimal = digits.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
    guard isDecimal, let number = Double(digits), let value = FieldValue.number(number) else {
      throw .invalidItem("\(name) is not a number: \(text.quoted)")
    }
    // As in JSON, an integer is refused if it cannot be represented exactly.
    let isInteger = !digits.utf8.contains { ".eE".utf8.contains($0) }
    guard !isInteger || value.jsonValue.jsonText == digits else {
      throw .invalidItem("\(name): \(FieldValue.refusal(ofInteger: digits.quoted).reason)")
    }
    return value
  }

  private static func generic(_ text: String, _ name: String) throws(LibraryError) -> FieldValue {
    guard let json = json(text) else { return .string(text) }
    do {
      return try FieldValue(json)
    } catch {
      throw .invalidItem("\(name): \(error.reason)")
    }
  }

  /// Parses a text as JSON; `nil` if it is not JSON, and for null, which is an ordinary word.
  private static func json(_ text: String) -> JSONValue? {
    // The first byte rules out most texts.
    guard let first = text.utf8.first, "\"[{-0123456789tf".utf8.contains(first),
      let json = try? JSONValue.parse(text)
    else { return nil }
    return json
  }

  /// Encodes a value as a cell.
  ///
  /// - Throws: `invalidItem` for a value that cannot be restored from a column of this kind.
  static func cell(_ value: FieldValue, in column: CSVColumns.Column) throws(LibraryError) -> CSVRows.Cell {
    switch (column.kind, value) {
    case (.text, .string(let text)), (.url, .string(let text)):
      return CSVRows.Cell(text: text, isQuoted: text.isEmpty)
    case (.number, .int64), (.number, .double), (.bool, .bool): break
    case (.texts, .string(let text)), (nil, .string(let text)):
      let isText = json(text) == nil
      return CSVRows.Cell(text: isText ? text : value.jsonValue.jsonText, isQuoted: text.isEmpty)
    case (.texts, _), (nil, _): break
    default: throw .invalidItem("\(value.jsonValue.kind) in the column \(column.name)")
    }
    return CSVRows.Cell(text: value.jsonValue.jsonText, isQuoted: false)
  }

  /// Appends a cell, in quotation marks if necessary.
  static func append(_ cell: CSVRows.Cell, to output: inout [UInt8]) {
    let needsQuotes = cell.isQuoted || cell.text.utf8.contains { ",;\t\"\r\n".utf8.contains($0) }
    guard needsQuotes else { return output += cell.text.utf8 }
    output.append(UInt8(ascii: "\""))
    for byte in cell.text.utf8 {
      if byte == UInt8(ascii: "\"") { output.append(byte) }
      output.append(byte)
    }
    output.append(UInt8(ascii: "\""))
  }
}

extension String {
  fileprivate func replacing(comma replacement: Character) -> String {
    String(map { $0 == "," ? replacement : $0 })
  }
}
