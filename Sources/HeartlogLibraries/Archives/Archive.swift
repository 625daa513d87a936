import Heartlog

/// An item of the Internet Archive, such as an album, a show, a film or a book.
public struct Archive: FavoriteItem, Hashable {
  public static let library = "archives"

  /// The identifier as in addresses of archive.org; never empty in a favorite.
  public var identifier: String
  /// The title of the item; the first one if the answer had several.
  public var title: String?
  /// The title that the app stores; equal to `title` after parsing an answer.
  public var archiveTitle: String?
  /// The media type, such as "audio", "movies" or "texts"; "other" for one that the Internet Archive does not
  /// document.
  public var mediatype: String?
  /// The creators, one name each; a name may contain a comma.
  public var creators: [String]
  /// The publishers, one name each; a name may contain a comma.
  public var publishers: [String]
  /// The description; several are joined by line feeds.
  public var desc: String?
  /// The address of its image.
  public var iconUrlString: String?
  /// When it became a favorite; `nil` if it is not one.
  public var dateAdded: Date?

  public var id: String { identifier }

  /// Creates an archive. Nothing is checked here: `FavoriteArchives` refuses an empty identifier.
  public init(
    identifier: String, title: String? = nil, archiveTitle: String? = nil, mediatype: String? = nil,
    creators: [String] = [], publishers: [String] = [], desc: String? = nil, iconUrlString: String? = nil,
    dateAdded: Date? = nil
  ) {
    self.identifier = identifier
    self.title = title
    self.archiveTitle = archiveTitle
    self.mediatype = mediatype
    self.creators = creators
    self.publishers = publishers
    self.desc = desc
    self.iconUrlString = iconUrlString
    self.dateAdded = dateAdded
  }

  /// Creates an archive from a row of an app's own database, in which creators and publishers are joined. They
  /// stay one name each here; `FavoriteArchives.migrate(from:)` splits those that are certainly several.
  public init(
    identifier: String?, title: String?, archiveTitle: String?, mediatype: String?, creator: String?,
    publisher: String?, desc: String?, iconUrlString: String?, dateAdded: Date?
  ) {
    func names(_ joined: String?) -> [String] { joined.map { $0.isEmpty ? [] : [$0] } ?? [] }
    self.init(
      identifier: identifier ?? "", title: title, archiveTitle: archiveTitle, mediatype: mediatype,
      creators: names(creator), publishers: names(publisher), desc: desc, iconUrlString: iconUrlString,
      dateAdded: dateAdded)
  }

  /// The creators, joined for display; `nil` if there are none.
  public var creator: String? { creators.isEmpty ? nil : creators.joined(separator: ", ") }

  /// The publishers, joined for display; `nil` if there are none.
  public var publisher: String? { publishers.isEmpty ? nil : publishers.joined(separator: ", ") }

  /// The title in a row: `archiveTitle`, else `title`, else "Unknown".
  public var displayTitle: String { archiveTitle ?? title ?? "Unknown" }
  /// The creators in a row; `nil` if there are none.
  public var displayCreator: String? { creator }
  /// The URL of its image; `nil` if there is none, or it is not a URL.
  public var iconUrl: URL? { iconUrlString.flatMap { URL(string: $0) } }
}

/// A `Codable` form with a string for one creator and an array for several, as in the Internet Archive's own
/// documents.
extension Archive {
  private enum Key: String, CodingKey {
    case id, title, archiveTitle, mediatype, creators, publishers, desc, iconUrlString, favoritedDate
    // In the app's own JSON.
    case identifier, creator, publisher, dateAdded
  }

  /// Decodes an archive of the store, or a record of the app's own, whose joined creators and publishers stay
  /// one name each.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    identifier =
      try container.decodeIfPresent(String.self, forKey: .id)
      ?? container.decode(String.self, forKey: .identifier)
    title = try container.decodeIfPresent(String.self, forKey: .title)
    archiveTitle = try container.decodeIfPresent(String.self, forKey: .archiveTitle)
    mediatype = try container.decodeIfPresent(String.self, forKey: .mediatype)
    func names(_ key: Key, or own: Key) throws -> [String] {
      let names =
        try container.decodeIfPresent(OneOrMany.self, forKey: key)
        ?? container.decodeIfPresent(OneOrMany.self, forKey: own)
      return names?.texts.filter { !$0.isEmpty } ?? []
    }
    creators = try names(.creators, or: .creator)
    publishers = try names(.publishers, or: .publisher)
    desc = try container.decodeIfPresent(String.self, forKey: .desc)
    iconUrlString = try container.decodeIfPresent(String.self, forKey: .iconUrlString)
    dateAdded =
      try container.decodeIfPresent(Date.self, forKey: .favoritedDate)
      ?? container.decodeIfPresent(Date.self, forKey: .dateAdded)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(identifier, forKey: .id)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(archiveTitle, forKey: .archiveTitle)
    try container.encodeIfPresent(mediatype, forKey: .mediatype)
    try container.encodeIfPresent(OneOrMany(creators), forKey: .creators)
    try container.encodeIfPresent(OneOrMany(publishers), forKey: .publishers)
    try container.encodeIfPresent(desc, forKey: .desc)
    try container.encodeIfPresent(iconUrlString, forKey: .iconUrlString)
    try container.encodeIfPresent(dateAdded, forKey: .favoritedDate)
  }
}

/// A list of texts that is encoded as a plain string if it has one element.
struct OneOrMany: Codable {
  let texts: [String]

  /// Returns `nil` for an empty list.
  init?(_ texts: [String]) {
    guard !texts.isEmpty else { return nil }
    self.texts = texts
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      texts = [text]
    } else {
      texts = try container.decode([String].self)
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if texts.count == 1 { try container.encode(texts[0]) } else { try container.encode(texts) }
  }
}

/// Search in a list of archives.
extension Archive {
  /// Whether the titles, the creators, the description or the publishers contain a query, ignoring case and
  /// diacritics.
  ///
  /// Any archive contains an empty query.
  public func matches(_ query: String) -> Bool { matches(TextSearch(query)) }

  func matches(_ search: TextSearch) -> Bool {
    search.isEmpty
      || [archiveTitle, title, creator, desc, publisher].contains { $0.map(search.isFound) ?? false }
  }
}

/// Parsing of documents of archive.org. A member may be a string in one document and an array in another.
extension Archive {
  /// The media types that the Internet Archive documents; any other becomes "other".
  private static let mediatypes: Set<String> = [
    "account", "audio", "collection", "data", "etree", "image", "movies", "software", "texts", "web",
  ]

  /// Parses a document of a search answer, or the `metadata` of an item answer.
  ///
  /// - Throws: `LibraryError.invalidItem` if the document has no identifier.
  public init(document: some JSONSource) throws(LibraryError) {
    let document = try document.json()
    guard let identifier = Self.texts(document["identifier"]).first, !identifier.isEmpty else {
      throw .invalidItem("a document of the Internet Archive without an identifier")
    }
    let title = Self.texts(document["title"]).first
    let descriptions = Self.texts(document["description"])
    self.init(
      identifier: identifier, title: title, archiveTitle: title,
      mediatype: Self.texts(document["mediatype"]).first.map { Self.mediatypes.contains($0) ? $0 : "other" },
      creators: Self.texts(document["creator"]).filter { !$0.isEmpty },
      publishers: Self.texts(document["publisher"]).filter { !$0.isEmpty },
      desc: descriptions.isEmpty ? nil : descriptions.joined(separator: "\n"),
      iconUrlString: "https://archive.org/services/img/\(identifier)")
  }

  /// Parses a whole answer: of a search (`response.docs`), or of one item (`metadata`).
  ///
  /// - Throws: `LibraryError.invalidAnswer` if it is neither; `LibraryError.invalidItem` if a document has no
  ///   identifier.
  public static func archives(answer: some JSONSource) throws(LibraryError) -> [Archive] {
    let answer = try answer.json()
    if let documents = answer["response"]?["docs"]?.array {
      return try documents.map { (document) throws(LibraryError) in try Archive(document: document) }
    }
    guard let metadata = answer["metadata"] else {
      throw .invalidAnswer("an answer with neither response.docs nor metadata, as archive.org sends")
    }
    return [try Archive(document: metadata)]
  }

  /// The texts in a string, or in an array of strings. Numbers, such as years and numeric titles, count as
  /// texts.
  static func texts(_ value: JSONValue?) -> [String] {
    switch value {
    case .string(let text): [text]
    case .int64, .double: value.map { [$0.jsonText] } ?? []
    case .array(let elements): elements.flatMap { $0.array == nil ? texts($0) : [] }
    default: []
    }
  }
}

/// Lists of items of the Internet Archive, as its site and its APIs send them.
///
/// The format reads a plain list of identifiers, the favorites of a user (`members` of
/// `https://archive.org/metadata/fav-USER`), the answer to a search (`response.docs`, or `items` of the scrape
/// API), and the answer for one item (`metadata`). It writes `members`, with the members that the site uses,
/// `dateAdded`, and all `fields` of the item.
///
/// Sources: https://archive.org/developers/md-record.html,
/// https://archive.org/help/aboutsearch.htm
struct ArchiveJSONFormat: FileFormat {
  let name = "archive-json"
  let summary = "identifiers, favorites, searches and items as archive.org sends them"
  let fileExtensions = ["json"]
  let isWritten = true
  /// `shape`: a list of strings may be anything.
  let certainty = FileCertainty.shape

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
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

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    var contents = FileContents()
    func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
      try library.checked(try Self.item(record))
    }
    guard document.isObject(document.root) else {
      guard document.isArray(document.root) else {
        throw .invalidAnswer("the items of the answer are not a list")
      }
      contents.take(elementsOf: document.root, in: document, item)
      return contents
    }
    let (members, failure) = document.members(of: document.root)
    // The favorites of a user are also an item, but have members.
    if let list = members["members"] ?? document.node("response", "docs") ?? members["items"] {
      guard document.isArray(list) else { throw .invalidAnswer("the items of the answer are not a list") }
      contents.take(elementsOf: list, in: document, after: failure, item)
    } else if let metadata = members["metadata"] {
      if let failure { contents.refuse(line: failure.line, failure.reason) }
      contents.take([metadata], of: document, item)
    } else if let error = members["error"] {
      throw .invalidAnswer("archive.org answers: \(try document.value(error).jsonText.prefix(200))")
    } else {
      throw .invalidAnswer(
        failure?.reason
          ?? "the JSON has no members, response.docs, items or metadata, as answers of archive.org have")
    }
    return contents
  }

  private static func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    if let identifier = record.string { return FileItem(id: identifier) }
    guard record.object != nil else { throw .invalidItem("\(record.kind) where an item should be") }
    guard record["fields"] != nil else {
      return try FileItem(encoding: try Archive(document: record))
    }
    var item = FileItem(id: record["identifier"]?.string ?? "")
    item.favoritedDate = try FileItem.date(record["dateAdded"], named: "dateAdded")
    item.isFavorite = try FileItem.flag(record[FieldName.isFavorite]) ?? true
    try item.takeFields(record["fields"])
    return item
  }

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    let members = try items.map { (item) throws(LibraryError) in
      try item.checkWritable()
      return JSONValue.object(
        .present([
          "identifier": .string(item.id), "mediatype": item["mediatype"]?.jsonValue,
          "title": item["title"]?.jsonValue, "dateAdded": item.jsonDate,
          FieldName.isFavorite: item.jsonFlag, "fields": item.fields.jsonObject,
        ]))
    }
    return jsonLines(members, opening: "{\"members\":[", closing: "]}")
  }
}
