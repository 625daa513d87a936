import Heartlog

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
  /// "searching" or "failed", if there is no cover yet: see `coverStatus`. Another text is one of a later version.
  private var coverSearch: String?
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
  /// there is a file.
  public init(
    id: UUID, title: String, author: String? = nil, fileURL: URL? = nil, coverImageURL: URL? = nil,
    duration: Double = 0, currentPosition: Double = 0, dateAdded: Date, isDownloaded: Bool? = nil,
    googleDriveFileID: String? = nil, associatedFiles: [URL] = []
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
    self.coverImageURL = coverImageURL
  }

  enum CodingKeys: String, CodingKey {
    case id, title, author, downloadURL, duration, currentPosition, googleDriveFileID, coverSearch
    case coverAddress = "coverImageURL"
    case dateAdded = "favoritedDate"
    // Device-local.
    case fileURL, coverFileURL, isDownloaded, associatedFiles
  }

  /// The members of the app's own JSON that are not in the store.
  enum AppKey: String, CodingKey, CaseIterable {
    case dateAdded, fileURLString, coverImageURLString, associatedFilesStrings
  }

  /// Decodes a book of the store, or a record of the app's own: with URLs as strings or as bare paths. An error
  /// names what is missing: the id, the title or the date.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let own = try decoder.container(keyedBy: AppKey.self)
    func corrupt(_ key: some CodingKey, _ reason: String) -> DecodingError {
      .dataCorrupted(.init(codingPath: decoder.codingPath + [key], debugDescription: reason))
    }
    func url(_ text: String, _ key: some CodingKey) throws -> URL {
      guard let url = Self.url(text) else { throw corrupt(key, "\(text.quoted) is not a URL") }
      return url
    }
    func urlIfPresent(_ key: CodingKeys) throws -> URL? {
      try container.decodeIfPresent(String.self, forKey: key).map { try url($0, key) }
    }
    // The app writes an empty path for none.
    func path(_ key: AppKey) throws -> URL? {
      try own.decodeIfPresent(String.self, forKey: key).flatMap { $0.isEmpty ? nil : try url($0, key) }
    }
    func files() throws -> [URL] {
      if let texts = try container.decodeIfPresent([String].self, forKey: .associatedFiles) {
        return try texts.map { try url($0, CodingKeys.associatedFiles) }
      }
      return try own.decodeIfPresent([String].self, forKey: .associatedFilesStrings)?
        .map { try url($0, AppKey.associatedFilesStrings) } ?? []
    }
    // Without a strategy of a decoder for dates, a number counts the seconds since 2001.
    func date() throws -> Date {
      do { return try own.decode(Date.self, forKey: .dateAdded) } catch {
        guard let seconds = try? own.decode(Double.self, forKey: .dateAdded) else { throw error }
        guard seconds.magnitude < 1e12 else {
          throw corrupt(AppKey.dateAdded, "a date outside the years 0000 to 9999")
        }
        return Date(timeIntervalSinceReferenceDate: seconds)
      }
    }
    let stored = try container.decodeIfPresent(Date.self, forKey: .dateAdded)
    // In the store, an older version left the path of another device as the address of the cover.
    let cover = try urlIfPresent(.coverAddress).flatMap { stored != nil && $0.isFileURL ? nil : $0 }
    let coverFile = try urlIfPresent(.coverFileURL) ?? path(.coverImageURLString)
    let duration = try container.decodeIfPresent(Double.self, forKey: .duration) ?? 0
    guard duration >= 0 else {
      throw corrupt(
        CodingKeys.duration, "\(JSONValue.double(duration).jsonText) seconds, which must be 0 or more")
    }
    self.init(
      id: try container.decode(UUID.self, forKey: .id),
      title: try container.decode(String.self, forKey: .title),
      author: try container.decodeIfPresent(String.self, forKey: .author),
      fileURL: try urlIfPresent(.fileURL) ?? path(.fileURLString),
      coverImageURL: cover ?? coverFile,
      duration: duration,
      currentPosition: Self.clamped(
        try container.decodeIfPresent(Double.self, forKey: .currentPosition) ?? 0, duration: duration),
      dateAdded: try stored ?? date(),
      isDownloaded: try container.decodeIfPresent(Bool.self, forKey: .isDownloaded),
      googleDriveFileID: try container.decodeIfPresent(String.self, forKey: .googleDriveFileID),
      associatedFiles: try files())
    if let coverFile { coverImageURL = coverFile }
    if coverImageURL == nil {
      coverSearch = try container.decodeIfPresent(String.self, forKey: .coverSearch)
    }
    if let address = try urlIfPresent(.downloadURL) { downloadURL = address }
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

/// A chapter of a book. Times are in seconds.
public struct Chapter: Hashable, Sendable, Identifiable, Codable {
  /// Identifies the chapter in a list. If it is not given, it is derived from the title and the times, so that
  /// it is the same each time the chapters of a book are determined.
  public var id: UUID
  /// The title in a list of chapters.
  public var title: String
  /// The start in seconds from the beginning of the book.
  public var startTime: Double
  /// The duration in seconds.
  public var duration: Double

  /// Creates a chapter.
  public init(id: UUID? = nil, title: String, startTime: Double, duration: Double) {
    self.id = id ?? Book.id(of: "chapter:\(startTime):\(duration):\(title)")
    self.title = title
    self.startTime = startTime
    self.duration = duration
  }

  /// The end in seconds from the beginning of the book; the next chapter starts here.
  public var endTime: Double { startTime + duration }

  /// The fraction of the chapter that lies before a time, 0 to 1.
  ///
  /// - Parameter time: in seconds from the beginning of the book.
  public func progress(at time: Double) -> Double {
    guard duration > 0 else { return time < startTime ? 0 : 1 }
    return min(1, max(0, (time - startTime) / duration))
  }
}

extension PlaybackSettings {
  /// The most simulated chapters: one per second for eleven days. A duration that needs more is not
  /// realistic.
  private static let chaptersMax = 1_000_000.0

  /// Simulates chapters for a book that has none. They have equal lengths, except the last, which has the
  /// remainder and is never empty. There is only one chapter if chapters are not simulated, or if the
  /// duration or the length does not allow it.
  public func chapters(duration: Double) -> [Chapter] {
    let whole = [Chapter(title: "Chapter 1", startTime: 0, duration: duration)]
    let length = simulatedChapterLength
    let quotient = (duration / length).rounded(.up)
    guard simulateChapters, duration > 0, length > 0, quotient <= Self.chaptersMax else { return whole }
    var count = Int(quotient)
    // The quotient can be rounded up to the next integer.
    if count > 1, Double(count - 1) * length >= duration { count -= 1 }
    return (0..<count).map { index in
      let start = Double(index) * length
      let end = index == count - 1 ? duration : start + length
      return Chapter(title: "Chapter \(index + 1)", startTime: start, duration: end - start)
    }
  }
}

extension [Chapter] {
  /// The index of the chapter at a time: the last one that has started, so the last chapter at and after the
  /// end; before the first chapter, the first. `nil` if there are no chapters. O(log n). The chapters must be
  /// in the order of their starts.
  public func index(at time: Double) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].startTime <= time { low = middle + 1 } else { high = middle }
    }
    return isEmpty ? nil : Swift.max(0, low - 1)
  }

  /// The chapter at a time, as found by `index(at:)`.
  public func chapter(at time: Double) -> Chapter? { index(at: time).map { self[$0] } }

  /// The chapter after the one at a time; `nil` if that is the last one.
  public func next(after time: Double) -> Chapter? {
    index(at: time).flatMap { $0 + 1 < count ? self[$0 + 1] : nil }
  }

  /// The chapter before the one at a time; `nil` if that is the first one.
  public func previous(before time: Double) -> Chapter? {
    index(at: time).flatMap { $0 > 0 ? self[$0 - 1] : nil }
  }
}

extension Book {
  /// The cue sheet among the associated files; `nil` if there is none.
  package var cueSheetURL: URL? { associatedFiles.first { $0.pathExtension.lowercased() == "cue" } }

  /// The chapters of the book: the tracks of its cue sheet, or simulated ones as configured in the settings.
  ///
  /// A cue sheet that cannot be read or is not valid does not prevent playback: it is ignored.
  ///
  /// - Parameters:
  ///   - settings: whether chapters are simulated, and how long they are.
  ///   - contents: reads a file; returns `nil` if it cannot be read. If it is `nil`, the file is read from disk.
  public func chapters(
    _ settings: PlaybackSettings, contents: ((URL) -> [UInt8]?)? = nil
  ) -> [Chapter] {
    if let cueSheetURL, let bytes = (contents ?? CueSheet.contents)(cueSheetURL),
      let sheet = try? CueSheet(bytes)
    {
      let chapters = sheet.chapters(duration: duration)
      if !chapters.isEmpty { return chapters }
    }
    return settings.chapters(duration: duration)
  }
}

extension CueSheet {
  /// The bytes of a file; `nil` if it cannot be read, or is too large for a cue sheet.
  static func contents(of url: URL) -> [UInt8]? {
    guard url.isFileURL, let attributes = try? FileManager.default.attributesOfItem(atPath: url.path),
      let size = attributes[.size] as? Int, size <= bytesMax
    else { return nil }
    return FileManager.default.contents(atPath: url.path).map(Array.init)
  }
}

/// Whether a book has a cover, and if not, why not.
public enum CoverStatus: Hashable, Sendable {
  /// There is no cover, and it has not been searched for.
  case none
  /// A search is running, or was running when the app ended.
  case searching
  /// The cover was found.
  case found(URL)
  /// A search found nothing; it should be repeated.
  case failed
}

extension Book {
  /// The state of the cover. If there is a cover, it is found, whatever the state of the search.
  public var coverStatus: CoverStatus {
    get {
      if let coverImageURL { return .found(coverImageURL) }
      return switch coverSearch {
      case "searching": .searching
      case "failed": .failed
      default: .none
      }
    }
    set {
      coverImageURL = if case .found(let url) = newValue { url } else { nil }
      coverSearch =
        switch newValue {
        case .none, .found: nil
        case .searching: "searching"
        case .failed: "failed"
        }
    }
  }

  /// The title for a cover search: without any `[…]`, and without white space at its ends.
  public var coverSearchTitle: String {
    var cleaned = ""
    var rest = title[...]
    while let open = rest.firstIndex(of: "["), let close = rest[open...].firstIndex(of: "]") {
      cleaned += rest[..<open]
      rest = rest[rest.index(after: close)...]
    }
    return (cleaned + rest).withoutOuterWhiteSpace
  }
}

/// A deleted book, and the files that it leaves behind.
public struct DeletedBook: Hashable, Sendable {
  /// The id of the book.
  public let id: Book.ID
  /// The book before it was deleted; `nil` if its record was not a valid book.
  public let book: Book?
  /// The files on disk that no other book uses: its audio, its cover, and its associated files. The store
  /// does not delete them.
  public let files: [URL]

  /// Creates a deleted book.
  ///
  /// - Parameters:
  ///   - id: the id of the book.
  ///   - book: the book before it was deleted.
  ///   - others: the paths of all files of the remaining books.
  init(id: Book.ID, book: Book?, others: Set<String>) {
    self.id = id
    self.book = book
    var seen = others
    files = (book?.files ?? []).filter { seen.insert($0.standardizedFileURL.path).inserted }
  }
}

extension [Book] {
  /// The paths of all files on disk of these books.
  var filePaths: Set<String> { Set(flatMap(\.files).map(\.standardizedFileURL.path)) }
}

extension Book {
  /// The book's files on disk: its audio, its cover, and its associated files.
  var files: [URL] { ([fileURL, coverImageURL].compactMap { $0 } + associatedFiles).filter(\.isFileURL) }
}
