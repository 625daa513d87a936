import Heartlog
import HeartlogLibraries

/// How the value of a field stands in a cell.
///
/// In a column whose kind is known a cell is what the kind says. In any other, a cell that reads as JSON (a number, true, false, an object,
/// an array, a text in quotation marks) is that, and every other one is a text as it stands.
enum CSVCell {
  /// What a cell says; nil for one that says nothing.
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
    // What Swift reads beside decimal numbers, such as "nan" and "0x1p4", is none here.
    let isDecimal = digits.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
    guard isDecimal, let number = Double(digits), let value = FieldValue.number(number) else {
      throw .invalidItem("\(name) is not a number: \(text.quoted)")
    }
    // As in JSON: an integer never becomes another one.
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

  /// What a text says as JSON; nil for one that says nothing that way, and for null, which is a word like others.
  private static func json(_ text: String) -> JSONValue? {
    // Most texts are told by their first byte.
    guard let first = text.utf8.first, "\"[{-0123456789tf".utf8.contains(first),
      let json = try? JSONValue.parse(text)
    else { return nil }
    return json
  }

  /// - Throws: `invalidItem` for a value that a column of that kind does not bring back.
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

  /// Appends a cell, in quotation marks where it needs them.
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
