import Heartlog
import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A file of an archive, which can be played as it is.
public struct Track: FavoriteItem, Hashable {
  public static let library = "tracks"

  /// Where the file is: what tells one track from another.
  public var url: URL
  /// What a row shows; nil where the file has no title.
  public var title: String?
  /// The archive that the file is part of; nil for a file from elsewhere.
  public var archiveIdentifier: String?

  public var id: URL { url }

  /// A track with what is known of it. `FavoriteTracks` refuses a URL without a scheme.
  public init(url: URL, title: String? = nil, archiveIdentifier: String? = nil) {
    self.url = url
    self.title = title
    self.archiveIdentifier = archiveIdentifier
  }

  private enum CodingKeys: String, CodingKey {
    case url = "id"
    case title, archiveIdentifier
  }
}

extension Track {
  /// Reads one of the `files` of an item answer. Its title is the file's own, else its name; its URL is below
  /// `https://archive.org/download/`.
  ///
  /// - Throws: `LibraryError.invalidItem` for a file without a name.
  public init(file: JSONValue, archiveIdentifier: String) throws(LibraryError) {
    guard let name = file["name"]?.string, !name.isEmpty,
      let url = URL(string: "https://archive.org/download/\(archiveIdentifier)/\(name.percentEncoded)")
    else { throw .invalidItem("a file of the archive \(archiveIdentifier) without a name") }
    self.init(
      url: url, title: Archive.texts(file["title"]).first ?? name, archiveIdentifier: archiveIdentifier)
  }
}
