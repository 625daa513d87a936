import Heartlog

/// A file format for the items of a library.
///
/// A format has no state, and knows neither a store nor a terminal.
public protocol FileFormat: Sendable {
  /// The name that is typed on a command line: "csl-json".
  var name: String { get }
  /// A phrase that describes the format: "BibTeX, the bibliography of LaTeX".
  var summary: String { get }
  /// File name extensions, in lower case without the dot.
  var fileExtensions: [String] { get }
  /// False if the format can only be read, like the answers of services.
  var isWritten: Bool { get }
  /// How reliable `recognizes` is.
  var certainty: FileCertainty { get }

  /// Whether the format can hold the items of a library.
  func fits(_ library: any LibraryDescriptor) -> Bool

  /// Whether a file has this format, by its first bytes.
  ///
  /// - Parameters:
  ///   - beginning: at most the first 65,536 bytes of the file, in UTF-8 without a byte order mark.
  ///   - library: the library that the items belong to.
  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool

  /// Reads a whole file. A record that is not valid is refused; the others are read.
  ///
  /// - Parameters:
  ///   - bytes: the file, in UTF-8 without a byte order mark.
  ///   - library: the library that the items belong to.
  /// - Throws: `invalidAnswer` if the file does not have this format.
  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents

  /// Writes a whole file, which ends with a line feed. `read` returns equal items.
  ///
  /// - Throws: `invalidItem` for an item that the format cannot hold.
  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8]
}

/// How reliably a format recognizes its files. If several formats recognize a file, the most reliable one is used.
public enum FileCertainty: Int, Sendable {
  /// By a word that no other format contains.
  case signature
  /// By the name of a JSON member, which other formats may have, too.
  case member
  /// By its shape alone: a list of texts, or a first line that can be a header.
  case shape
}

extension FileFormat {
  /// True for any library.
  public func fits(_ library: any LibraryDescriptor) -> Bool { true }

  /// `signature`.
  public var certainty: FileCertainty { .signature }

  /// False.
  public var isWritten: Bool { false }

  /// Throws `invalidItem`: the format can only be read.
  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    throw .invalidItem("\(name) is only read")
  }
}

/// The records of a file: the valid ones as items, the others as refusals.
public struct FileContents: Sendable {
  /// A record that is not valid: where it begins, and the reason.
  public struct Refusal: Hashable, Sendable {
    /// The first line is 1.
    public let line: Int
    /// A phrase without a full stop.
    public let reason: String
    /// The number of the record in the file, starting at 1; `nil` for a part of the file that is no record.
    public let record: Int?
    /// The id in the record; `nil` if none can be read.
    public let id: String?

    /// Creates a refusal of the record that begins on a line.
    package init(line: Int, reason: String, record: Int? = nil, id: String? = nil) {
      self.line = line
      self.reason = reason
      self.record = record
      self.id = id
    }
  }

  /// A valid record.
  package struct Record: Hashable, Sendable {
    /// The line on which it begins; the first line is 1.
    package let line: Int
    /// The number of the record in the file, starting at 1.
    package let number: Int
    /// The item that it holds.
    package fileprivate(set) var item: FileItem
  }

  /// The valid records, in the order of the file.
  package private(set) var records: [Record] = []
  /// The other records, in the order of the file.
  package private(set) var refusals: [Refusal] = []
  /// What a person should know about the file although no record is refused for it.
  package private(set) var remarks: [Refusal] = []
  private var count = 0

  /// Creates the contents of a file without records.
  public init() {}

  /// Adds a valid record.
  package mutating func take(_ item: FileItem, line: Int) {
    count += 1
    records.append(Record(line: line, number: count, item: item))
  }

  /// Changes the items of all valid records.
  package mutating func changeItems(_ change: (inout FileItem) -> Void) {
    for index in records.indices { change(&records[index].item) }
  }

  /// Adds a refusal.
  public mutating func refuse(line: Int, _ reason: String) {
    refusals.append(Refusal(line: line, reason: reason))
  }

  /// Adds a remark.
  package mutating func remark(line: Int, _ text: String) {
    remarks.append(Refusal(line: line, reason: text))
  }

  /// Adds the record that `read` returns, or a refusal with the error that it throws.
  ///
  /// - Parameter isNumbered: whether a refusal has the number of the record, as in a format that may have all records
  ///   on one line.
  package mutating func take(
    line: Int, id: String? = nil, isNumbered: Bool = false, _ read: () throws(LibraryError) -> FileItem
  ) {
    do {
      take(try read(), line: line)
    } catch {
      count += 1
      let number = isNumbered ? count : nil
      refusals.append(Refusal(line: line, reason: error.description, record: number, id: id))
    }
  }

  /// Adds what `read` returns for each record of a JSON text, or a refusal with the error that it throws.
  public mutating func take(
    _ records: [JSONDocument.Node], of document: JSONDocument,
    _ read: (JSONValue) throws(LibraryError) -> FileItem
  ) {
    for record in records {
      let value = Result { () throws(LibraryError) in try document.value(record) }
      let id = (try? value.get()).flatMap(Self.id)
      take(line: record.line, id: id, isNumbered: true) { () throws(LibraryError) in
        try read(try value.get())
      }
    }
  }

  /// Adds what `read` returns for each element of a JSON array, or a refusal with the error that it throws; and a
  /// refusal for the first error between the elements, or before them.
  package mutating func take(
    elementsOf array: JSONDocument.Node, in document: JSONDocument, after failure: Refusal? = nil,
    _ read: (JSONValue) throws(LibraryError) -> FileItem
  ) {
    let (elements, own) = document.elements(of: array)
    if let failure = own ?? failure { refuse(line: failure.line, failure.reason) }
    take(elements, of: document, read)
  }

  /// The member by which people know a record.
  private static func id(of record: JSONValue) -> String? {
    for name in ["id", "_id", "identifier", "url"] {
      switch record[name] {
      case .string(let id)?: return id
      case .int64(let id)?: return String(id)
      default: continue
      }
    }
    return record.string
  }

  /// Adds what `read` returns for each line, or a refusal with the error that it throws. Blank lines are skipped.
  package mutating func takeLines(
    of bytes: [UInt8], _ read: (ArraySlice<UInt8>) throws(LibraryError) -> FileItem
  ) {
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { continue }
      take(line: number) { () throws(LibraryError) in try read(line) }
    }
  }
}

/// A JSON array with one element per line.
package func jsonLines(_ elements: [JSONValue], opening: String = "[", closing: String = "]") -> [UInt8] {
  var output = Array(opening.utf8)
  for (index, element) in elements.enumerated() {
    output += index == 0 ? "\n".utf8 : ",\n".utf8
    output += element.jsonText.utf8
  }
  if !elements.isEmpty { output.append(UInt8(ascii: "\n")) }
  output += "\(closing)\n".utf8
  return output
}

/// The JSON in which an app stores the items of a library without Heartlog: in its user defaults, or in a file.
public protocol AppRecords: Sendable {
  /// Whether a file with this outline holds such records.
  func matches(_ outline: JSONOutline) -> Bool

  /// Whether an item of a library without a descriptor can be written as such a record.
  func matches(_ item: FileItem) -> Bool

  /// Reads the records. A record that is not valid is refused; the others are read.
  ///
  /// - Throws: `invalidAnswer` if the text does not have the form of these records.
  func read(_ document: JSONDocument) throws(LibraryError) -> FileContents

  /// Writes the records as the app reads them. The text ends with a line feed.
  ///
  /// - Throws: `invalidItem` for an item that the app cannot read.
  func write(_ items: [FileItem]) throws(LibraryError) -> [UInt8]
}

/// Records in a JSON array, or one after the other, one for each item.
protocol AppRecordList: AppRecords {
  /// The descriptor of the records' library.
  var library: any LibraryDescriptor { get }

  /// The members that are read.
  var members: Set<String> { get }

  func item(_ record: JSONValue) throws(LibraryError) -> FileItem
  func record(_ item: FileItem) throws(LibraryError) -> JSONValue
}

extension AppRecordList {
  func read(_ document: JSONDocument) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    let (elements, failure) = document.records()
    guard document.isArray(document.root) || document.isObject(document.root) && elements.count > 1 else {
      throw .invalidAnswer("the file is not a JSON list")
    }
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    var unknown = UnknownMembers(besides: members.union(FileItem.restMembers))
    contents.take(elements, of: document) { (record) throws(LibraryError) in
      unknown.count(in: record)
      return try library.checked(try item(record))
    }
    let line = elements.first?.line ?? 1
    for phrase in unknown.phrases { contents.remark(line: line, phrase) }
    if !contents.records.isEmpty, !contents.records.contains(where: \.item.isFavorite) {
      contents.remark(
        line: line,
        "no record is marked by isFavorite: their values are imported, and none becomes a favorite")
    }
    return contents
  }

  func write(_ items: [FileItem]) throws(LibraryError) -> [UInt8] {
    jsonLines(try items.map { (item) throws(LibraryError) in try record(item) })
  }
}

extension FileItem {
  /// The members that `takeRest` reads.
  static let restMembers: Set = [FieldName.favoritedDate, "fields"]

  /// Reads the members that an app ignores: the date, and the fields without a member of their own.
  mutating func takeRest(of record: JSONValue) throws(LibraryError) {
    if let date = try Self.date(record[FieldName.favoritedDate], named: FieldName.favoritedDate) {
      favoritedDate = date
    }
    var rest = FileItem(id: id)
    try rest.takeFields(record["fields"])
    for field in rest.fields { set(field.name, field.value) }
  }

  /// The members that `takeRest` reads.
  func rest(except names: Set<String> = [], date: Bool = true) -> [JSONMember] {
    let rest = fields.filter { !names.contains($0.name) && !$0.value.isNull }
    return [JSONMember].present([
      FieldName.favoritedDate: date ? jsonDate : nil, "fields": rest.isEmpty ? nil : rest.jsonObject,
    ])
  }
}
