import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An audiobook.
public struct Book: FavoriteItem, Hashable {
  public static let library = "books"
  /// Where the files are, and whether the audio was downloaded: each device has its own.
  public static let localFields = Set(
    [CodingKeys.fileURL, .coverFileURL, .isDownloaded, .associatedFiles].map(\.stringValue))

  public var id: UUID
  /// The title as the app shows it; see also `coverSearchTitle`.
  public var title: String
  /// The author; several are joined by ", "; `nil` if it is not known.
  public var author: String?
  /// The audio file on this device; `nil` if there is none. Other devices do not see it.
  public var fileURL: URL?
  /// The address for downloading the audio, on every device; `nil` if it is not known.
  public var downloadURL: URL?
  /// The URL of the cover; `nil` if there is none.
  ///
  /// The URL of a file belongs to this device, and other devices do not see it. It takes precedence over an address, which all devices
  /// have. Setting it keeps the address; setting an address or `nil` replaces both.
  public var coverImageURL: URL? {
    get { coverFileURL ?? coverAddress }
    set {
      if let newValue, newValue.isFileURL {
        coverFileURL = newValue
      } else {
        (coverFileURL, coverAddress) = (nil, newValue)
      }
    }
  }
  private var coverFileURL: URL?
  private var coverAddress: URL?
  /// The state of a search for a cover, if there is none yet. `coverStatus` combines this with the cover.
  public var coverSearch: CoverSearch?
  /// The duration in seconds; 0 if it is not known.
  public var duration: Double
  /// The playback position in seconds from the beginning.
  public var currentPosition: Double
  /// When it was added to the library. The store holds it as the favorited date. A book that was removed from
  /// the library has none, and cannot be read as a `Book`.
  public var dateAdded: Date
  /// Whether the audio is on this device, as the app last recorded. Other devices do not see it.
  public var isDownloaded: Bool
  /// The Google Drive folder that it came from; `nil` for a book from elsewhere.
  public var googleDriveFileID: String?
  /// Cue sheets, notes and images on this device. Other devices do not see them.
  public var associatedFiles: [URL]

  /// Creates a book. Numbers are not checked here: `BookLibrary` refuses NaN, infinity and a duration below
  /// 0.
  ///
  /// A `fileURL` that is not the URL of a file becomes the `downloadURL`. If `isDownloaded` is `nil`, it is whether
  /// there is a file. `coverSearch` is dropped if the book has a cover.
  public init(
    id: UUID, title: String, author: String? = nil, fileURL: URL? = nil, coverImageURL: URL? = nil,
    duration: Double = 0, currentPosition: Double = 0, dateAdded: Date, isDownloaded: Bool? = nil,
    googleDriveFileID: String? = nil, associatedFiles: [URL] = [], coverSearch: CoverSearch? = nil
  ) {
    let hasFile = fileURL?.isFileURL == true
    self.id = id
    self.title = title
    self.author = author
    self.fileURL = hasFile ? fileURL : nil
    downloadURL = hasFile ? nil : fileURL
    self.duration = duration
    self.currentPosition = currentPosition
    self.dateAdded = dateAdded
    self.isDownloaded = isDownloaded ?? hasFile
    self.googleDriveFileID = googleDriveFileID
    self.associatedFiles = associatedFiles
    self.coverSearch = coverImageURL == nil ? coverSearch : nil
    self.coverImageURL = coverImageURL
  }

  private enum CodingKeys: CodingKey {
    case id, title, author, downloadURL, coverImageURL, duration, currentPosition, favoritedDate
    case googleDriveFileID, coverSearch
    // Device-local.
    case fileURL, coverFileURL, isDownloaded, associatedFiles
    // In the app's own JSON.
    case dateAdded, fileURLString, coverImageURLString, associatedFilesStrings
  }

  /// Decodes a book of the store, or a record of the app's own: with URLs as strings or as bare paths. An error
  /// names what is missing: the id, the title or the date.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func url(_ text: String, _ key: CodingKeys) throws -> URL {
      if let url = Self.url(text) { return url }
      throw DecodingError.dataCorruptedError(
        forKey: key, in: container, debugDescription: "\(text.quoted) is not a URL")
    }
    func urlIfPresent(_ key: CodingKeys) throws -> URL? {
      try container.decodeIfPresent(String.self, forKey: key).map { try url($0, key) }
    }
    // In the store, an older version left the path of another device as the address of the cover.
    let isStored = container.contains(.favoritedDate)
    let cover = try urlIfPresent(.coverImageURL).flatMap { isStored && $0.isFileURL ? nil : $0 }
    let coverFile = try urlIfPresent(.coverFileURL) ?? urlIfPresent(.coverImageURLString)
    let filesKey = [.associatedFiles, .associatedFilesStrings].first(where: container.contains)
    let duration = try container.decodeIfPresent(Double.self, forKey: .duration) ?? 0
    guard duration >= 0 else {
      throw DecodingError.dataCorruptedError(
        forKey: .duration, in: container, debugDescription: "a duration of \(duration) seconds")
    }
    self.init(
      id: try container.decode(UUID.self, forKey: .id),
      title: try container.decode(String.self, forKey: .title),
      author: try container.decodeIfPresent(String.self, forKey: .author),
      fileURL: try urlIfPresent(.fileURL) ?? urlIfPresent(.fileURLString),
      coverImageURL: cover ?? coverFile,
      duration: duration,
      currentPosition: Self.clamped(
        try container.decodeIfPresent(Double.self, forKey: .currentPosition) ?? 0, duration: duration),
      dateAdded: try container.decode(Date.self, forKey: .favoritedDate, or: .dateAdded),
      isDownloaded: try container.decodeIfPresent(Bool.self, forKey: .isDownloaded),
      googleDriveFileID: try container.decodeIfPresent(String.self, forKey: .googleDriveFileID),
      associatedFiles: try filesKey.flatMap { key in
        try container.decodeIfPresent([String].self, forKey: key)?.map { try url($0, key) }
      } ?? [],
      // A value from a later version is ignored, so that the book is not lost.
      coverSearch: try container.decodeIfPresent(String.self, forKey: .coverSearch)
        .flatMap(CoverSearch.init(rawValue:)))
    if let coverFile { coverImageURL = coverFile }
    if let address = try urlIfPresent(.downloadURL) { downloadURL = address }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(title, forKey: .title)
    try container.encodeIfPresent(author, forKey: .author)
    try container.encodeIfPresent(fileURL, forKey: .fileURL)
    try container.encodeIfPresent(downloadURL, forKey: .downloadURL)
    try container.encodeIfPresent(coverAddress, forKey: .coverImageURL)
    try container.encodeIfPresent(coverFileURL, forKey: .coverFileURL)
    try container.encode(duration, forKey: .duration)
    try container.encode(currentPosition, forKey: .currentPosition)
    try container.encode(dateAdded, forKey: .favoritedDate)
    try container.encode(isDownloaded, forKey: .isDownloaded)
    try container.encodeIfPresent(googleDriveFileID, forKey: .googleDriveFileID)
    try container.encode(associatedFiles, forKey: .associatedFiles)
    try container.encodeIfPresent(coverSearch, forKey: .coverSearch)
  }

  /// The URL in a text, which may be the bare path of a file; `nil` if it is neither.
  static func url(_ text: String) -> URL? {
    guard !text.isEmpty else { return nil }
    return text.hasPrefix("/") ? URL(filePath: text) : URL(string: text)
  }
}

/// The state of a book in a row of the library.
public enum BookRowStatus: String, Hashable, Sendable, CaseIterable {
  /// At the beginning, or the duration is not known.
  case started = "Started"
  /// Between the beginning and 0.99 of the duration.
  case inProgress = "In-Progress"
  /// At 0.99 of the duration or later.
  case done = "Done"
}

extension Book {
  /// The fraction of the book that was played, 0 to 1; 0 if the duration is not known.
  public var progress: Double {
    guard duration > 0, currentPosition > 0 else { return 0 }
    return min(1, currentPosition / duration)
  }

  /// Done from 0.99 on, in progress above 0; a book at its beginning is "Started", as in the app.
  public var rowStatus: BookRowStatus {
    switch progress {
    case 0.99...: .done
    case let progress where progress > 0: .inProgress
    default: .started
    }
  }

  /// A position clamped to 0…duration, or to at least 0 if the duration is not known.
  func clamped(_ position: Double) -> Double { Self.clamped(position, duration: duration) }

  static func clamped(_ position: Double, duration: Double) -> Double {
    max(0, duration > 0 ? min(position, duration) : position)
  }
}
