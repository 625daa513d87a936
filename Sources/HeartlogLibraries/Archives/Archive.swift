import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An item of the Internet Archive: an album, a show, a film, a book.
public struct Archive: FavoriteItem, Hashable {
  public static let library = "archives"

  /// As archive.org has it in its addresses: never empty in a favorite.
  public var identifier: String
  /// The title of the item, the first where the answer had several.
  public var title: String?
  /// The title as the app keeps it, which an answer sets to the same as `title`.
  public var archiveTitle: String?
  /// "audio", "movies", "texts" …; "other" for a word that the Archive does not document.
  public var mediatype: String?
  /// Each by their own name, which may contain a comma.
  public var creators: [String]
  /// Each by their own name, which may contain a comma.
  public var publishers: [String]
  /// The description; the lines of several are joined by line feeds.
  public var desc: String?
  /// The address of its picture.
  public var iconUrlString: String?
  /// When it became a favorite; nil where it is none.
  public var dateAdded: Date?

  public var id: String { identifier }

  /// An archive with what is known of it. Nothing is checked here: `FavoriteArchives` refuses an empty identifier.
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

  /// The creators, joined for display; nil where there are none.
  public var creator: String? { creators.isEmpty ? nil : creators.joined(separator: ", ") }

  /// The publishers, joined for display; nil where there are none.
  public var publisher: String? { publishers.isEmpty ? nil : publishers.joined(separator: ", ") }

  /// What a row shows: `archiveTitle`, else `title`, else "Unknown".
  public var displayTitle: String { archiveTitle ?? title ?? "Unknown" }
  /// What a row shows below the title; nil where there is nobody.
  public var displayCreator: String? { creator }
  /// The address of its picture; nil where it has none, or something that is no URL.
  public var iconUrl: URL? { iconUrlString.flatMap { URL(string: $0) } }
}

/// One creator is a string, several are an array, as the Archive itself writes them.
extension Archive {
  private enum Key: String, CodingKey {
    case identifier = "id"
    case title, archiveTitle, mediatype
    case creators
    case publishers
    case desc
    case iconUrlString
    case dateAdded = "favoritedDate"
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    identifier = try container.decode(String.self, forKey: .identifier)
    title = try container.decodeIfPresent(String.self, forKey: .title)
    archiveTitle = try container.decodeIfPresent(String.self, forKey: .archiveTitle)
    mediatype = try container.decodeIfPresent(String.self, forKey: .mediatype)
    creators = try container.decodeIfPresent(OneOrMany.self, forKey: .creators)?.texts ?? []
    publishers = try container.decodeIfPresent(OneOrMany.self, forKey: .publishers)?.texts ?? []
    desc = try container.decodeIfPresent(String.self, forKey: .desc)
    iconUrlString = try container.decodeIfPresent(String.self, forKey: .iconUrlString)
    dateAdded = try container.decodeIfPresent(Date.self, forKey: .dateAdded)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(identifier, forKey: .identifier)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(archiveTitle, forKey: .archiveTitle)
    try container.encodeIfPresent(mediatype, forKey: .mediatype)
    try container.encodeIfPresent(OneOrMany(creators), forKey: .creators)
    try container.encodeIfPresent(OneOrMany(publishers), forKey: .publishers)
    try container.encodeIfPresent(desc, forKey: .desc)
    try container.encodeIfPresent(iconUrlString, forKey: .iconUrlString)
    try container.encodeIfPresent(dateAdded, forKey: .dateAdded)
  }
}

/// A list of texts that is a plain string where it has one.
struct OneOrMany: Codable {
  let texts: [String]

  /// Nil for an empty list.
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

/// The search field over a list of archives.
extension Archive {
  /// Whether a query is part of the titles, the creators, the description or the publishers, whatever its case.
  ///
  /// An empty query is part of everything.
  public func matches(_ query: String) -> Bool { matches(lowercased: query.lowercased()) }

  fileprivate func matches(lowercased query: String) -> Bool {
    guard !query.isEmpty else { return true }
    return [archiveTitle, title, creator, desc, publisher].contains { text in
      text?.lowercased().contains(query) ?? false
    }
  }
}

extension Sequence<Archive> {
  /// The archives that a query finds, in their order; all of them for an empty one.
  public func matching(_ query: String) -> [Archive] {
    let query = query.lowercased()
    return filter { $0.matches(lowercased: query) }
  }
}
