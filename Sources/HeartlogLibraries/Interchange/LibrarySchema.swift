import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What is known of the fields of the five apps' items, for files that were written by others.
struct KnownField: Sendable {
  enum Kind: Hashable, Sendable {
    case text
    case url
    case bool
    /// With the least and the most that it may be.
    case number(ClosedRange<Double>)
    /// A list, or a single text for a list of one.
    case texts
  }

  let name: String
  let kind: Kind

  private init(_ name: String, _ kind: Kind = .text) {
    self.name = name
    self.kind = kind
  }

  private static let seconds = Kind.number(0...Double.greatestFiniteMagnitude)

  /// The fields of a library's items, in the order in which people want to read them; none for a library of an app's own.
  static func all(of library: String) -> [KnownField] { fields[library] ?? [] }

  private static let fields: [String: [KnownField]] = [
    City.library: [
      .init("name"), .init("country"), .init("lat", .number(-90...90)), .init("lon", .number(-180...180)),
    ],
    Book.library: [
      .init("title"), .init("author"), .init("fileURL", .url), .init("coverImageURL", .url),
      .init("duration", seconds), .init("currentPosition", seconds), .init("isDownloaded", .bool),
      .init("googleDriveFileID"), .init("associatedFiles", .texts), .init("coverSearch"),
    ],
    Archive.library: [
      .init("title"), .init("archiveTitle"), .init("mediatype"), .init("creators", .texts),
      .init("publishers", .texts), .init("desc"), .init("iconUrlString"),
    ],
    Track.library: [.init("title"), .init("archiveIdentifier")],
    Paper.library: [
      .init("title"), .init("authors", .texts), .init("categories", .texts), .init("publishedDate"),
      .init("updatedDate"), .init("linkURL", .url), .init("pdfURL", .url), .init("summary"),
    ],
    BreedImage.library: [.init("breed")],
    PlaybackSettings.library: [
      .init("playbackSpeed", .number(0.5...2)), .init("skipForwardInterval", seconds),
      .init("skipBackwardInterval", seconds), .init("simulateChapters", .bool),
      .init("simulatedChapterLength", seconds), .init("rewindAfterInterruption", seconds),
    ],
  ]

  /// Refuses a value that no item of the library may have.
  func check(_ value: FieldValue) throws(LibraryError) {
    switch (kind, value) {
    case (_, .null), (_, .unknown), (.text, .string), (.bool, .bool): break
    case (.url, .string(let text)):
      guard URL(string: text) != nil else { throw .invalidItem("\(name) is no URL: \(Self.shown(text))") }
    case (.number(let range), .int64), (.number(let range), .double):
      let number = value.number ?? .nan
      guard range.contains(number) else {
        throw .invalidItem("\(name) is \(value.jsonValue.jsonText), \(Self.bounds(of: range))")
      }
    case (.texts, .string): break
    case (.texts, .json(let list)):
      guard let elements = list.value.array, elements.allSatisfy({ $0.string != nil }) else {
        throw .invalidItem("\(name) is no list of texts")
      }
    default: throw .invalidItem("\(name) is \(value.jsonValue.kind), not \(noun)")
    }
  }

  /// Refuses a member of a record, as `check` does the field that it becomes.
  func check(json: JSONValue) throws(LibraryError) {
    let value: FieldValue
    do throws(MalformedError) {
      value = try FieldValue(json)
    } catch {
      throw .invalidItem("\(name): \(error.reason)")
    }
    try check(value)
  }

  private static func bounds(of range: ClosedRange<Double>) -> String {
    range.upperBound < .greatestFiniteMagnitude
      ? "which must be \(JSONValue.double(range.lowerBound).jsonText) to \(JSONValue.double(range.upperBound).jsonText)"
      : "which must be \(JSONValue.double(range.lowerBound).jsonText) or more"
  }

  /// As a message says it: "a number".
  var noun: String {
    switch kind {
    case .text: "a text"
    case .url: "a URL"
    case .bool: "true or false"
    case .number: "a number"
    case .texts: "a list of texts"
    }
  }

  /// A text as a message quotes it.
  static func shown(_ text: some StringProtocol) -> String {
    text.utf8.count > 64 ? "\"\(text.prefix(64))…\"" : "\"\(text)\""
  }
}

extension FileItem {
  /// The item if it can be one of the library: its id, and the values of the fields that are known. A position in a book is brought into
  /// its duration.
  ///
  /// - Throws: `invalidItem` with the first thing that is wrong.
  func checked(for library: String) throws(LibraryError) -> FileItem {
    var item = self
    item.id = try Self.id(id, of: library)
    let known = KnownField.all(of: library)
    for field in fields {
      try known.first { $0.name == field.name }?.check(field.value)
    }
    if library == Book.library, let duration = item["duration"]?.number, duration > 0,
      let position = item["currentPosition"]?.number, position > duration,
      let value = FieldValue.number(duration)
    {
      item.set("currentPosition", value)
    }
    return item
  }

  /// The one spelling of an id.
  private static func id(_ text: String, of library: String) throws(LibraryError) -> String {
    guard !text.isEmpty else { throw .invalidItem("an item without an id") }
    switch library {
    case City.library:
      guard let number = Int(text) else {
        throw .invalidItem("\(KnownField.shown(text)) is no id of a city, a number")
      }
      return number.favoriteID
    case Book.library:
      guard let uuid = UUID(uuidString: text) else {
        throw .invalidItem("\(KnownField.shown(text)) is no id of a book, a UUID")
      }
      return uuid.favoriteID
    case BreedImage.library, Track.library:
      guard let url = URL(favoriteID: text), url.scheme != nil else {
        throw .invalidItem("\(KnownField.shown(text)) is no URL")
      }
      return text
    default: return text
    }
  }

  /// Puts a value in place of another, or beside the others.
  mutating func set(_ name: String, _ value: FieldValue) {
    fields.removeAll { $0.name == name }
    fields.append(Field(name: name, value: value))
  }

  /// An app's item without the fields that it does not have: what a file does not tell is not cleared.
  init<Item: Codable & Identifiable>(told item: Item) throws(LibraryError) where Item.ID: FavoriteID {
    try self.init(item)
    fields.removeAll { $0.value.isNull }
  }

  /// Refuses what only a later version of the store understands.
  ///
  /// - Parameter reserved: names that the format has a meaning of its own for.
  func checkWritable(reserved: Set<String> = []) throws(LibraryError) {
    for field in fields {
      if case .unknown = field.value {
        throw .invalidItem("\(id): \(field.name) is a value of a later version")
      }
      if reserved.contains(field.name) {
        throw .invalidItem("\(id): a field named \(field.name), which means something else there")
      }
    }
  }
}
