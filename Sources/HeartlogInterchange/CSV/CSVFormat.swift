import Heartlog
import HeartlogLibraries

/// A table for spreadsheets: a header and one row for each item.
///
/// Source: RFC 4180. An empty cell is no value, and an empty cell in quotation marks is an empty text, as in
/// Python's `csv.QUOTE_NOTNULL` and PostgreSQL's `COPY`.
public struct CSVFormat: FileFormat {
  public let name = "csv"
  public let summary = "a table for spreadsheets, one row per item"
  public let fileExtensions = ["csv"]
  public let isWritten = true

  public let certainty = FileCertainty.shape

  /// The libraries whose names for an id column are recognized in any library.
  private let libraries: LibraryRegistry

  /// Creates the format.
  ///
  /// - Parameter libraries: the libraries whose names for an id column are recognized in any library.
  public init(libraries: LibraryRegistry = .standard) { self.libraries = libraries }

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    var rows = CSVRows(beginning)
    guard case (_, .cells(let cells))? = rows.next() else { return false }
    let idColumns = libraries.descriptors.reduce(into: library.idColumns) { $0.formUnion($1.idColumns) }
    return CSVColumns.isHeader(cells, idColumns: idColumns)
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      throw .invalidAnswer("text in UTF-16; save it as CSV in UTF-8")
    }
    var rows = CSVRows(bytes)
    var contents = FileContents()
    guard let header = rows.next() else { return contents }
    guard case .cells(let titles) = header.row else {
      throw .invalidAnswer("a first line that names no columns")
    }
    var remarks: [String] = []
    let columns = try CSVColumns(header: titles, of: library) { remarks.append($0) }.columns
    for remark in remarks { contents.refuse(line: header.line, remark) }
    // If the separator is not a comma, a comma may be the decimal separator.
    let decimalComma = rows.separator != UInt8(ascii: ",")
    while let (line, row) = rows.next() {
      contents.take(line: line) { () throws(LibraryError) in
        switch row {
        case .malformed(let reason): throw .invalidItem(reason)
        case .cells(let cells):
          return try library.checked(Self.item(cells, columns, decimalComma: decimalComma))
        }
      }
    }
    return contents
  }

  private static func item(
    _ cells: [CSVRows.Cell], _ columns: [CSVColumns.Column], decimalComma: Bool
  ) throws(LibraryError) -> FileItem {
    guard cells.count == columns.count else {
      throw .invalidItem("\(cells.count) cells, where the first line has \(columns.count)")
    }
    var item = FileItem(id: "")
    for (cell, column) in zip(cells, columns) {
      let text = column.role == .field || column.role == .id ? "" : cell.text.withoutOuterWhiteSpace
      switch column.role {
      case .id: item.id = cell.text
      case .isFavorite where !text.isEmpty: item.isFavorite = try CSVCell.bool(text, column.name)
      case .favoritedDate where !text.isEmpty: item.favoritedDate = try date(text)
      case .field:
        if let value = try CSVCell.value(cell, in: column, decimalComma: decimalComma) {
          item.fields.append(Field(name: column.name, value: value))
        }
      case .leftOut where !cell.text.isEmpty && column.name.isEmpty:
        throw .invalidItem("\(cell.text.quoted) in a column without a name")
      default: break
      }
    }
    return item
  }

  /// Parses a time of RFC 3339, or a day. A space may replace the T; a time without an offset is UTC.
  private static func date(_ text: String) throws(LibraryError) -> Milliseconds {
    do throws(MalformedError) {
      if text.utf8.count <= 10 { return try RFC3339.parseDay(text) }
      let time = text.split(separator: " ", maxSplits: 1).joined(separator: "T")
      let hasOffset = time.dropFirst(11).contains { "Zz+-".contains($0) }
      return try RFC3339.parse(hasOffset ? time : time + "Z")
    } catch {
      throw .invalidItem(error.reason)
    }
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    let (columns, titles) = CSVColumns.header(for: items, of: library)
    let header = titles.map { CSVRows.Cell(text: $0, isQuoted: false) }
    // A header ignores case, so two fields whose names differ only in case cannot both have a column.
    let readBack = try CSVColumns(header: header, of: library, refuse: { _ in }).columns
    for (column, back) in zip(columns, readBack)
    where column.role != back.role || !column.name.utf8.elementsEqual(back.name.utf8) {
      throw .invalidItem(
        "a field named \(column.name.quoted), which a table takes for something else")
    }
    var output: [UInt8] = []
    Self.append(header, to: &output)
    for item in items {
      try item.checkWritable(reserved: FieldName.all)
      var values: [[UInt8]: FieldValue] = [:]
      for field in item.fields { values[Array(field.name.utf8)] = field.value }
      var cells: [CSVRows.Cell] = []
      for column in columns {
        var cell = CSVRows.Cell(text: "", isQuoted: false)
        switch column.role {
        case .id: cell.text = item.id
        case .isFavorite: cell.text = item.isFavorite ? "true" : "false"
        case .favoritedDate: cell.text = item.favoritedDate.map(RFC3339.text) ?? ""
        case .field:
          if let value = values[Array(column.name.utf8)], !value.isNull {
            do {
              cell = try CSVCell.cell(value, in: column)
            } catch {
              throw .invalidItem("\(item.id): \(error)")
            }
          }
        case .leftOut: break
        }
        cells.append(cell)
      }
      Self.append(cells, to: &output)
    }
    return output
  }

  private static func append(_ cells: [CSVRows.Cell], to output: inout [UInt8]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      CSVCell.append(cell, to: &output)
    }
    output += "\r\n".utf8
  }
}
