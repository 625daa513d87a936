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
    while true {
      let cell = offset < bytes.count && bytes[offset] == Self.quote ? quotedCell() : plainCell()
      guard case .success(let cell) = cell else {
        // Continue with the next line: its cells may be sound.
        (offset, line) = start
        skipLine()
        guard case .failure(let failure) = cell else { return .cells(cells) }
        return .malformed(failure.reason)
      }
      cells.append(cell)
      guard offset < bytes.count, bytes[offset] == separator else { break }
      offset += 1
    }
    skipLineEnd()
    return .cells(cells)
  }

  /// Reads up to the next separator or the end of the line.
  private mutating func plainCell() -> Result<Cell, MalformedError> {
    let start = offset
    while offset < bytes.count, !isAtEndOfCell { offset += 1 }
    return text(bytes[start..<offset]).map { Cell(text: $0, isQuoted: false) }
  }

  private var isAtEndOfCell: Bool {
    let byte = bytes[offset]
    return byte == separator || byte == Self.lineFeed || byte == Self.carriageReturn
  }

  private mutating func quotedCell() -> Result<Cell, MalformedError> {
    guard unclosedCells < Self.unclosedCellsMax else {
      return .failure(MalformedError("a quotation mark, after \(unclosedCells) that are never closed"))
    }
    offset += 1
    var content: [UInt8] = []
    while let end = bytes[offset...].firstIndex(of: Self.quote) {
      content += bytes[offset..<end]
      offset = end + 1
      guard offset < bytes.count, bytes[offset] == Self.quote else {
        countLines(of: content)
        guard offset >= bytes.count || isAtEndOfCell else {
          return .failure(
            MalformedError("text after a closing quotation mark; double the quotation marks inside a cell"))
        }
        return text(content[...]).map { Cell(text: $0, isQuoted: true) }
      }
      content.append(Self.quote)
      offset += 1
    }
    unclosedCells += 1
    return .failure(MalformedError("a quotation mark that is never closed"))
  }

  private func text(_ bytes: ArraySlice<UInt8>) -> Result<String, MalformedError> {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return .failure(MalformedError("text that is not UTF-8"))
    }
    return .success(text)
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
