import Heartlog

/// A file format for the items of a library: how it is told from others, read and written.
///
/// A format has no state; it knows neither the store nor a terminal.
public protocol FileFormat: Sendable {
  /// As it is typed: "csl-json".
  var name: String { get }
  /// What it is, as a phrase: "BibTeX, the bibliography of LaTeX".
  var summary: String { get }
  /// The libraries whose items it can hold; nil for any. A library of an app's own is never refused.
  var libraries: Set<String>? { get }
  /// How the names of such files end, in lower case without the dot.
  var fileExtensions: [String] { get }
  /// False for what is only read: the answers of services.
  var isWritten: Bool { get }

  /// Whether a file that begins so is of this format. Formats that are more particular are asked first.
  ///
  /// - Parameter beginning: the first bytes of the file, 4,096 at most, without a byte order mark.
  func recognizes(_ beginning: [UInt8]) -> Bool

  /// Reads a whole file. One bad record never takes the others with it.
  ///
  /// - Parameters:
  ///   - bytes: without a byte order mark.
  ///   - library: whose items they are to be.
  ///   - now: milliseconds since 1970, for formats whose items need a date that the file does not tell.
  /// - Throws: `invalidAnswer` for what is not of this format at all.
  func read(_ bytes: [UInt8], for library: String, now: Milliseconds) throws(LibraryError) -> FileContents

  /// Writes a whole file, ending with a line feed. What it writes, it reads back as equal items, as far as the format can carry them.
  ///
  /// - Throws: `invalidItem` for an item that the format cannot hold.
  func write(_ items: [FileItem], of library: String) throws(LibraryError) -> [UInt8]
}

extension FileFormat {
  /// Whether the format is for the items of that library.
  public func fits(_ library: String) -> Bool {
    guard let libraries else { return true }
    return libraries.contains(library) || !FileFormats.knownLibraries.contains(library)
  }
}

/// The formats there are.
public enum FileFormats {
  /// The libraries whose items have a shape that is known here.
  public static let knownLibraries: Set<String> = [
    "archives", "tracks", "papers", "cities", "breeds", "books", "settings",
  ]

  /// Those that are told by more come first.
  public static let all: [any FileFormat] = [
    ArXivAtomFormat(), ArXivSnapshotFormat(), BibTeXFormat(), RISFormat(), CSLFormat(),
    JSONLinesFormat(),
    BookmarksFormat(),
    GeoJSONFormat(),
    DogCeoFormat(),
    LibriVoxFormat(),
    ArchiveJSONFormat(),
    UserDefaultsFormat(),
    CSVFormat(),
  ]

  /// The format of that name, as it is typed: "csl-json".
  public static func named(_ name: String) -> (any FileFormat)? { all.first { $0.name == name } }

  /// The format of a file, by its content first, since names lie more often; then by its name.
  ///
  /// - Parameters:
  ///   - bytes: the file, or its beginning.
  ///   - name: the file's; nil for a pipe.
  ///   - library: whose items it is to hold.
  public static func guess(_ bytes: [UInt8], name: String?, for library: String) -> (any FileFormat)? {
    let beginning = Array(bytes.prefix(4_096))
    let candidates = all.filter { $0.fits(library) }
    let recognized = candidates.filter { $0.recognizes(beginning) }
    let ending = name.flatMap(fileExtension)
    func isNamedSo(_ format: any FileFormat) -> Bool { ending.map(format.fileExtensions.contains) ?? false }
    return recognized.first(where: isNamedSo) ?? recognized.first ?? candidates.first(where: isNamedSo)
  }

  /// The format to write a file of that name in.
  public static func forWriting(name: String, of library: String) -> (any FileFormat)? {
    guard let ending = fileExtension(name) else { return nil }
    return all.first { $0.isWritten && $0.fits(library) && $0.fileExtensions.contains(ending) }
  }

  private static func fileExtension(_ name: String) -> String? {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    return name[name.index(after: dot)...].lowercased()
  }

  /// A file's bytes without the byte order mark of UTF-8.
  static func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
    bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
  }
}
