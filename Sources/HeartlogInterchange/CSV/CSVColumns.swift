import Heartlog
import HeartlogLibraries

/// What the columns of a file of separated values stand for.
struct CSVColumns {
  struct Column {
    /// Of the field, as the store knows it; for the columns of an item itself what the header says.
    let name: String
    let role: Role
    let kind: LibraryField.Kind?
  }

  enum Role {
    case id
    case isFavorite
    case favoritedDate
    case field
    /// Named by nothing, or twice.
    case leftOut
  }

  let columns: [Column]

  private static let dateNames: Set<String> = ["dateadded", "favouriteddate", "favorited", "favorited_date"]

  /// The columns that a header names, in any order and case.
  ///
  /// - Throws: `invalidAnswer` for a header without an id.
  init(header cells: [CSVRows.Cell], of library: any LibraryDescriptor, refuse: (String) -> Void)
    throws(LibraryError)
  {
    let names = cells.map { $0.text.withoutOuterWhiteSpace }
    let lowered = names.map { $0.lowercased() }
    // With one name of the store's own, all of them are.
    let isLiteral = names.contains { $0.hasPrefix("@") }
    let idColumn =
      lowered.firstIndex(of: "id")
      ?? lowered.firstIndex(where: library.idColumns.contains)
    guard let idColumn else {
      throw .invalidAnswer(
        "a first line without a column id, but with \(names.joined(separator: ", ").quoted)")
    }
    let dateColumn =
      lowered.firstIndex(of: "favoriteddate") ?? lowered.firstIndex(where: Self.dateNames.contains)
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
      switch lowered[index] {
      case _ where index == idColumn: columns.append(column(FieldName.id, .id))
      case _ where index == dateColumn: columns.append(column(FieldName.favoritedDate, .favoritedDate))
      case "isfavorite", "isfavourite": columns.append(column(FieldName.isFavorite, .isFavorite))
      case "": columns.append(Column(name: "", role: .leftOut, kind: nil))
      case let lowered:
        let alias = library.columnAliases[lowered]
        let knownName = library.fields.first { $0.name.lowercased() == lowered }?.name
        columns.append(column(alias ?? knownName ?? Self.fieldName(name, isLiteral: isLiteral), .field))
      }
    }
    self.columns = columns
  }

  /// Whether a first line can be the header of such a file.
  ///
  /// - Parameter idColumns: the names of columns for an id, beside `id`.
  static func isHeader(_ cells: [CSVRows.Cell], idColumns: Set<String>) -> Bool {
    let names = cells.map { $0.text.withoutOuterWhiteSpace.lowercased() }
    return names.count > 1 && names.contains { $0 == FieldName.id || idColumns.contains($0) }
      && names.allSatisfy { name in !name.utf8.contains { $0 < 0x20 || "{}[]<>".utf8.contains($0) } }
  }

  // MARK: Writing

  /// What the columns of a file with these items are called, and what they hold: those of the library first, then all others by name.
  ///
  /// A spreadsheet takes a cell that begins with @ for a formula: the note and the collections go without it where no field of the item
  /// itself is called so.
  static func header(for items: [FileItem], of library: any LibraryDescriptor) -> (
    columns: [Column], titles: [String]
  ) {
    var names: Set<[UInt8]> = []
    for item in items { for field in item.fields { names.insert(Array(field.name.utf8)) } }
    var columns = [Column(name: FieldName.id, role: .id, kind: .text)]
    for field in library.fields {
      if names.remove(Array(field.name.utf8)) != nil || field.alwaysHasColumn {
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

  /// Whether a title without its @ stands for a field of the store's own.
  private static func isShortened(_ title: String) -> Bool { title == "note" || title.hasPrefix("in/") }

  private static func fieldName(_ title: String, isLiteral: Bool) -> String {
    !isLiteral && isShortened(title) ? "@\(title)" : title
  }
}
