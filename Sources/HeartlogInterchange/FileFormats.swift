import Heartlog
import HeartlogLibraries

/// The file formats that are available: the shared ones, and those of each registered library.
public struct FileFormats: Sendable {
  /// The formats for the ready-made libraries and for libraries without a descriptor.
  public static let standard = FileFormats(libraries: .standard)

  /// The descriptors of the libraries.
  public let libraries: LibraryRegistry
  private let entries: [Entry]

  private struct Entry {
    let format: any FileFormat
    /// The library that the format belongs to; `nil` for a shared format.
    let owner: String?
  }

  /// How tables and lists are read.
  public struct ReadingOptions: Sendable {
    /// The name of the column or member that holds the id, in any case; `nil` to find it.
    public var idColumn: String?
    /// Converts a time without an offset to UTC. Without it, such a time is in UTC already.
    public var utc: @Sendable (Milliseconds) -> Milliseconds = { $0 }

    /// Creates options that find the id, and take times without an offset as UTC.
    public init() {}
  }

  /// Creates the formats for these libraries.
  ///
  /// - Parameters:
  ///   - libraries: the descriptors of the libraries.
  ///   - options: how tables and lists are read.
  public init(libraries: LibraryRegistry, options: ReadingOptions = ReadingOptions()) {
    self.libraries = libraries
    let shared: [any FileFormat] = [
      BibTeXFormat(), RISFormat(), CSLFormat(), JSONLinesFormat(), BookmarksFormat(), GeoJSONFormat(),
      UserDefaultsFormat(libraries: libraries), CSVFormat(libraries: libraries, options: options),
      JSONFormat(options: options),
    ]
    let own = libraries.descriptors.flatMap { library in
      library.formats.map { Entry(format: $0, owner: library.name) }
    }
    // The sort is stable: among equally reliable formats, a library's own come first.
    entries = (own + shared.map { Entry(format: $0, owner: nil) })
      .sorted { $0.format.certainty < $1.format.certainty }
  }

  /// All formats, the more reliably recognized ones first.
  public var all: [any FileFormat] { entries.map(\.format) }

  /// The format of that name, such as "csl-json".
  public func named(_ name: String) -> (any FileFormat)? { all.first { $0.name == name } }

  /// The formats that can hold the items of a library.
  public func formats(for library: String) -> [any FileFormat] {
    let library = libraries[library]
    return entries.filter { entry in
      entry.owner.map { $0 == library.name || library.isOpaque } ?? entry.format.fits(library)
    }.map(\.format)
  }

  /// Guesses the format of a file from its content, and then from its name, which is wrong more often. A format
  /// is only guessed if the file can be no other: see `possible`.
  ///
  /// - Parameters:
  ///   - bytes: the file in UTF-8, or its beginning: see `FileText`.
  ///   - name: the name of the file; `nil` for a pipe.
  ///   - library: the library that the items belong to.
  public func guess(_ bytes: [UInt8], name: String?, for library: String) -> (any FileFormat)? {
    let candidates = entries(for: library)
    let recognized = recognizing(bytes, among: candidates.filter { isSure($0, for: library) }, library)
    let named = candidates.map(\.format).filter { Self.has($0, name) }
    if let format = recognized.first(where: { Self.has($0, name) }) ?? recognized.first { return format }
    let isBlank = bytes.allSatisfy(\.isASCIIWhiteSpace)
    return named.count == 1 || isBlank ? named.first : nil
  }

  /// The formats that a file may have whose format cannot be guessed.
  public func possible(_ bytes: [UInt8], name: String?, for library: String) -> [any FileFormat] {
    let candidates = entries(for: library)
    let recognized = recognizing(bytes, among: candidates, library).map(\.name)
    return candidates.map(\.format).filter { recognized.contains($0.name) || Self.has($0, name) }
  }

  private func entries(for library: String) -> [Entry] {
    let names = formats(for: library).map(\.name)
    return entries.filter { names.contains($0.format.name) }
  }

  /// Whether a format is certain once it recognizes a file. In a library without a descriptor, a service's answers
  /// may be anything.
  private func isSure(_ entry: Entry, for library: String) -> Bool {
    entry.owner == nil || entry.format.certainty == .signature || !libraries[library].isOpaque
  }

  private func recognizing(
    _ bytes: [UInt8], among entries: [Entry], _ library: String
  ) -> [any FileFormat] {
    let beginning = Array(bytes.prefix(65_536))
    return entries.map(\.format).filter { $0.recognizes(beginning, for: libraries[library]) }
  }

  private static func has(_ format: any FileFormat, _ name: String?) -> Bool {
    name.flatMap(fileExtension).map(format.fileExtensions.contains) ?? false
  }

  /// The format in which to write a file; `nil` if no fitting format has the extension of its name.
  ///
  /// - Parameters:
  ///   - name: the name of the file.
  ///   - library: the library that the items belong to.
  public func forWriting(name: String, of library: String) -> (any FileFormat)? {
    let named = formats(for: library).filter { $0.isWritten && Self.has($0, name) }
    // The formats of the apps are none of a library of one's own.
    return libraries[library].isOpaque ? named.first { $0 is JSONFormat } ?? named.first : named.first
  }

  private static func fileExtension(_ name: String) -> String? {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    return name[name.index(after: dot)...].lowercased()
  }
}
