import Heartlog
import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A file of an archive, which can be played directly.
public struct Track: FavoriteItem, Hashable {
  public static let library = "tracks"

  /// The URL of the file, which identifies the track.
  public var url: URL
  /// The title in a row; `nil` if the file has none.
  public var title: String?
  /// The archive that the file belongs to; `nil` for a file from elsewhere.
  public var archiveIdentifier: String?
  /// The title of the archive.
  public var archiveTitle: String?
  /// The name of the file in its archive.
  public var name: String?
  /// The artist, as the file names one.
  public var artist: String?
  /// The creators of the archive, joined by ",".
  public var creator: String?
  /// The number of the file on its record, "3" or "3/12".
  public var track: String?
  /// The size in bytes, as the archive writes it.
  public var size: String?
  /// The format, "VBR MP3".
  public var format: String?
  /// The duration, as the archive writes it: in seconds, or "3:45".
  public var length: String?

  public var id: URL { url }

  /// Creates a track. `FavoriteTracks` refuses a URL without a scheme.
  public init(url: URL, title: String? = nil, archiveIdentifier: String? = nil) {
    self.url = url
    self.title = title
    self.archiveIdentifier = archiveIdentifier
  }

  /// Decodes a track of the store, or a record of the app's own.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    url = try container.decode(URL.self, forKey: .id, or: .url)
    title = try container.decodeIfPresent(String.self, forKey: .title)
    archiveIdentifier = try container.decodeIfPresent(String.self, forKey: .archiveIdentifier)
    archiveTitle = try container.decodeIfPresent(String.self, forKey: .archiveTitle)
    name = try container.decodeIfPresent(String.self, forKey: .name)
    artist = try container.decodeIfPresent(String.self, forKey: .artist)
    creator = try container.decodeIfPresent(String.self, forKey: .creator)
    track = try container.decodeIfPresent(String.self, forKey: .track)
    size = try container.decodeIfPresent(String.self, forKey: .size)
    format = try container.decodeIfPresent(String.self, forKey: .format)
    length = try container.decodeIfPresent(String.self, forKey: .length)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .id)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(archiveIdentifier, forKey: .archiveIdentifier)
    try container.encodeIfPresent(archiveTitle, forKey: .archiveTitle)
    try container.encodeIfPresent(name, forKey: .name)
    try container.encodeIfPresent(artist, forKey: .artist)
    try container.encodeIfPresent(creator, forKey: .creator)
    try container.encodeIfPresent(track, forKey: .track)
    try container.encodeIfPresent(size, forKey: .size)
    try container.encodeIfPresent(format, forKey: .format)
    try container.encodeIfPresent(length, forKey: .length)
  }

  private enum CodingKeys: CodingKey {
    case id, url, title, archiveIdentifier, archiveTitle, name, artist, creator, track, size, format, length
  }
}

extension Track {
  /// Parses one of the `files` of an item answer. The title is the file's own, or its name if it has none;
  /// the URL is below `https://archive.org/download/`.
  ///
  /// - Throws: `LibraryError.invalidItem` if the file has no name.
  public init(file: some JSONSource, archiveIdentifier: String) throws(LibraryError) {
    let file = try file.json()
    guard let name = file["name"]?.string, !name.isEmpty,
      let url = URL(string: "https://archive.org/download/\(archiveIdentifier)/\(name.percentEncoded)")
    else { throw .invalidItem("a file of the archive \(archiveIdentifier) without a name") }
    self.init(
      url: url, title: Archive.texts(file["title"]).first ?? name, archiveIdentifier: archiveIdentifier)
  }
}
