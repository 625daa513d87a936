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

  /// Creates the formats for these libraries.
  public init(libraries: LibraryRegistry) {
    self.libraries = libraries
    let shared: [any FileFormat] = [
      BibTeXFormat(), RISFormat(), CSLFormat(), JSONLinesFormat(), BookmarksFormat(), GeoJSONFormat(),
      UserDefaultsFormat(libraries: libraries), CSVFormat(libraries: libraries),
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

  /// Guesses the format of a file from its content, and then from its name, which is wrong more often.
  ///
  /// - Parameters:
  ///   - bytes: the file, or its beginning.
  ///   - name: the name of the file; `nil` for a pipe.
  ///   - library: the library that the items belong to.
  public func guess(_ bytes: [UInt8], name: String?, for library: String) -> (any FileFormat)? {
    let beginning = Array(bytes.prefix(4_096))
    let candidates = formats(for: library)
    let recognized = candidates.filter { $0.recognizes(beginning, for: libraries[library]) }
    let ending = name.flatMap(Self.fileExtension)
    func isNamedSo(_ format: any FileFormat) -> Bool { ending.map(format.fileExtensions.contains) ?? false }
    return recognized.first(where: isNamedSo) ?? recognized.first ?? candidates.first(where: isNamedSo)
  }

  /// The format in which to write a file; `nil` if no fitting format has the extension of its name.
  ///
  /// - Parameters:
  ///   - name: the name of the file.
  ///   - library: the library that the items belong to.
  public func forWriting(name: String, of library: String) -> (any FileFormat)? {
    guard let ending = Self.fileExtension(name) else { return nil }
    return formats(for: library).first { $0.isWritten && $0.fileExtensions.contains(ending) }
  }

  private static func fileExtension(_ name: String) -> String? {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    return name[name.index(after: dot)...].lowercased()
  }
}
