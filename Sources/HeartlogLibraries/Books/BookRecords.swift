import Heartlog
import HeartlogFiles

/// Parsing of the answers of LibriVox: `{"books": […]}`.
extension Book {
  /// Parses one record. The same record always becomes the same book: its id is derived from LibriVox's.
  ///
  /// - Throws: `LibraryError.invalidItem` if the record has no id, title or file, or a duration below 0.
  public init(libriVox record: some JSONSource, dateAdded: Date) throws(LibraryError) {
    let record = try record.json()
    guard let number = record["id"]?.string, !number.isEmpty else {
      throw .invalidItem("a record of LibriVox without an id")
    }
    guard let title = record["title"]?.string,
      let fileURL = record["url_zip_file"]?.string.flatMap({ Self.url($0) })
    else {
      throw .invalidItem("the record \(number) of LibriVox without a title or a file")
    }
    let duration = record["totaltimesecs"]?.number ?? 0
    guard duration >= 0 else {
      throw .invalidItem(
        "the record \(number) of LibriVox with a duration of \(JSONValue.double(duration).jsonText) seconds")
    }
    let authors = (record["authors"]?.array ?? []).map { author in
      [author["first_name"]?.string ?? "", author["last_name"]?.string ?? ""]
        .filter { !$0.isEmpty }.joined(separator: " ")
    }
    self.init(
      id: Self.id(of: "librivox:\(number)"), title: title,
      author: authors.isEmpty ? nil : authors.joined(separator: ", "), fileURL: fileURL,
      duration: duration, dateAdded: dateAdded)
  }

  /// Whether the id was derived from what the book is, and not made up by an app.
  var hasDerivedID: Bool { id.uuid.6 >> 4 == 8 }

  /// A UUID of version 8 (RFC 9562): the first bytes of the SHA-256 of a name.
  static func id(of name: String) -> UUID {
    var bytes = SHA256Hasher.digest(of: Array(name.utf8)).bytes
    bytes[6] = 0x80 | bytes[6] & 0x0F
    bytes[8] = 0x80 | bytes[8] & 0x3F
    return UUID(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
        bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }
}

extension Book {
  /// The bytes at each end of a file that its fingerprint covers.
  private static let fingerprintedBytes = 65_536

  /// The fingerprint of an audio file: its size in bytes, and the SHA-256 of its first and last 64 KiB, as text. Reads
  /// only these.
  ///
  /// - Throws: `HeartlogError` with the code `invalidItem` if the file cannot be read.
  public static func fingerprint(of file: URL) throws(HeartlogError) -> String {
    guard file.isFileURL else { throw HeartlogError(.invalidItem, "\(file) is no file") }
    do throws(HeartlogError) {
      let open = try POSIXFileSystem().open(file.path, .read)
      let size = try open.size()
      let count = Int(min(size, UInt64(fingerprintedBytes)))
      var hasher = SHA256Hasher()
      for offset in [0, size - UInt64(count)] {
        hasher.update(try open.bytes(count, at: offset))
      }
      return "\(size):\(hasher.finish())"
    } catch {
      throw HeartlogError(.invalidItem, "\(file.lastPathComponent) cannot be read: \(error)")
    }
  }
}

/// The settings for playback: one item with a field for each setting, so that settings are merged separately.
public struct PlaybackSettings: FavoriteItem, Hashable {
  public static let library = "settings"
  /// The id of the one item that contains the settings.
  public static let item = "playback"

  /// The factor of the playback speed, 0.5 to 2.
  public var playbackSpeed = 1.0
  /// How far a skip forward goes, in seconds.
  public var skipForwardInterval = 30.0
  /// How far a skip backward goes, in seconds.
  public var skipBackwardInterval = 30.0
  /// Whether a book without chapters is split into chapters of equal length.
  public var simulateChapters = true
  /// The length of a simulated chapter, in seconds.
  public var simulatedChapterLength = 900.0
  /// How far playback goes back after an interruption, in seconds.
  public var rewindAfterInterruption = 2.0

  public var id: String { Self.item }

  /// Creates settings with the defaults of the app.
  public init() {}

  private enum CodingKeys: CodingKey {
    case playbackSpeed, skipForwardInterval, skipBackwardInterval, simulateChapters, simulatedChapterLength
    case rewindAfterInterruption
  }

  private static let numbers:
    [(key: CodingKeys, path: any WritableKeyPath<PlaybackSettings, Double> & Sendable)] = [
      (.playbackSpeed, \.playbackSpeed), (.skipForwardInterval, \.skipForwardInterval),
      (.skipBackwardInterval, \.skipBackwardInterval), (.simulatedChapterLength, \.simulatedChapterLength),
      (.rewindAfterInterruption, \.rewindAfterInterruption),
    ]

  /// Decodes settings. A missing setting has its default value, which does not affect the others.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    for (key, path) in Self.numbers {
      self[keyPath: path] = try container.decodeIfPresent(Double.self, forKey: key) ?? self[keyPath: path]
    }
    simulateChapters =
      try container.decodeIfPresent(Bool.self, forKey: .simulateChapters) ?? simulateChapters
    try validate()
  }

  public func encode(to encoder: any Encoder) throws {
    try validate()
    var container = encoder.container(keyedBy: CodingKeys.self)
    for (key, path) in Self.numbers { try container.encode(self[keyPath: path], forKey: key) }
    try container.encode(simulateChapters, forKey: .simulateChapters)
  }

  /// Checks all settings. Settings are checked before they are written and after they are read.
  ///
  /// - Throws: `LibraryError.invalidItem` with the first setting that is out of its range.
  package func validate() throws(LibraryError) {
    for (key, path) in Self.numbers {
      let (name, number) = (key.stringValue, self[keyPath: path])
      guard let value = FieldValue.number(number) else { throw .invalidItem("\(name) is \(number)") }
      try Self.descriptor.field(name)?.check(value)
    }
  }
}
