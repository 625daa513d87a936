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
  package struct ReadingOptions: Sendable {
    /// The name of the column or member that holds the id, in any case; `nil` to find it.
    package var idColumn: String?
    /// Converts a time without an offset to UTC. Without it, such a time is in UTC already.
    package var utc: @Sendable (Milliseconds) -> Milliseconds = { $0 }

    /// Creates options that find the id, and take times without an offset as UTC.
    package init() {}
  }

  /// Creates the formats for these libraries.
  public init(libraries: LibraryRegistry) { self.init(libraries: libraries, options: ReadingOptions()) }

  /// - Parameters:
  ///   - libraries: the descriptors of the libraries.
  ///   - options: how tables and lists are read.
  package init(libraries: LibraryRegistry, options: ReadingOptions) {
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
      .sorted { $0.format.certainty.rawValue < $1.format.certainty.rawValue }
  }

  /// All formats, the more reliably recognized ones first.
  package var all: [any FileFormat] { entries.map(\.format) }

  /// The format of that name, such as "csl-json".
  package func named(_ name: String) -> (any FileFormat)? { all.first { $0.name == name } }

  /// The formats that can hold the items of a library.
  package func formats(for library: String) -> [any FileFormat] { entries(for: library).map(\.format) }

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
  package func possible(_ bytes: [UInt8], name: String?, for library: String) -> [any FileFormat] {
    let candidates = entries(for: library)
    let recognized = recognizing(bytes, among: candidates, library).map(\.name)
    return candidates.map(\.format).filter { recognized.contains($0.name) || Self.has($0, name) }
  }

  private func entries(for library: String) -> [Entry] {
    let library = libraries[library]
    return entries.filter { entry in
      entry.owner.map { $0 == library.name || library.isOpaque } ?? entry.format.fits(library)
    }
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
  package func forWriting(name: String, of library: String) -> (any FileFormat)? {
    let named = formats(for: library).filter { $0.isWritten && Self.has($0, name) }
    // The formats of the apps are none of a library of one's own.
    return libraries[library].isOpaque ? named.first { $0 is JSONFormat } ?? named.first : named.first
  }

  private static func fileExtension(_ name: String) -> String? {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    return name[name.index(after: dot)...].lowercased()
  }
}

extension FileFormats {
  /// BibTeX, the bibliography of LaTeX.
  public static var bibTeX: any FileFormat { BibTeXFormat() }
  /// RIS, as reference managers exchange it.
  public static var ris: any FileFormat { RISFormat() }
  /// CSL-JSON, as citation processors read it.
  public static var cslJSON: any FileFormat { CSLFormat() }
  /// JSON Lines, one item per line, with everything that the store has.
  public static var jsonLines: any FileFormat { JSONLinesFormat() }
  /// A JSON list of objects with an id, whose other members are fields.
  public static var json: any FileFormat { JSONFormat() }
  /// A table, one row per item, as programs exchange it.
  public static var csv: any FileFormat { CSVFormat() }
  /// A table for people who open it in a spreadsheet: a cell that would be taken for a formula is marked. Importing takes the marks off.
  public static var spreadsheetCSV: any FileFormat { CSVFormat(isForSpreadsheets: true) }
  /// A bookmarks file, as browsers import and export it.
  public static var bookmarks: any FileFormat { BookmarksFormat() }
  /// Points on a map.
  public static var geoJSON: any FileFormat { GeoJSONFormat() }
}

/// The result of an import or of its dry run.
public struct ImportReport: Sendable {
  /// The name of the file's format.
  public let format: String
  /// Items that became favorites.
  public internal(set) var added = 0
  /// Items that changed without becoming favorites: they already were, or the file does not make them
  /// favorites.
  public internal(set) var updated = 0
  /// Items whose state in the store is already the same.
  public internal(set) var unchanged = 0
  /// Items that the store does not have, and that the file neither makes favorites nor gives fields.
  public internal(set) var leftOut = 0
  /// Records of an item that a later record of the file replaces.
  public internal(set) var repeated = 0
  /// Events that were written, or would be.
  public internal(set) var events = 0
  /// Commits that contain the events; 0 for a dry run.
  public internal(set) var commits = 0
  /// The refused parts of the file, by line.
  public internal(set) var refusals: [FileContents.Refusal] = []
  /// What a person should know of the file although nothing was refused, by line.
  public internal(set) var remarks: [FileContents.Refusal] = []
  /// Whether the file has only one line, so that the number of a record says more than that of a line.
  package internal(set) var isOneLine = false

  /// The number of imported items, without refused ones.
  public var items: Int { added + updated + unchanged }
}

extension FavoritesLibrary {
  /// Options for an import.
  public struct ImportOptions: Sendable {
    /// Imports only the fields of items, and makes none of them a favorite.
    public var isMetadataOnly = false
    /// Writes nothing, and reports what would be written.
    public var isDryRun = false

    /// Creates options for an import that makes favorites and writes them.
    public init() {}
  }

  /// The most items in one commit, and the most bytes of their values. Both are far below the limits of the
  /// format.
  private static let importCommitItemsMax = 1_000
  private static let importCommitBytesMax = 4 << 20

  /// Imports the items of a file. Importing it again writes nothing.
  ///
  /// An item becomes a favorite with the date in the file, or with the current time if there is none. An item
  /// that is a favorite already keeps its date, and only fields that differ are written. An item that was
  /// removed becomes a favorite again. Commits have the origin `import:FORMAT` and contain up to 1,000 items;
  /// after an import that ends half-way, the next one continues. Of several records of one item, the last one is
  /// imported.
  ///
  /// - Parameters:
  ///   - text: the whole file.
  ///   - format: the format of the file; see `FileFormats.guess`.
  ///   - descriptor: the descriptor of the library; `nil` for the one in `LibraryRegistry.standard`.
  ///   - options: whether anything is written, and whether favorites are made.
  ///   - progress: called with the number of items done, and of all items.
  /// - Throws: `invalidAnswer` if the file is not of this format at all, `HeartlogError` if the store cannot
  ///   be written.
  public func importFile(
    _ text: FileText, format: any FileFormat, describedBy descriptor: (any LibraryDescriptor)? = nil,
    options: ImportOptions = ImportOptions(), progress: ((Int, Int) -> Void)? = nil
  ) throws -> ImportReport {
    try importFile(
      text, format: format, describedBy: descriptor, options: options, progress: progress, onCommit: { _ in })
  }

  /// - Parameter onCommit: called with each commit after it is written.
  package func importFile(
    _ text: FileText, format: any FileFormat, describedBy descriptor: (any LibraryDescriptor)? = nil,
    options: ImportOptions = ImportOptions(), progress: ((Int, Int) -> Void)? = nil,
    onCommit: (Commit) -> Void
  ) throws -> ImportReport {
    var report = ImportReport(format: format.name)
    let library = descriptor ?? LibraryRegistry.standard[name]
    let contents = try format.read(text.bytes, for: library)
    report.refusals = contents.refusals
    report.remarks = Self.remarks(on: text) + contents.remarks.sorted { $0.line < $1.line }
    report.isOneLine = text.bytes.firstIndex(of: 0x0A).map { $0 == text.bytes.count - 1 } ?? true
    var sound: [FileItem] = []
    /// By id: the index of its item in `sound`.
    var indices: [[UInt8]: Int] = [:]
    for record in contents.records {
      do {
        try record.item.validate()
        let item = record.item.withoutLocal(localFields, of: library)
        if let index = indices.updateValue(
          indices[Array(item.id.utf8)] ?? sound.count, forKey: Array(item.id.utf8))
        {
          sound[index] = item
          report.repeated += 1
        } else {
          sound.append(item)
        }
      } catch {
        report.refusals.append(
          .init(line: record.line, reason: error.description, record: record.number, id: record.item.id))
      }
    }
    report.refusals.sort { $0.line < $1.line }

    if options.isDryRun {
      let (counted, events) = try store.dryRun { try take(sound[...], of: library, options, report) }
      report = counted
      report.events = events.count
      return report
    }
    var start = 0
    while start < sound.count {
      let end = Self.endOfCommit(sound, from: start)
      let (counted, commit) = try store.commit(origin: "import:\(format.name)") {
        try take(sound[start..<end], of: library, options, report)
      }
      report = counted
      report.commits += commit == nil ? 0 : 1
      report.events += commit?.records.count ?? 0
      if let commit { onCommit(commit) }
      start = end
      progress?(start, sound.count)
    }
    return report
  }

  private static func remarks(on text: FileText) -> [FileContents.Refusal] {
    guard let first = text.linesReadAsWindows1252.first else { return [] }
    let others = text.linesReadAsWindows1252.count - 1
    let lines =
      others == 0
      ? "this line is" : others == 1 ? "this and another line are" : "this and \(others) other lines are"
    return [
      .init(
        line: first,
        reason: "\(lines) not UTF-8 and read as Windows-1252; if that is wrong, name the file's encoding")
    ]
  }

  private static func endOfCommit(_ items: [FileItem], from start: Int) -> Int {
    var bytes = 0
    var end = start
    while end < items.count, end - start < importCommitItemsMax {
      bytes += items[end].valueBytes
      if bytes > importCommitBytesMax, end > start { break }
      end += 1
    }
    return end
  }

  /// Writes items within the current commit, and counts the results.
  private func take(
    _ items: ArraySlice<FileItem>, of library: any LibraryDescriptor, _ options: ImportOptions,
    _ report: ImportReport
  ) throws(HeartlogError) -> ImportReport {
    var report = report
    let quiet = Set(library.fields.filter(\.isQuiet).map(\.name))
    for item in items {
      let known = item.defaults.isEmpty ? nil : self.item(item.id)
      let missing = item.defaults.filter { known?.value(of: $0.name)?.isNull != false }
      let fields = (item.fields + missing).map { field in
        quiet.contains(field.name) ? Field(name: field.name, value: field.value, isQuiet: true) : field
      }
      let becomesFavorite = item.isFavorite && !options.isMetadataOnly
      if becomesFavorite, try add(item.id, fields: fields, favoritedDate: item.favoritedDate) {
        report.added += 1
      } else if !fields.isEmpty, try set(fields, of: item.id) {
        report.updated += 1
      } else if self.item(item.id) != nil {
        report.unchanged += 1
      } else {
        report.leftOut += 1
      }
    }
    return report
  }
}

extension FavoritesLibrary {
  /// Exports this library's favorites as a file, newest first. Those of the same second are in the order in which they were written, so that
  /// importing the file writes them in that order again, whether its dates have milliseconds or not.
  ///
  /// A file of JSON Lines contains every visible item, favorite or not. So does every file of settings, which
  /// are not favorites.
  ///
  /// - Parameters:
  ///   - format: the format of the file.
  ///   - descriptor: the descriptor of the library; `nil` for the one in `LibraryRegistry.standard`.
  /// - Throws: `invalidItem` for an item that the format cannot hold.
  public func exportFile(
    format: any FileFormat, describedBy descriptor: (any LibraryDescriptor)? = nil
  ) throws(LibraryError) -> [UInt8] {
    try format.write(
      descriptor ?? LibraryRegistry.standard[name], local: localFields, all: { all() },
      favorites: { favorites() })
  }
}

extension FavoritesState {
  /// Exports a library of this state as a file, like `FavoritesLibrary.exportFile`.
  package func exportFile(of library: String, format: any FileFormat) throws(LibraryError) -> [UInt8] {
    try format.write(
      LibraryRegistry.standard[library], local: [], all: { all(in: library) },
      favorites: { favorites(in: library) })
  }
}

extension FileFormat {
  /// Writes what a file of this format contains of a library.
  ///
  /// - Parameter local: the device-local fields that the descriptor does not name.
  fileprivate func write(
    _ library: any LibraryDescriptor, local: Set<String>, all: () -> [ItemState], favorites: () -> [ItemState]
  ) throws(LibraryError) -> [UInt8] {
    let holdsAll = self is JSONLinesFormat || library.traits.contains(.settings)
    let items = (holdsAll ? all().filter(\.isVisible) : favorites()).reversingSeconds()
    return try write(items.map { FileItem($0).withoutLocal(local, of: library) }, of: library)
  }
}

extension [ItemState] {
  /// Favorites that are listed newest first, with each second's in the order in which they were written; the other items as they are.
  fileprivate func reversingSeconds() -> [ItemState] {
    var items = self
    var start = 0
    while start < items.count, let date = items[start].favoritedDate {
      let second = date.second
      let end = items[start...].firstIndex { $0.favoritedDate?.second != second } ?? items.count
      items[start..<end].reverse()
      start = end
    }
    return items
  }
}

extension Milliseconds {
  /// The whole second that it is in.
  fileprivate var second: Milliseconds { (self - (self % 1_000 + 1_000) % 1_000) / 1_000 }
}

/// Import and export for items whose type has a library descriptor.
extension Favorites where Item: DescribedItem {
  /// Imports the items of a file with the descriptor of the item type, like `FavoritesLibrary.importFile`.
  ///
  /// - Parameters:
  ///   - bytes: the whole file.
  ///   - format: the format of the file; see `FileFormats.guess`.
  ///   - options: whether anything is written, and whether favorites are made.
  /// - Throws: `invalidAnswer` if the file is not of this format at all, `HeartlogError` if the store cannot
  ///   be written.
  public func importFile(
    _ bytes: [UInt8], format: any FileFormat,
    options: FavoritesLibrary.ImportOptions = FavoritesLibrary.ImportOptions()
  ) throws -> ImportReport {
    try library.importFile(FileText(bytes), format: format, describedBy: Item.descriptor, options: options)
  }

  /// Exports the favorites as a file, newest first, with the descriptor of the item type, like
  /// `FavoritesLibrary.exportFile`.
  ///
  /// - Throws: `invalidItem` for an item that the format cannot hold.
  public func exportFile(format: any FileFormat) throws(LibraryError) -> [UInt8] {
    try library.exportFile(format: format, describedBy: Item.descriptor)
  }
}

extension FileItem {
  /// The item without what belongs to one device.
  ///
  /// - Parameter names: the local fields of the item type, of which the descriptor may not know.
  fileprivate func withoutLocal(_ names: Set<String>, of library: any LibraryDescriptor) -> FileItem {
    var item = self
    library.removeLocal(&item)
    item.remove(names)
    return item
  }

  /// The approximate number of bytes of the values in a commit.
  fileprivate var valueBytes: Int {
    (fields + defaults).reduce(id.utf8.count + 64) { sum, field in
      sum + field.name.utf8.count + field.value.withBorrowed { $0.bytes?.count ?? 9 }
    }
  }
}
