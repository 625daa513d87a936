import Heartlog
import HeartlogLibraries

/// A JSON list of objects with an id: `[{"id":"r1","name":"Ribollita"}, …]`. All other members are fields.
///
/// It reads objects one after the other, too, as JSON Lines have them.
struct JSONFormat: FileFormat {
  let name = "json"
  let summary = "a JSON list of objects with an id, whose other members are fields"
  let fileExtensions = ["json"]
  let isWritten = true
  let certainty = FileCertainty.shape

  private let options: FileFormats.ReadingOptions

  /// Creates the format.
  ///
  /// - Parameter options: which member holds the id, and how dates without an offset are read.
  init(options: FileFormats.ReadingOptions = FileFormats.ReadingOptions()) { self.options = options }

  /// Recognizes a list whose first object has an id, and two such objects one after the other. A single object may
  /// be a whole file of any program. In the library of an app, the object has no members that its items do not have, or
  /// the date of an export.
  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let outline = JSONOutline(beginning)
    if outline == .emptyArray { return true }
    let document = JSONDocument(beginning)
    guard document.isArray(document.root) || document.records().records.count > 1 else { return false }
    let names = outline.recordNames
    let known = FieldName.all.union(library.fields.map(\.name)).union(library.idColumns)
    return (library.isOpaque || names.contains(FieldName.favoritedDate) || names.isSubset(of: known))
      && Self.hasID(ItemColumns(Array(names), of: library, options))
  }

  private static func hasID(_ columns: ItemColumns) -> Bool {
    columns.id != nil || !columns.idCandidates.isEmpty
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    var contents = FileContents()
    guard document.isArray(document.root) || document.isObject(document.root) else {
      if bytes.allSatisfy(\.isASCIIWhiteSpace) { return contents }
      throw .invalidAnswer("the file is not a JSON list of objects")
    }
    let (records, failure) = document.records()
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    contents.take(records, of: document) { (record) throws(LibraryError) in
      try library.checked(try item(record, of: library))
    }
    return contents
  }

  private func item(_ record: JSONValue, of library: any LibraryDescriptor) throws(LibraryError) -> FileItem {
    guard let members = record.object else { throw .invalidItem("\(record.kind) where an object should be") }
    let columns = ItemColumns(members.map(\.name), of: library, options)
    func text(_ index: Int) -> String? {
      switch members[index].value {
      case .string(let text): text
      case .int64(let number): String(number)
      default: nil
      }
    }
    guard let id = try columns.id(of: library, text: text) else {
      if let given = columns.id.map({ members[$0] }), !given.value.isNull {
        throw .invalidItem("the id \(given.name.quoted) is \(given.value.kind), not a text or an integer")
      }
      throw .invalidItem("an object without an id; name the member that holds it with --id-column")
    }
    var item = FileItem(id: id)
    for (index, member) in members.enumerated() {
      switch index {
      case columns.id: break
      case columns.date: item.favoritedDate = try date(member)
      default:
        guard member.name == FieldName.isFavorite else {
          try item.take([member])
          continue
        }
        item.isFavorite = try FileItem.flag(member.value) ?? true
      }
    }
    return item
  }

  private func date(_ member: JSONMember) throws(LibraryError) -> Milliseconds? {
    switch member.value {
    case .null: return nil
    case .string(let text): return text.isEmpty ? nil : try FileDate.time(text, utc: options.utc)
    default:
      guard let time = member.value.number.flatMap(FileDate.time) else {
        throw .invalidItem("\(member.name.quoted) is \(member.value.kind), not a date")
      }
      return time
    }
  }

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    let elements = try items.map { (item) throws(LibraryError) in
      try item.checkWritable(reserved: FieldName.all)
      let state = [JSONMember].present([
        FieldName.id: .string(item.id), FieldName.favoritedDate: item.jsonDate ?? .null,
        FieldName.isFavorite: item.jsonFlag,
      ])
      return JSONValue.object(state + (item.fields.filter { !$0.value.isNull }.jsonObject.object ?? []))
    }
    return jsonLines(elements)
  }
}

/// One JSON object per line, as `heartlog list --json` prints items. It holds everything in any library.
struct JSONLinesFormat: FileFormat {
  let name = "jsonl"
  let summary = "JSON Lines, one item per line, with everything that the store has"
  let fileExtensions = ["jsonl", "ndjson"]
  let isWritten = true

  /// The members of a line.
  private static let members: Set<String> = ["library", "id", "isFavorite", "favoritedDate", "fields"]

  /// Recognizes a first object with an id, and fields or a flag, and nothing that would be lost.
  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let names = JSONOutline(beginning).objectNames
    return names.contains("id") && (names.contains("fields") || names.contains("isFavorite"))
      && names.isSubset(of: Self.members)
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    contents.takeLines(of: bytes) { (line) throws(LibraryError) in try Self.item(line, of: library.name) }
    return contents
  }

  /// The object of a line contains the fields, and these contain values of the maximum depth.
  private static let depthMax = Limits.jsonDepthMax + 2

  private static func item(_ line: ArraySlice<UInt8>, of library: String) throws(LibraryError) -> FileItem {
    let json = try LibraryError.checking(JSONValue.parse(Array(line), depthMax: depthMax))
    guard let given = json.object else { throw .invalidItem("the line is \(json.kind), not a JSON object") }
    guard let id = json["id"]?.string else { throw .invalidItem("the item has no \"id\"") }
    if let unknown = given.first(where: { !members.contains($0.name) }) {
      throw .invalidItem(
        "the member \(unknown.name.quoted) is none of the format jsonl; try the format json")
    }
    if let named = json["library"]?.string, named != library {
      throw .invalidItem("the item belongs to \(named), not to \(library)")
    }
    var item = FileItem(id: id)
    try item.takeState(of: json)
    return item
  }

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    items.flatMap { item in
      let members = [JSONMember].present([
        "library": .string(library.name), "id": .string(item.id), "isFavorite": .bool(item.isFavorite),
        "favoritedDate": item.jsonDate ?? .null, "fields": item.fields.jsonObject,
      ])
      return Array("\(JSONValue.object(members).jsonText)\n".utf8)
    }
  }
}

/// The data that the apps themselves store: the JSON that they encode into their user defaults, and the
/// catalog of cities.
///
/// The descriptor of a library defines the form of its app's records. What the app does not know is written
/// into members that its decoder ignores: `favoritedDate`, and `fields` with the fields that have no member
/// of their own.
struct UserDefaultsFormat: FileFormat {
  let name = "user-defaults"
  let summary =
    "what the apps themselves keep: books with positions, settings, liked breed images, a catalog of cities"
  let fileExtensions = ["json"]
  let isWritten = true
  let certainty = FileCertainty.shape

  /// The libraries whose records a library without a descriptor may have.
  private let libraries: LibraryRegistry

  /// Creates the format.
  ///
  /// - Parameter libraries: the libraries whose records a library without a descriptor may have.
  init(libraries: LibraryRegistry = .standard) { self.libraries = libraries }

  func fits(_ library: any LibraryDescriptor) -> Bool {
    library.isOpaque || library.appRecords != nil
  }

  /// Recognizes only the records of the library's own app: a list of another library may look like any of them.
  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    guard let records = library.appRecords else { return false }
    let outline = JSONOutline(beginning)
    return outline == .emptyArray || records.matches(outline)
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    if let records = library.appRecords { return try records.read(document) }
    guard document.isArray(document.root) else {
      throw .invalidAnswer("the file is not a JSON list")
    }
    let outline = JSONOutline(Array(bytes.prefix(1 << 20)))
    if outline == .emptyArray { return FileContents() }
    guard let records = records({ $0.matches(outline) }) else {
      throw .invalidAnswer("the list has no form that an app writes")
    }
    return try records.read(document)
  }

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    for item in items { try item.checkWritable() }
    if let records = library.appRecords { return try records.write(items) }
    guard let first = items.first else { return jsonLines([]) }
    guard let records = records({ $0.matches(first) }) else {
      throw .invalidItem("the items of \(library.name) have no form that an app writes")
    }
    return try records.write(items)
  }

  /// The first records of a registered library that match.
  private func records(_ matches: (any AppRecords) -> Bool) -> (any AppRecords)? {
    libraries.descriptors.lazy.compactMap(\.appRecords).first(where: matches)
  }
}
