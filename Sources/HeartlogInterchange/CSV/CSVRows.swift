import Heartlog
import HeartlogLibraries

/// The rows of a CSV file (RFC 4180) in order.
///
/// Rows end with CRLF, LF or CR. A cell in quotation marks may contain these and doubled quotation marks.
struct CSVRows {
  /// The text of a cell, without its quotation marks.
  struct Cell {
    var text: String
    /// Whether the cell is in quotation marks: if it is empty, it is then an empty text, and otherwise no
    /// value.
    var isQuoted: Bool

    var isAbsent: Bool { text.isEmpty && !isQuoted }
  }

  enum Row {
    case cells([Cell])
    case malformed(String)
  }

  private let bytes: [UInt8]
  let separator: UInt8
  private var offset: Int
  private var line = 1
  private var unclosedCells = 0

  /// The most quotation marks that are never closed: for each, the rest of the file is searched.
  private static let unclosedCellsMax = 16

  private static let quote = UInt8(ascii: "\"")
  private static let lineFeed: UInt8 = 0x0A
  private static let carriageReturn: UInt8 = 0x0D

  /// - Parameter bytes: a file, or its beginning.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    offset = 0
    // In Excel's own format, the first line defines the separator.
    if bytes.count > 4, bytes.starts(with: "sep=".utf8) {
      separator = bytes[4]
      skipLine()
    } else {
      separator = Self.separator(of: bytes)
    }
  }

  /// The most frequent of comma, semicolon and tab in the first line, outside of quotation marks.
  private static func separator(of bytes: [UInt8]) -> UInt8 {
    let separators = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
    var counts = [0, 0, 0]
    var isQuoted = false
    for byte in bytes {
      if byte == quote { isQuoted.toggle() }
      if isQuoted { continue }
      if byte == lineFeed || byte == carriageReturn { break }
      if let index = separators.firstIndex(of: byte) { counts[index] += 1 }
    }
    let most = counts.max() ?? 0
    return separators[counts.firstIndex(of: most) ?? 0]
  }

  /// The next row that is not blank, with the line at which it begins; `nil` at the end.
  mutating func next() -> (line: Int, row: Row)? {
    while offset < bytes.count {
      let start = line
      let row = row()
      if case .cells(let cells) = row, cells.allSatisfy(\.isAbsent) { continue }
      return (start, row)
    }
    return nil
  }

  private mutating func row() -> Row {
    let start = (offset, line)
    var cells: [Cell] = []
    do throws(MalformedError) {
      repeat {
        if !cells.isEmpty { offset += 1 }
        let isQuoted = offset < bytes.count && bytes[offset] == Self.quote
        cells.append(isQuoted ? try quotedCell() : try plainCell())
      } while offset < bytes.count && bytes[offset] == separator
    } catch {
      // Continue with the next line: its cells may be sound.
      (offset, line) = start
      skipLine()
      return .malformed(error.reason)
    }
    skipLineEnd()
    return .cells(cells)
  }

  /// Reads up to the next separator or the end of the line.
  private mutating func plainCell() throws(MalformedError) -> Cell {
    let start = offset
    while offset < bytes.count, !isAtEndOfCell { offset += 1 }
    return Cell(text: try text(bytes[start..<offset]), isQuoted: false)
  }

  private var isAtEndOfCell: Bool {
    let byte = bytes[offset]
    return byte == separator || byte == Self.lineFeed || byte == Self.carriageReturn
  }

  private mutating func quotedCell() throws(MalformedError) -> Cell {
    guard unclosedCells < Self.unclosedCellsMax else {
      throw MalformedError("a quotation mark, after \(unclosedCells) that are never closed")
    }
    offset += 1
    var content: [UInt8] = []
    while let end = bytes[offset...].firstIndex(of: Self.quote) {
      content += bytes[offset..<end]
      offset = end + 1
      guard offset < bytes.count, bytes[offset] == Self.quote else {
        countLines(of: content)
        guard offset >= bytes.count || isAtEndOfCell else {
          throw MalformedError(
            "text after a closing quotation mark; double the quotation marks inside a cell")
        }
        return Cell(text: try text(content[...]), isQuoted: true)
      }
      content.append(Self.quote)
      offset += 1
    }
    unclosedCells += 1
    throw MalformedError("a quotation mark that is never closed")
  }

  private func text(_ bytes: ArraySlice<UInt8>) throws(MalformedError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw MalformedError("text that is not UTF-8")
    }
    return text
  }

  private mutating func countLines(of content: [UInt8]) {
    var last: UInt8 = 0
    for byte in content {
      if byte == Self.carriageReturn || (byte == Self.lineFeed && last != Self.carriageReturn) { line += 1 }
      last = byte
    }
  }

  private mutating func skipLine() {
    while offset < bytes.count, bytes[offset] != Self.lineFeed, bytes[offset] != Self.carriageReturn {
      offset += 1
    }
    skipLineEnd()
  }

  private mutating func skipLineEnd() {
    guard offset < bytes.count else { return }
    let isPair =
      bytes[offset] == Self.carriageReturn && offset + 1 < bytes.count && bytes[offset + 1] == Self.lineFeed
    offset += isPair ? 2 : 1
    line += 1
  }
}

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
    if let text = excelText(cell.text) { return text.isEmpty ? nil : .string(text) }
    let cell = CSVRows.Cell(text: unmarked(cell.text), isQuoted: cell.isQuoted)
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
    let digits = decimalComma && !text.contains(".") ? text.replacing(",", with: ".") : text
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
    return try LibraryError.checking(FieldValue(json), in: "\(name): ")
  }

  /// Parses a text as JSON; `nil` if it is not JSON, and for null, which is an ordinary word.
  private static func json(_ text: String) -> JSONValue? {
    // The first byte rules out most texts.
    guard let first = text.utf8.first, "\"[{-0123456789tf".utf8.contains(first) else { return nil }
    return try? JSONValue.parse(text)
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

  // MARK: Formulas

  /// What a spreadsheet takes for the beginning of a formula.
  private static let formulaStarts = "=+-@\t".utf8

  /// Whether a text has apostrophes in front of what a spreadsheet takes for a formula.
  private static func isMarked(_ text: String) -> Bool {
    guard text.utf8.first == UInt8(ascii: "'"),
      let first = text.utf8.first(where: { $0 != UInt8(ascii: "'") })
    else { return false }
    return formulaStarts.contains(first)
  }

  /// The text in a cell such as `="0439023483"`, which keeps spreadsheets from taking it for a number.
  private static func excelText(_ text: String) -> String? {
    guard text.hasPrefix("=\""), text.hasSuffix("\""), text.utf8.count > 2 else { return nil }
    let inner = text.dropFirst(2).dropLast()
    return inner.contains("\"") ? nil : String(inner)
  }

  /// A text as a cell holds it: with an apostrophe in front of a formula, if it is wanted, and of what reading would
  /// change.
  static func marked(_ text: String, isForSpreadsheets: Bool) -> String {
    let startsFormula = text.utf8.first.map(formulaStarts.contains) ?? false
    let needsMark = isForSpreadsheets && startsFormula || isMarked(text) || excelText(text) != nil
    return needsMark ? "'\(text)" : text
  }

  /// The text of a cell without the apostrophe that keeps spreadsheets from taking it for a formula.
  static func unmarked(_ text: String) -> String { isMarked(text) ? String(text.dropFirst()) : text }

  /// The text in a cell, whatever keeps spreadsheets from changing it.
  static func plain(_ text: String) -> String { excelText(text) ?? unmarked(text) }

  // MARK: Writing

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
