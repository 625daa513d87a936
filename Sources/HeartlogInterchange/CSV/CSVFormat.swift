import Heartlog
import HeartlogLibraries

/// A table for spreadsheets: a header and one row for each item.
///
/// Source: RFC 4180. An empty cell is no value, and an empty cell in quotation marks is an empty text, as in
/// Python's `csv.QUOTE_NOTNULL` and PostgreSQL's `COPY`.
struct CSVFormat: FileFormat {
  let name = "csv"
  let summary = "a table for spreadsheets, one row per item"
  let fileExtensions = ["csv"]
  let isWritten = true

  let certainty = FileCertainty.shape

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
  init(
    libraries: LibraryRegistry = .standard,
    options: FileFormats.ReadingOptions = FileFormats.ReadingOptions(),
    isForSpreadsheets: Bool = false
  ) {
    self.libraries = libraries
    self.options = options
    self.isForSpreadsheets = isForSpreadsheets
  }

  /// Recognizes a header with a column that can be the id, above a row of as many cells.
  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    var rows = CSVRows(beginning)
    guard case (_, .cells(let cells))? = rows.next() else { return false }
    if case (_, .cells(let row))? = rows.next(), row.count != cells.count, beginning.count < 65_536 {
      return false
    }
    return ([library] + libraries.descriptors).contains { CSVColumns.isHeader(cells, of: $0, options) }
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
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
      contents.take(line: line) { () throws(LibraryError) in
        switch row {
        case .malformed(let reason): throw .invalidItem(reason)
        case .cells(let cells):
          let (read, folders) = try item(cells, columns, of: library, decimalComma: decimalComma)
          let item = try library.checked(read)
          collections.insert(item.id, into: folders, line: line)
          return item
        }
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

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
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

/// The meaning of the columns of a CSV file.
struct CSVColumns {
  struct Column {
    /// The name of the field in the store; for the columns of the item itself, the standard column name.
    let name: String
    let role: Role
    let kind: LibraryField.Kind?
  }

  enum Role {
    case id
    case isFavorite
    case favoritedDate
    case field
    /// Tags of another program.
    case tags
    /// The path of a folder of another program, with slashes.
    case folder
    /// Without a name, or with the name of an earlier column.
    case leftOut
  }

  let columns: [Column]
  private let items: ItemColumns

  /// Interprets a header. Columns may be in any order, and their names in any case.
  ///
  /// - Parameters:
  ///   - cells: the cells of the first line.
  ///   - library: the library that the items belong to.
  ///   - options: which column is the id.
  ///   - refuse: called with a remark for each column that is left out because its name is repeated.
  /// - Throws: `invalidAnswer` if there is no id column.
  init(
    header cells: [CSVRows.Cell], of library: any LibraryDescriptor, _ options: FileFormats.ReadingOptions,
    refuse: (String) -> Void
  ) throws(LibraryError) {
    let names = cells.map { CSVCell.unmarked($0.text).withoutOuterWhiteSpace }
    items = ItemColumns(names, of: library, options)
    // If one name starts with @, no name was shortened.
    let isLiteral = names.contains { $0.hasPrefix("@") }
    guard items.id != nil || !items.idCandidates.isEmpty else {
      let listed = "the columns are \(names.map(\.quoted).joined(separator: ", "))"
      throw .invalidAnswer(
        options.idColumn.map { "the table has no column \($0.quoted); \(listed)" }
          ?? "the table has no column that can be the id; \(listed). Name one with --id-column")
    }
    var columns: [Column] = []
    var seen: Set<[UInt8]> = []
    for (index, name) in names.enumerated() {
      func column(_ name: String, _ role: Role) -> Column {
        guard seen.insert(Array(name.utf8)).inserted else {
          refuse("the column \(name) is there twice, and the second is left out")
          return Column(name: name, role: .leftOut, kind: nil)
        }
        return Column(name: name, role: role, kind: library.field(name)?.kind)
      }
      switch index {
      case items.id: columns.append(column(FieldName.id, .id))
      case items.date: columns.append(column(FieldName.favoritedDate, .favoritedDate))
      case items.tags: columns.append(column("tags", .tags))
      case items.folder: columns.append(column(name, .folder))
      case _ where name.isEmpty: columns.append(Column(name: "", role: .leftOut, kind: nil))
      case _ where ["isfavorite", "isfavourite"].contains(name.lowercased()):
        columns.append(column(FieldName.isFavorite, .isFavorite))
      default:
        let field = items.fieldName(index, of: library)
        columns.append(column(Self.fieldName(field, isLiteral: isLiteral), .field))
      }
    }
    self.columns = columns
  }

  /// The id in a row.
  ///
  /// - Throws: `invalidItem` if it has none.
  func id(of row: [CSVRows.Cell], in library: any LibraryDescriptor) throws(LibraryError) -> String {
    try items.id(of: library) { CSVCell.plain(row[$0].text) } ?? ""
  }

  /// Whether a first line can be the header of a CSV file of items.
  static func isHeader(
    _ cells: [CSVRows.Cell], of library: any LibraryDescriptor, _ options: FileFormats.ReadingOptions
  ) -> Bool {
    let names = cells.map { CSVCell.unmarked($0.text).withoutOuterWhiteSpace }
    let items = ItemColumns(names, of: library, options)
    return names.count > 1 && (items.id != nil || !items.idCandidates.isEmpty)
      && names.allSatisfy { name in !name.utf8.contains { $0 < 0x20 } }
      && !"{[<@%".contains(names[0].first ?? " ")
  }

  // MARK: Writing

  /// The columns for a file with these items, and their titles: first the library's own, then all others by
  /// name.
  ///
  /// A spreadsheet takes a cell that starts with @ for a formula. So the note and the collections are written
  /// without the @, unless a field of an item has that name.
  static func header(for items: [FileItem], of library: any LibraryDescriptor) -> (
    columns: [Column], titles: [String]
  ) {
    var names: Set<[UInt8]> = []
    for item in items { for field in item.fields { names.insert(Array(field.name.utf8)) } }
    // Beside a field that has the name of an alias, so that the two are told apart.
    let aliased = Set(
      names.compactMap { library.columnAliases[String(decoding: $0, as: UTF8.self).lowercased()] })
    var columns = [Column(name: FieldName.id, role: .id, kind: .text)]
    for field in library.fields {
      if names.remove(Array(field.name.utf8)) != nil || field.alwaysHasColumn || aliased.contains(field.name)
      {
        columns.append(Column(name: field.name, role: .field, kind: field.kind))
      }
    }
    columns.append(Column(name: FieldName.favoritedDate, role: .favoritedDate, kind: nil))
    if items.contains(where: { !$0.isFavorite }) {
      columns.append(Column(name: FieldName.isFavorite, role: .isFavorite, kind: nil))
    }
    let others = names.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    columns += others.map { Column(name: $0, role: .field, kind: nil) }

    let isLiteral = others.contains { name in
      isShortened(name) || (name.hasPrefix("@") && !isShortened(String(name.dropFirst())))
    }
    var titles = columns.map { column in
      isLiteral || !column.name.hasPrefix("@") ? column.name : String(column.name.dropFirst())
    }
    if isLiteral, !others.contains(where: { $0.hasPrefix("@") }) {
      columns.append(Column(name: FavoritesLibrary.noteField, role: .field, kind: nil))
      titles.append(FavoritesLibrary.noteField)
    }
    return (columns, titles)
  }

  /// Whether a title is a store's own field name without the @.
  private static func isShortened(_ title: String) -> Bool { title == "note" || title.hasPrefix("in/") }

  private static func fieldName(_ title: String, isLiteral: Bool) -> String {
    !isLiteral && isShortened(title) ? "@\(title)" : title
  }
}
