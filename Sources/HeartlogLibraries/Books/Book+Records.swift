import Heartlog
import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The books in a file, and the records that are not valid.
public struct BookRecords: Sendable {
  /// The valid books, in the order of the file.
  public var books: [Book] = []
  /// The index of each other record in the file, from 0, and what is wrong with it.
  public var rejected: [(index: Int, error: LibraryError)] = []
}

/// Parsing of the app's own storage: a JSON array, as `JSONEncoder` writes it.
extension Book {
  /// Parses the app's array. A record that is not valid does not affect the others.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the value is not an array.
  public static func books(appRecords file: some JSONSource) throws(LibraryError) -> BookRecords {
    guard let elements = try file.json().array else {
      throw .invalidAnswer("a library of books that is no array")
    }
    return records(elements) { (element) throws(LibraryError) in try Book(appRecord: element) }
  }

  /// Parses one record: `dateAdded` as seconds since 2001 or as RFC 3339, URLs as strings or as bare paths. The app writes the paths of
  /// the audio, the cover and the associated files as `fileURLString`, `coverImageURLString` and `associatedFilesStrings`.
  ///
  /// - Throws: `LibraryError.invalidItem` if the record has no id, title or date, or a value of another kind.
  public init(appRecord record: some JSONSource) throws(LibraryError) {
    let record = try record.json()
    guard let id = record["id"]?.string.flatMap({ UUID(uuidString: $0) }) else {
      throw .invalidItem("a book without an id")
    }
    guard let title = record["title"]?.string else {
      throw .invalidItem("the book \(id.favoriteID) without a title")
    }
    for known in Self.descriptor.fields {
      if let value = record[known.name] { try known.check(json: value) }
    }
    for name in [PathMember.file, .cover].map(\.rawValue) {
      guard let value = record[name], !value.isNull, value.string == nil else { continue }
      throw .invalidItem("\(name) is \(value.kind), not a path")
    }
    let duration = max(0, record["duration"]?.number ?? 0)
    self.init(
      id: id, title: title, author: record["author"]?.string,
      fileURL: Self.url(record["fileURL"]) ?? Self.url(record[PathMember.file.rawValue]),
      coverImageURL: Self.url(record["coverImageURL"]) ?? Self.url(record[PathMember.cover.rawValue]),
      duration: duration,
      currentPosition: Self.clamped(record["currentPosition"]?.number ?? 0, duration: duration),
      dateAdded: try Self.date(record["dateAdded"], of: id), isDownloaded: record["isDownloaded"]?.bool,
      googleDriveFileID: record["googleDriveFileID"]?.string,
      associatedFiles: try Self.files(
        record["associatedFiles"] ?? record[PathMember.associatedFiles.rawValue], of: id))
  }

  /// The members in which the app keeps the paths of files.
  enum PathMember: String, CaseIterable {
    case file = "fileURLString"
    case cover = "coverImageURLString"
    case associatedFiles = "associatedFilesStrings"
  }

  /// The members of a record that are read.
  static let appMembers = Set(
    descriptor.fields.map(\.name) + PathMember.allCases.map(\.rawValue)
      + ["id", "dateAdded", FieldName.favoritedDate, "fields"])

  private static func files(_ list: JSONValue?, of id: UUID) throws(LibraryError) -> [URL] {
    guard let list, !list.isNull else { return [] }
    guard let files = list.array?.compactMap({ url($0) }), files.count == list.array?.count else {
      throw .invalidItem("the book \(id.favoriteID) with associated files that are no list of URLs")
    }
    return files
  }

  private static func url(_ value: JSONValue?) -> URL? {
    value?.string.flatMap { url($0) }
  }

  private static func date(_ value: JSONValue?, of id: UUID) throws(LibraryError) -> Date {
    if let seconds = value?.number {
      guard seconds.magnitude < 1e12 else { throw .invalidItem("a date outside the years 0000 to 9999") }
      return Date(timeIntervalSinceReferenceDate: seconds)
    }
    guard let text = value?.string, let time = try? RFC3339.parse(text) else {
      throw .invalidItem("the book \(id.favoriteID) without a date")
    }
    return Date(timeIntervalSince1970: Double(time) / 1_000)
  }

  private static func records(
    _ elements: [JSONValue], read: (JSONValue) throws(LibraryError) -> Book
  ) -> BookRecords {
    var records = BookRecords()
    for (index, element) in elements.enumerated() {
      do {
        records.books.append(try read(element))
      } catch {
        records.rejected.append((index, error))
      }
    }
    return records
  }
}

/// Parsing of the answers of LibriVox: `{"books": […]}`.
extension Book {
  /// Parses an answer. A record that is not valid does not affect the others.
  ///
  /// - Parameters:
  ///   - answer: `{"books": […]}`.
  ///   - dateAdded: the date of all books.
  /// - Throws: `LibraryError.invalidAnswer` if the answer has no list of books.
  public static func books(libriVox answer: some JSONSource, dateAdded: Date) throws(LibraryError)
    -> BookRecords
  {
    guard let elements = try answer.json()["books"]?.array else {
      throw .invalidAnswer("an answer without books")
    }
    return records(elements) { (element) throws(LibraryError) in
      try Book(libriVox: element, dateAdded: dateAdded)
    }
  }

  /// Parses one record. The same record always becomes the same book: its id is derived from LibriVox's.
  ///
  /// - Throws: `LibraryError.invalidItem` if the record has no id, title or file, or a duration below 0.
  public init(libriVox record: some JSONSource, dateAdded: Date) throws(LibraryError) {
    let record = try record.json()
    guard let number = record["id"]?.string, !number.isEmpty else {
      throw .invalidItem("a record of LibriVox without an id")
    }
    guard let title = record["title"]?.string, let fileURL = Self.url(record["url_zip_file"]) else {
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
