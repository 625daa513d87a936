import Heartlog

/// A file format for the items of a library: how it is told from others, read and written.
///
/// A format has no state; it knows neither the store nor a terminal.
public protocol FileFormat: Sendable {
  /// As it is typed: "csl-json".
  var name: String { get }
  /// What it is, as a phrase: "BibTeX, the bibliography of LaTeX".
  var summary: String { get }
  /// How the names of such files end, in lower case without the dot.
  var fileExtensions: [String] { get }
  /// False for what is only read: the answers of services.
  var isWritten: Bool { get }
  /// How surely `recognizes` tells such a file from others.
  var certainty: FileCertainty { get }

  /// Whether the format can hold items of that library. A library of whose items nothing is known is never refused.
  func fits(_ library: any LibraryDescriptor) -> Bool

  /// Whether a file that begins so is of this format.
  ///
  /// - Parameters:
  ///   - beginning: the first bytes of the file, 4,096 at most, without a byte order mark.
  ///   - library: whose items it is to hold.
  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool

  /// Reads a whole file. One bad record never takes the others with it.
  ///
  /// - Parameters:
  ///   - bytes: without a byte order mark.
  ///   - library: whose items they are to be.
  /// - Throws: `invalidAnswer` for what is not of this format at all.
  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents

  /// Writes a whole file, ending with a line feed. What it writes, it reads back as equal items, as far as the format can carry them.
  ///
  /// - Throws: `invalidItem` for an item that the format cannot hold.
  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8]
}

/// How surely a file is told by its beginning. Of several formats that recognize a file the surest is taken.
public enum FileCertainty: Int, Comparable, Sendable {
  /// By a word that no other format has.
  case signature
  /// By the name of a member that other JSON may have, too.
  case member
  /// By its shape alone: a list of texts, a first line that can be a header.
  case shape

  /// The surer one comes first.
  public static func < (a: FileCertainty, b: FileCertainty) -> Bool { a.rawValue < b.rawValue }
}

extension FileFormat {
  /// True: any library.
  public func fits(_ library: any LibraryDescriptor) -> Bool { true }

  /// By a signature.
  public var certainty: FileCertainty { .signature }

  /// False, as for the answers of services.
  public var isWritten: Bool { false }

  /// Refuses to: the format is only read.
  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    throw .invalidItem("\(name) is only read")
  }
}

/// What was read from a file: the items, each with the line where it begins, and what was refused.
public struct FileContents: Sendable {
  /// A record that is no item, where it begins (the first line is 1), and why.
  public struct Refusal: Hashable, Sendable {
    /// The first line is 1.
    public let line: Int
    /// A phrase without a full stop.
    public let reason: String

    /// A refusal of the record that begins on a line.
    public init(line: Int, reason: String) {
      self.line = line
      self.reason = reason
    }
  }

  /// A sound record.
  public struct Record: Hashable, Sendable {
    /// Where it begins; the first line is 1.
    public let line: Int
    /// What it holds.
    public let item: FileItem
  }

  /// The sound records, in the order of the file.
  public private(set) var records: [Record] = []
  /// What was refused, in the order of the file.
  public private(set) var refusals: [Refusal] = []

  /// A file without a record.
  public init() {}

  /// Takes a sound record.
  public mutating func take(_ item: FileItem, line: Int) { records.append(Record(line: line, item: item)) }

  /// Notes that there is no item at a line, and why.
  public mutating func refuse(line: Int, _ reason: String) {
    refusals.append(Refusal(line: line, reason: reason))
  }

  /// Takes the record that `read` makes, or notes why there is none.
  public mutating func take(line: Int, _ read: () throws(LibraryError) -> FileItem) {
    do { take(try read(), line: line) } catch { refuse(line: line, error.description) }
  }

  /// Takes what `read` makes of each record of a JSON text.
  public mutating func take(
    _ records: [JSONDocument.Node], of document: JSONDocument,
    _ read: (JSONValue) throws(LibraryError) -> FileItem
  ) {
    for record in records {
      take(line: record.line) { () throws(LibraryError) in try read(try document.value(record)) }
    }
  }

  /// Takes what `read` makes of each line of a file that has one record a line; blank lines are passed over, and counted.
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

/// The lines of a JSON array, one element a line.
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
