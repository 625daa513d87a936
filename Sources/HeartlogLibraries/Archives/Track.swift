import Heartlog
import HeartlogEvents

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
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .id)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(archiveIdentifier, forKey: .archiveIdentifier)
  }

  private enum CodingKeys: CodingKey {
    case id, url, title, archiveIdentifier
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
