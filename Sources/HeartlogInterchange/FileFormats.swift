import Heartlog
import HeartlogLibraries

/// The file formats there are: those that any library may have, and those of each library that is registered.
public struct FileFormats: Sendable {
  /// The formats for the libraries of the five apps, and for libraries of which nothing is known.
  public static let standard = FileFormats(libraries: .standard)

  /// What is known of the libraries whose items the files hold.
  public let libraries: LibraryRegistry
  private let entries: [Entry]

  private struct Entry {
    let format: any FileFormat
    /// The one library that has the format; nil where any may.
    let owner: String?
  }

  /// The formats for these libraries.
  public init(libraries: LibraryRegistry) {
    self.libraries = libraries
    let shared: [any FileFormat] = [
      BibTeXFormat(), RISFormat(), CSLFormat(), JSONLinesFormat(), BookmarksFormat(), GeoJSONFormat(),
      UserDefaultsFormat(libraries: libraries), CSVFormat(libraries: libraries),
    ]
    let own = libraries.descriptors.flatMap { library in
      library.formats.map { Entry(format: $0, owner: library.name) }
    }
    // The sort is stable: of formats that are told as surely, a library's own come first.
    entries = (own + shared.map { Entry(format: $0, owner: nil) })
      .sorted { $0.format.certainty < $1.format.certainty }
  }

  /// All formats, those first that are told from others more surely.
  public var all: [any FileFormat] { entries.map(\.format) }

  /// The format of that name, as it is typed: "csl-json".
  public func named(_ name: String) -> (any FileFormat)? { all.first { $0.name == name } }

  /// The formats that can hold the items of a library.
  public func formats(for library: String) -> [any FileFormat] {
    let library = libraries[library]
    return entries.filter { entry in
      entry.owner.map { $0 == library.name || library.isOpaque } ?? entry.format.fits(library)
    }.map(\.format)
  }

  /// The format of a file, by its content first, since names lie more often; then by its name.
  ///
  /// - Parameters:
  ///   - bytes: the file, or its beginning.
  ///   - name: the file's; nil for a pipe.
  ///   - library: whose items it is to hold.
  public func guess(_ bytes: [UInt8], name: String?, for library: String) -> (any FileFormat)? {
    let beginning = Array(bytes.prefix(4_096))
    let candidates = formats(for: library)
    let recognized = candidates.filter { $0.recognizes(beginning, for: libraries[library]) }
    let ending = name.flatMap(Self.fileExtension)
    func isNamedSo(_ format: any FileFormat) -> Bool { ending.map(format.fileExtensions.contains) ?? false }
    return recognized.first(where: isNamedSo) ?? recognized.first ?? candidates.first(where: isNamedSo)
  }

  /// The format to write a file of that name in; nil where the name tells none.
  ///
  /// - Parameters:
  ///   - name: the file's.
  ///   - library: whose items it is to hold.
  public func forWriting(name: String, of library: String) -> (any FileFormat)? {
    guard let ending = Self.fileExtension(name) else { return nil }
    return formats(for: library).first { $0.isWritten && $0.fileExtensions.contains(ending) }
  }

  private static func fileExtension(_ name: String) -> String? {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    return name[name.index(after: dot)...].lowercased()
  }
}
