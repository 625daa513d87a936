import Heartlog
import HeartlogLibraries

/// The data that the apps themselves store: the JSON that they encode into their user defaults, and the
/// catalog of cities.
///
/// The descriptor of a library defines the form of its app's records. What the app does not know is written
/// into members that its decoder ignores: `favoritedDate`, and `fields` with the fields that have no member
/// of their own.
public struct UserDefaultsFormat: FileFormat {
  public let name = "user-defaults"
  public let summary =
    "what the apps themselves keep: books with positions, settings, liked breed images, a catalog of cities"
  public let fileExtensions = ["json"]
  public let isWritten = true
  public let certainty = FileCertainty.shape

  /// The libraries whose records a library without a descriptor may have.
  private let libraries: LibraryRegistry

  /// Creates the format.
  ///
  /// - Parameter libraries: the libraries whose records a library without a descriptor may have.
  public init(libraries: LibraryRegistry = .standard) { self.libraries = libraries }

  public func fits(_ library: any LibraryDescriptor) -> Bool { library.isOpaque || library.appRecords != nil }

  /// Recognizes only the records of the library's own app: a list of another library may look like any of them.
  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    guard let records = library.appRecords else { return false }
    let outline = JSONOutline(beginning)
    return outline == .emptyArray || records.matches(outline)
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    if let records = library.appRecords { return try records.read(document) }
    guard document.isArray(document.root) else {
      throw .invalidAnswer("the file is not a JSON list")
    }
    let outline = JSONOutline(Array(bytes.prefix(1 << 20)))
    if outline == .emptyArray { return FileContents() }
    guard let records = records({ $0.matches(outline) }) else {
      throw .invalidAnswer("the list has no form that an app writes")
    }
    return try records.read(document)
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    for item in items { try item.checkWritable() }
    if let records = library.appRecords { return try records.write(items) }
    guard let first = items.first else { return jsonLines([]) }
    guard let records = records({ $0.matches(first) }) else {
      throw .invalidItem("the items of \(library.name) have no form that an app writes")
    }
    return try records.write(items)
  }

  /// The first records of a registered library that match.
  private func records(_ matches: (any AppRecords) -> Bool) -> (any AppRecords)? {
    libraries.descriptors.lazy.compactMap(\.appRecords).first(where: matches)
  }
}
