import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
  /// stay one name each here; `FavoriteArchives.takeOver(_:)` splits those that are certainly several.
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
    identifier = try container.decode(String.self, forKey: .id, or: .identifier)
    title = try container.decodeIfPresent(String.self, forKey: .title)
    archiveTitle = try container.decodeIfPresent(String.self, forKey: .archiveTitle)
    mediatype = try container.decodeIfPresent(String.self, forKey: .mediatype)
    func names(_ key: Key, or own: Key) throws -> [String] {
      let names = try container.decodeIfPresent(OneOrMany.self, forKey: key, or: own)?.texts ?? []
      return names.filter { !$0.isEmpty }
    }
    creators = try names(.creators, or: .creator)
    publishers = try names(.publishers, or: .publisher)
    desc = try container.decodeIfPresent(String.self, forKey: .desc)
    iconUrlString = try container.decodeIfPresent(String.self, forKey: .iconUrlString)
    dateAdded = try container.decodeIfPresent(Date.self, forKey: .favoritedDate, or: .dateAdded)
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

  fileprivate func matches(_ search: TextSearch) -> Bool {
    search.isEmpty
      || [archiveTitle, title, creator, desc, publisher].contains { $0.map(search.isFound) ?? false }
  }
}

extension Sequence<Archive> {
  /// The archives that match a query, in order; all of them if the query is empty.
  public func matching(_ query: String) -> [Archive] {
    let search = TextSearch(query)
    return filter { $0.matches(search) }
  }
}
