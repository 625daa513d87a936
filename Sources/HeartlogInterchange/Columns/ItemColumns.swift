import Heartlog
import HeartlogLibraries

/// Which columns of a table, or members of a JSON object, are the id, the date, the tags and the folder of an item.
struct ItemColumns {
  /// The column that is the id, and no field; `nil` if there is none.
  let id: Int?
  /// Without such a column: those of which the first one that is not empty serves as the id. They are fields, too.
  let idCandidates: [Int]
  let date: Int?
  let tags: Int?
  let folder: Int?
  private let names: [String]

  /// Columns that identify an item, in the order in which they serve as the id. Only letters and digits count.
  private static let identifiers = [
    "arxiv", "arxivid", "eprint", "doi", "accession", "accessionnumber", "pmid", "identifier", "recordid",
    "bookid",
    "guid", "uuid", "key", "isbn13", "isbn",
  ]
  private static let addresses = ["url", "link", "href", "uri", "address"]
  private static let dates = ["favoriteddate", "favouriteddate", "favorited", "dateadded", "timeadded"]
  /// Dates of tables of bookmarks, where they are the time of bookmarking.
  private static let bookmarkDates = ["created", "createdat", "timestamp", "added", "addedat", "savedat"]
  private static let tagNames = ["tags", "tag", "labels", "bookshelves"]
  private static let folders = ["folder", "folders"]

  /// - Parameters:
  ///   - names: the names of the columns.
  ///   - library: the library that the items belong to.
  ///   - options: the name of the column that is the id, if it is known.
  init(_ names: [String], of library: any LibraryDescriptor, _ options: FileFormats.ReadingOptions) {
    self.names = names
    let lowered = names.map { $0.lowercased() }
    let keys = lowered.map(Self.key)
    func first(_ wanted: [String]) -> Int? {
      for name in wanted { if let index = keys.firstIndex(of: name) { return index } }
      return nil
    }
    if let named = options.idColumn {
      id = lowered.firstIndex(of: named.lowercased()) ?? keys.firstIndex(of: Self.key(named.lowercased()))
      idCandidates = []
    } else {
      id = lowered.firstIndex(of: FieldName.id) ?? lowered.firstIndex(where: library.idColumns.contains)
      idCandidates = (Self.identifiers + Self.addresses).compactMap { keys.firstIndex(of: $0) }
    }
    let isBookmarks = first(Self.addresses) != nil
    date = first(Self.dates) ?? (isBookmarks ? first(Self.bookmarkDates) : nil)
    // A file of this program has the date by its name, and tags and folders are fields of its items.
    let isOwn = keys.contains("favoriteddate")
    tags = isOwn || library.field("tags") != nil ? nil : first(Self.tagNames)
    folder = isOwn || !isBookmarks || library.field("folder") != nil ? nil : first(Self.folders)
  }

  private static func key(_ name: String) -> String { name.filter { $0.isLetter || $0.isNumber } }

  /// The id of a record in the spelling of its library; `nil` if it has none.
  ///
  /// - Parameter text: the text of a column; `nil` if it has none.
  func id(
    of library: any LibraryDescriptor, text: (Int) -> String?
  ) throws(LibraryError) -> String? {
    if let id { return text(id) }
    if library.traits.contains(.publications) { return paperID(text) }
    for index in idCandidates {
      guard let text = text(index)?.withoutOuterWhiteSpace, !text.isEmpty else { continue }
      guard Self.addresses.contains(key(index)) else { return text }
      if let item = try library.item(at: text, title: "") { return item.id }
    }
    return nil
  }

  private func key(_ index: Int) -> String { Self.key(names[index].lowercased()) }

  /// The first identifier of arXiv, else the first DOI, else the first text.
  private func paperID(_ text: (Int) -> String?) -> String? {
    let texts = idCandidates.compactMap { index in
      text(index).map(\.withoutOuterWhiteSpace).flatMap { $0.isEmpty ? nil : (key: key(index), text: $0) }
    }
    let arXiv = texts.lazy.compactMap { key, text in
      ArXivIdentifier.first(in: text)
        ?? (["arxiv", "arxivid", "eprint"].contains(key)
          ? ArXivIdentifier(eprint: text, primaryClass: nil) : nil)
    }.first
    return arXiv?.text ?? texts.lazy.compactMap { PaperReference.doi($0.text) }.first.map {
      "doi:\($0.lowercased())"
    }
      ?? texts.first?.text
  }

  /// The field that a column is. An alias counts only in a table without a column of the field's own name.
  func fieldName(_ index: Int, of library: any LibraryDescriptor) -> String {
    let lowered = names[index].lowercased()
    if let field = library.columnAliases[lowered],
      !names.contains(where: { $0.lowercased() == field.lowercased() })
    {
      return field
    }
    return library.fields.first { $0.name.lowercased() == lowered }?.name
      ?? names[index]
  }

  /// The tags in a cell: a JSON list, or texts between vertical bars, commas or semicolons.
  static func tags(_ text: String) -> [String] {
    if text.hasPrefix("["), let list = (try? JSONValue.parse(text))?.array {
      return unique(list.compactMap(\.string))
    }
    let separator = ["|", ";", ","].first { text.contains($0) } ?? ","
    return unique(text.split(separator: separator).map(\.withoutOuterWhiteSpace))
  }

  private static func unique(_ tags: [String]) -> [String] {
    var seen: Set<[UInt8]> = []
    return tags.filter { !$0.isEmpty && seen.insert(Array($0.utf8)).inserted }
  }
}

/// The collections that the folders and tags of a file become. Each has the order of the file.
struct FileCollections {
  private var ids: [String: [[UInt8]]] = [:]
  private var seen: [String: Set<[UInt8]>] = [:]
  private var unusable: [(line: Int, name: String)] = []

  /// Adds the item of a line to collections, at their ends.
  mutating func insert(_ id: String, into names: [String], line: Int) {
    let id = Array(id.utf8)
    for name in names {
      if (try? NameRules.checkFieldName(CollectionField.name(of: name))) == nil {
        unusable.append((line, name))
      } else if seen[name, default: []].insert(id).inserted {
        ids[name, default: []].append(id)
      }
    }
  }

  /// Adds the positions in the collections to the items of a file, and a remark on each name that a collection cannot
  /// have.
  func apply(to contents: inout FileContents) {
    for (line, name) in unusable {
      contents.remark(line: line, "a collection cannot have the name \(name.quoted); it was left out")
    }
    guard !ids.isEmpty else { return }
    var fields: [[UInt8]: [Field]] = [:]
    for (name, ids) in ids {
      for (id, key) in zip(ids, OrderKey.spread(ids.count)) {
        fields[id, default: []].append(Field(name: CollectionField.name(of: name), value: .string(key.text)))
      }
    }
    contents.changeItems { item in
      for field in fields[Array(item.id.utf8)] ?? [] { item.set(field.name, field.value) }
    }
  }
}
