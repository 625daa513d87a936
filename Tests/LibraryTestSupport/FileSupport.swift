import Foundation
import Heartlog
import HeartlogInterchange
import HeartlogLibraries
import Testing

extension FavoritesStore {
  /// All that a library shows.
  public func stored(_ library: String) throws -> [ItemState] {
    try self.library(library).all().filter(\.isVisible)
      .sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
  }

  /// Imports a file.
  @discardableResult
  public func take(
    _ bytes: [UInt8], _ format: any FileFormat, into library: String,
    options: FavoritesLibrary.ImportOptions = .init()
  ) throws -> ImportReport {
    try self.library(library).importFile(bytes, format: format, options: options)
  }

  @discardableResult
  public func take(_ text: String, _ format: any FileFormat, into library: String) throws -> ImportReport {
    try take(Array(text.utf8), format, into: library)
  }
}

extension FavoritesLibrary {
  /// Imports a file whose encoding is found.
  @discardableResult
  public func importFile(
    _ bytes: [UInt8], format: any FileFormat, describedBy descriptor: (any LibraryDescriptor)? = nil,
    options: ImportOptions = ImportOptions()
  ) throws -> ImportReport {
    try importFile(FileText(bytes), format: format, describedBy: descriptor, options: options)
  }
}

/// Exports a library, imports the file into an empty store, and checks that this one holds the same; that importing again writes nothing;
/// and that the file is known by its content alone.
///
/// - Returns: the file.
@discardableResult
public func checkRoundTrip(
  of library: String, as format: any FileFormat, from store: FavoritesStore,
  sourceLocation: SourceLocation = #_sourceLocation
) throws -> [UInt8] {
  let bytes = try store.library(library).exportFile(format: format)
  let copy = try FavoritesStore.inMemory()
  let report = try copy.take(bytes, format, into: library)
  #expect(report.refusals.isEmpty, sourceLocation: sourceLocation)
  let (was, came) = (try store.stored(library), try copy.stored(library))
  #expect(came.map(\.id) == was.map(\.id), sourceLocation: sourceLocation)
  for (a, b) in zip(was, came) where a.id == b.id { #expect(a == b, sourceLocation: sourceLocation) }
  let again = try copy.take(bytes, format, into: library)
  #expect(again.events == 0 && again.commits == 0, sourceLocation: sourceLocation)
  #expect(
    FileFormats.standard.guess(bytes, name: nil, for: library)?.name == format.name,
    sourceLocation: sourceLocation)
  #expect(bytes.last == UInt8(ascii: "\n"), sourceLocation: sourceLocation)
  return bytes
}

/// The lines of what was refused, with the reasons.
public func refusals(_ report: ImportReport) -> [String] {
  report.refusals.map { "\($0.line): \($0.reason)" }
}

extension FileFormats {
  /// The formats for the libraries of one kind only.
  public func formats(onlyFor library: String) -> [any FileFormat] {
    let others = libraries.names.filter { $0 != library }
    return formats(for: library).filter { format in
      !others.contains { formats(for: $0).contains { $0.name == format.name } }
    }
  }
}

extension FileItem {
  /// The app's item that this one is.
  ///
  /// - Throws: `invalidItem` where its fields do not make one.
  public func decoded<Item: Codable & Identifiable>(as type: Item.Type) throws(LibraryError) -> Item
  where Item.ID: FavoriteID {
    do {
      return try FieldDecoder.decode(
        type, id: id, isFavorite: isFavorite, favoritedDate: favoritedDate, fields: fields)
    } catch {
      throw .invalidItem("\(id): \(error)")
    }
  }
}
