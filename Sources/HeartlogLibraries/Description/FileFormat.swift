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
  ///   - beginning: at most the first 4,096 bytes of the file, without a byte order mark.
  ///   - library: the library that the items belong to.
  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool

  /// Reads a whole file. A record that is not valid is refused; the others are read.
  ///
  /// - Parameters:
  ///   - bytes: the file, without a byte order mark.
  ///   - library: the library that the items belong to.
  /// - Throws: `invalidAnswer` if the file does not have this format.
  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents

  /// Writes a whole file, which ends with a line feed. `read` returns equal items.
  ///
  /// - Throws: `invalidItem` for an item that the format cannot hold.
  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8]
}

/// How reliably a format recognizes its files. If several formats recognize a file, the most reliable one is used.
public enum FileCertainty: Int, Comparable, Sendable {
  /// By a word that no other format contains.
  case signature
  /// By the name of a JSON member, which other formats may have, too.
  case member
  /// By its shape alone: a list of texts, or a first line that can be a header.
  case shape

  /// The more reliable one comes first.
  public static func < (a: FileCertainty, b: FileCertainty) -> Bool { a.rawValue < b.rawValue }
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
  /// A record that is not valid: the line on which it begins, and the reason.
  public struct Refusal: Hashable, Sendable {
    /// The first line is 1.
    public let line: Int
    /// A phrase without a full stop.
    public let reason: String

    /// Creates a refusal of the record that begins on a line.
    public init(line: Int, reason: String) {
      self.line = line
      self.reason = reason
    }
  }

  /// A valid record.
  public struct Record: Hashable, Sendable {
    /// The line on which it begins; the first line is 1.
    public let line: Int
    /// The item that it holds.
    public let item: FileItem
  }

  /// The valid records, in the order of the file.
  public private(set) var records: [Record] = []
  /// The other records, in the order of the file.
  public private(set) var refusals: [Refusal] = []
  /// What a person should know about the file although no record is refused for it.
  public private(set) var remarks: [Refusal] = []

  /// Creates the contents of a file without records.
  public init() {}

  /// Adds a valid record.
  public mutating func take(_ item: FileItem, line: Int) { records.append(Record(line: line, item: item)) }

  /// Adds a refusal.
  public mutating func refuse(line: Int, _ reason: String) {
    refusals.append(Refusal(line: line, reason: reason))
  }

  /// Adds a remark.
  public mutating func remark(line: Int, _ text: String) { remarks.append(Refusal(line: line, reason: text)) }

  /// Adds the record that `read` returns, or a refusal with the error that it throws.
  public mutating func take(line: Int, _ read: () throws(LibraryError) -> FileItem) {
    do { take(try read(), line: line) } catch { refuse(line: line, error.description) }
  }

  /// Adds what `read` returns for each record of a JSON text, or a refusal with the error that it throws.
  public mutating func take(
    _ records: [JSONDocument.Node], of document: JSONDocument,
    _ read: (JSONValue) throws(LibraryError) -> FileItem
  ) {
    for record in records {
      take(line: record.line) { () throws(LibraryError) in try read(try document.value(record)) }
    }
  }

  /// Adds what `read` returns for each line, or a refusal with the error that it throws. Blank lines are skipped.
  public mutating func takeLines(
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
package func jsonLines(_ elements: [[UInt8]], opening: String = "[", closing: String = "]") -> [UInt8] {
  var output = Array(opening.utf8)
  for (index, element) in elements.enumerated() {
    output += index == 0 ? "\n".utf8 : ",\n".utf8
    output += element
  }
  if !elements.isEmpty { output.append(UInt8(ascii: "\n")) }
  output += "\(closing)\n".utf8
  return output
}
