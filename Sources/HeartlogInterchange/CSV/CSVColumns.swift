import Heartlog
import HeartlogLibraries

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
      columns.append(Column(name: noteName, role: .field, kind: nil))
      titles.append(noteName)
    }
    return (columns, titles)
  }

  private static let noteName = "@note"

  /// Whether a title is a store's own field name without the @.
  private static func isShortened(_ title: String) -> Bool { title == "note" || title.hasPrefix("in/") }

  private static func fieldName(_ title: String, isLiteral: Bool) -> String {
    !isLiteral && isShortened(title) ? "@\(title)" : title
  }
}
