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
  private let options: FileFormats.ReadingOptions
  private let isForSpreadsheets: Bool

  /// Creates the format.
  ///
  /// - Parameters:
  ///   - libraries: the libraries whose names for an id column are recognized in any library.
  ///   - options: which column is the id, and how dates without an offset are read.
  ///   - isForSpreadsheets: whether texts that a spreadsheet takes for a formula are written with an apostrophe in
  ///     front of them. Reading removes it.
  public init(
    libraries: LibraryRegistry = .standard,
    options: FileFormats.ReadingOptions = FileFormats.ReadingOptions(),
    isForSpreadsheets: Bool = false
  ) {
    self.libraries = libraries
    self.options = options
    self.isForSpreadsheets = isForSpreadsheets
  }

  /// Recognizes a header with a column that can be the id, above a row of as many cells.
  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    var rows = CSVRows(beginning)
    guard case (_, .cells(let cells))? = rows.next() else { return false }
    if case (_, .cells(let row))? = rows.next(), row.count != cells.count, beginning.count < 65_536 {
      return false
    }
    return ([library] + libraries.descriptors).contains { CSVColumns.isHeader(cells, of: $0, options) }
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    var rows = CSVRows(bytes)
    var contents = FileContents()
    guard let header = rows.next() else { return contents }
    guard case .cells(let titles) = header.row else {
      throw .invalidAnswer("the first line names no columns")
    }
    var remarks: [String] = []
    let columns = try CSVColumns(header: titles, of: library, options) { remarks.append($0) }
    for remark in remarks { contents.refuse(line: header.line, remark) }
    // If the separator is not a comma, a comma may be the decimal separator.
    let decimalComma = rows.separator != UInt8(ascii: ",")
    var collections = FileCollections()
    while let (line, row) = rows.next() {
      var unusable: [String] = []
      contents.take(line: line) { () throws(LibraryError) in
        switch row {
        case .malformed(let reason): throw .invalidItem(reason)
        case .cells(let cells):
          let (read, folders) = try item(cells, columns, of: library, decimalComma: decimalComma)
          let item = try library.checked(read)
          unusable = folders.filter { !collections.insert(item.id, into: $0) }
          return item
        }
      }
      for name in unusable {
        contents.remark(line: line, "a collection cannot have the name \(name.quoted); it was left out")
      }
    }
    collections.apply(to: &contents)
    return contents
  }

  private func item(
    _ cells: [CSVRows.Cell], _ table: CSVColumns, of library: any LibraryDescriptor, decimalComma: Bool
  ) throws(LibraryError) -> (item: FileItem, folders: [String]) {
    let columns = table.columns
    guard cells.count == columns.count else {
      throw .invalidItem("the row has \(cells.count) cells, but the header has \(columns.count)")
    }
    var item = FileItem(id: try table.id(of: cells, in: library))
    var folders: [String] = []
    for (cell, column) in zip(cells, columns) {
      let text =
        column.role == .field || column.role == .id ? "" : CSVCell.plain(cell.text).withoutOuterWhiteSpace
      switch column.role {
      case .id: break
      case .isFavorite where !text.isEmpty: item.isFavorite = try CSVCell.bool(text, column.name)
      case .favoritedDate where !text.isEmpty: item.favoritedDate = try FileDate.time(text, utc: options.utc)
      case .tags where !text.isEmpty: try item.setTags(ItemColumns.tags(text))
      case .folder: folders = text.split(separator: "/").map(\.withoutOuterWhiteSpace).filter { !$0.isEmpty }
      case .field:
        if let value = try CSVCell.value(cell, in: column, decimalComma: decimalComma) {
          item.fields.append(Field(name: column.name, value: value))
        }
      case .leftOut where !cell.text.isEmpty && column.name.isEmpty:
        throw .invalidItem("\(cell.text.quoted) in a column without a name")
      default: break
      }
    }
    return (item, folders)
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    let (columns, titles) = CSVColumns.header(for: items, of: library)
    func text(_ text: String, isQuoted: Bool = false) -> CSVRows.Cell {
      CSVRows.Cell(text: CSVCell.marked(text, isForSpreadsheets: isForSpreadsheets), isQuoted: isQuoted)
    }
    let header = titles.map { text($0) }
    // A header ignores case, so two fields whose names differ only in case cannot both have a column.
    let readBack = try CSVColumns(header: header, of: library, .init(), refuse: { _ in }).columns
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
        case .id: cell = text(item.id)
        case .isFavorite: cell.text = item.isFavorite ? "true" : "false"
        case .favoritedDate: cell.text = item.favoritedDate.map(RFC3339.text) ?? ""
        case .field:
          if let value = values[Array(column.name.utf8)], !value.isNull {
            do {
              cell = try CSVCell.cell(value, in: column)
            } catch {
              throw .invalidItem("\(item.id): \(error)")
            }
            // A number is no formula.
            if value.number == nil { cell = text(cell.text, isQuoted: cell.isQuoted) }
          }
        case .tags, .folder, .leftOut: break
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
