import Heartlog

/// Lists of items of the Internet Archive, as its site and its APIs send them.
///
/// The format reads a plain list of identifiers, the favorites of a user (`members` of
/// `https://archive.org/metadata/fav-USER`), the answer to a search (`response.docs`, or `items` of the scrape
/// API), and the answer for one item (`metadata`). It writes `members`, with the members that the site uses,
/// `dateAdded`, and all `fields` of the item.
///
/// Sources: https://archive.org/developers/md-record.html,
/// https://archive.org/help/aboutsearch.htm
public struct ArchiveJSONFormat: FileFormat {
  public let name = "archive-json"
  public let summary = "identifiers, favorites, searches and items as archive.org sends them"
  public let fileExtensions = ["json"]
  public let isWritten = true
  /// `shape`: a list of strings may be anything.
  public let certainty = FileCertainty.shape

  /// Creates the format, which has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    switch JSONOutline(beginning) {
    case .object(let names):
      // The metadata of an item may come after the long list of its files.
      !names.isDisjoint(with: ["members", "response", "responseHeader", "metadata", "items"])
        || names.isSuperset(of: ["created", "dir"])
    case .objects(let names): names.contains("identifier")
    case .strings: true
    case .emptyArray, .other: false
    }
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    var contents = FileContents()
    contents.take(try Self.records(document, &contents), of: document) { (record) throws(LibraryError) in
      try library.checked(try Self.item(record))
    }
    return contents
  }

  private static func records(
    _ document: JSONDocument, _ contents: inout FileContents
  ) throws(LibraryError) -> [JSONDocument.Node] {
    let list: JSONDocument.Node
    if document.isArray(document.root) {
      list = document.root
    } else {
      let (members, failure) = document.members(of: document.root)
      if let failure { contents.refuse(line: failure.line, failure.reason) }
      func member(_ name: String) -> JSONDocument.Node? { members.first { $0.name == name }?.value }
      // The favorites of a user are also an item, but have members.
      guard let found = member("members") ?? document.node("response", "docs") ?? member("items") else {
        guard let metadata = member("metadata") else {
          if let error = member("error") {
            throw .invalidAnswer("archive.org answers: \(try document.value(error).jsonText.prefix(200))")
          }
          throw .invalidAnswer(
            failure?.reason
              ?? "the JSON has no members, response.docs, items or metadata, as answers of archive.org have")
        }
        return [metadata]
      }
      list = found
    }
    guard document.isArray(list) else { throw .invalidAnswer("the items of the answer are not a list") }
    let (elements, failure) = document.elements(of: list)
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    return elements
  }

  private static func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    if let identifier = record.string { return FileItem(id: identifier) }
    guard record.object != nil else { throw .invalidItem("\(record.kind) where an item should be") }
    guard record["fields"] != nil else {
      return try FileItem(told: try Archive(document: record))
    }
    var item = FileItem(id: record["identifier"]?.string ?? "")
    item.favoritedDate = try FileItem.date(record["dateAdded"], named: "dateAdded")
    item.isFavorite = try FileItem.flag(record[FieldName.isFavorite]) ?? true
    try item.takeFields(record["fields"])
    return item
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    var members: [[UInt8]] = []
    for item in items {
      try item.checkWritable()
      var json = JSONWriter()
      json.beginObject()
      json.member("identifier", item.id)
      for name in ["mediatype", "title"] {
        if let value = item[name] { json.member(name, value) }
      }
      if let date = item.favoritedDate { json.member("dateAdded", RFC3339.text(date)) }
      if !item.isFavorite { json.member(FieldName.isFavorite, false) }
      json.member("fields", item.fields)
      json.endObject()
      members.append(json.bytes)
    }
    return jsonLines(members, opening: "{\"members\":[", closing: "]}")
  }
}
