import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An audiobook.
public struct Book: FavoriteItem, Hashable {
  public static let library = "books"

  public var id: UUID
  /// As the app shows it; `coverSearchTitle` is what a search for a cover takes.
  public var title: String
  /// Several are joined by ", "; nil where nobody is known.
  public var author: String?
  /// Where the audio is: a file, or an address that it can be downloaded from.
  public var fileURL: URL
  /// Where its cover is; nil where it has none.
  public var coverImageURL: URL?
  /// How a search for a cover stands, where there is none yet. `coverStatus` says both.
  public var coverSearch: CoverSearch?
  /// Seconds; 0 where it is not known.
  public var duration: Double
  /// Seconds from the beginning.
  public var currentPosition: Double
  /// When it came into the library. The store holds it as the favorited date; a book that has left the library
  /// has none, and says `Date.distantPast`.
  public var dateAdded: Date
  /// Whether the audio is on this device, as the app last said.
  public var isDownloaded: Bool
  /// The folder of Google Drive that it came from; nil for a book from elsewhere.
  public var googleDriveFileID: String?
  /// Cue sheets, notes, pictures.
  public var associatedFiles: [URL]

  /// A book with what is known of it. Numbers are not checked here: `BookLibrary` refuses NaN, infinity and a duration below 0.
  ///
  /// Where `isDownloaded` is nil, it is whether `fileURL` is a file's. A `coverSearch` is not kept for a book that has a cover.
  public init(
    id: UUID, title: String, author: String? = nil, fileURL: URL, coverImageURL: URL? = nil,
    duration: Double = 0, currentPosition: Double = 0, dateAdded: Date, isDownloaded: Bool? = nil,
    googleDriveFileID: String? = nil, associatedFiles: [URL] = [], coverSearch: CoverSearch? = nil
  ) {
    self.id = id
    self.title = title
    self.author = author
    self.fileURL = fileURL
    self.coverImageURL = coverImageURL
    self.duration = duration
    self.currentPosition = currentPosition
    self.dateAdded = dateAdded
    self.isDownloaded = isDownloaded ?? fileURL.isFileURL
    self.googleDriveFileID = googleDriveFileID
    self.associatedFiles = associatedFiles
    self.coverSearch = coverImageURL == nil ? coverSearch : nil
  }

  private enum CodingKeys: String, CodingKey {
    case id, title, author, fileURL, coverImageURL, duration, currentPosition
    case dateAdded = "favoritedDate"
    case isDownloaded, googleDriveFileID, associatedFiles, coverSearch
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try container.decode(UUID.self, forKey: .id),
      title: try container.decode(String.self, forKey: .title),
      author: try container.decodeIfPresent(String.self, forKey: .author),
      fileURL: try container.decode(URL.self, forKey: .fileURL),
      coverImageURL: try container.decodeIfPresent(URL.self, forKey: .coverImageURL),
      duration: try container.decodeIfPresent(Double.self, forKey: .duration) ?? 0,
      currentPosition: try container.decodeIfPresent(Double.self, forKey: .currentPosition) ?? 0,
      dateAdded: try container.decodeIfPresent(Date.self, forKey: .dateAdded) ?? .distantPast,
      isDownloaded: try container.decodeIfPresent(Bool.self, forKey: .isDownloaded),
      googleDriveFileID: try container.decodeIfPresent(String.self, forKey: .googleDriveFileID),
      associatedFiles: try container.decodeIfPresent([URL].self, forKey: .associatedFiles) ?? [],
      // A word of a later version is no search that this one knows, and no reason to lose the book.
      coverSearch: try container.decodeIfPresent(String.self, forKey: .coverSearch)
        .flatMap(CoverSearch.init(rawValue:)))
  }
}

/// What a row of the library says of a book.
public enum BookRowStatus: String, Hashable, Sendable, CaseIterable {
  /// At its beginning, or of a duration that is not known.
  case started = "Started"
  /// Somewhere between.
  case inProgress = "In-Progress"
  /// At 0.99 of its duration or later.
  case done = "Done"
}

extension Book {
  /// How much of the book was heard: 0 to 1; 0 where its duration is not known.
  public var progress: Double {
    guard duration > 0, currentPosition > 0 else { return 0 }
    return min(1, currentPosition / duration)
  }

  /// Done from 0.99 on, in progress above 0; a book at its beginning is "Started", as the app has it.
  public var rowStatus: BookRowStatus {
    switch progress {
    case 0.99...: .done
    case let progress where progress > 0: .inProgress
    default: .started
    }
  }

  /// A position as this book can have it: 0…duration, or 0 and more where the duration is not known.
  func clamped(_ position: Double) -> Double { Self.clamped(position, duration: duration) }

  static func clamped(_ position: Double, duration: Double) -> Double {
    max(0, duration > 0 ? min(position, duration) : position)
  }
}
