import Heartlog

/// The favorite archives of an Internet Archive player, with the interface of its `Player`.
///
/// ```swift
/// let archives = try FavoriteArchives(store)
/// try archives.addFavoriteArchive(archive)
/// archives.isFavoriteArchive(identifier: archive.identifier)  // true
/// ```
///
/// It holds no state of its own: every property reads the store. For views that update themselves, use
/// `FavoritesModel(archives.favorites)`. The files of archives are separate favorites: see `FavoriteTracks`.
public struct FavoriteArchives: TypedLibrary {
  /// The same library in the general interface: changes, models, history.
  public let favorites: Favorites<Archive>
  public var store: FavoritesStore { favorites.library.store }

  /// Creates an interface to the favorite archives of a store.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: Archive.self)
  }

  // MARK: - Reading

  /// The favorite archives by `dateAdded`, newest first, and by identifier within one millisecond.
  ///
  /// O(n log n). A favorite whose fields are not a valid `Archive` is left out here, and reported by
  /// `favorites.failures`.
  public var favoriteArchives: [Archive] { favorites.list() }

  /// The favorite archives that match a query, in the same order; all of them if it is empty. See
  /// `Archive.matches(_:)`.
  public func favoriteArchives(matching query: String) -> [Archive] {
    let search = TextSearch(query)
    return favoriteArchives.filter { $0.matches(search) }
  }

  /// Whether the archive with this identifier is a favorite. One look-up.
  public func isFavoriteArchive(identifier: String) -> Bool { favorites.contains(identifier) }

  /// Reads what other processes wrote. Call it when a view appears.
  ///
  /// - Returns: The current `favoriteArchives`.
  /// - Throws: `HeartlogError` if the disk cannot be read.
  @discardableResult
  public func refreshFavoriteArchives() throws(HeartlogError) -> [Archive] {
    try store.refresh()
    return favoriteArchives
  }

  // MARK: - Writing

  /// Makes an archive a favorite, or removes it if it is one: the stored state decides.
  ///
  /// - Returns: Whether it is a favorite now.
  /// - Throws: `LibraryError.invalidItem` for an empty identifier; `HeartlogError` if the store refuses the
  ///   identifier or cannot be written.
  @discardableResult
  public func toggleFavoriteArchive(_ archive: Archive) throws -> Bool {
    try Self.checkIdentifier(of: archive)
    return try favorites.toggle(archive)
  }

  /// Makes an archive a favorite.
  ///
  /// The archive's own `dateAdded` is ignored: if it is added again after a removal, it gets a new date.
  ///
  /// - Parameters:
  ///   - archive: the archive; its fields are stored too.
  ///   - date: the favorited date, for archives that were favorites elsewhere; the current time if `nil`.
  /// - Throws: `LibraryError.alreadyFavorite` if it is a favorite already, which is left unchanged, including
  ///   its date; `LibraryError.invalidItem` for an empty identifier; `HeartlogError` if the store refuses the
  ///   identifier (over 4,096 bytes, control characters) or cannot be written.
  public func addFavoriteArchive(_ archive: Archive, since date: Date? = nil) throws {
    try Self.checkIdentifier(of: archive)
    try store.write {
      guard !favorites.contains(archive.id) else {
        throw LibraryError.alreadyFavorite("Archive is already in Favorite Archives.")
      }
      try favorites.add(archive, since: date)
    }
  }

  static func checkIdentifier(of archive: Archive) throws(LibraryError) {
    guard !archive.identifier.isEmpty else { throw .invalidItem("an archive without an identifier") }
  }

  /// Removes the archive with this identifier from the favorites. If it is not a favorite, no event is
  /// written.
  ///
  /// - Returns: Whether it was one.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func removeFavoriteArchive(identifier: String) throws(HeartlogError) -> Bool {
    // The store refuses an empty id. For an app it is just an id that is not a favorite.
    guard !identifier.isEmpty else { return false }
    return try favorites.remove(identifier)
  }
}

extension FavoriteArchives {
  /// Takes over the favorites of an app's own database, in one commit, or in several if they are very many.
  ///
  /// ```swift
  /// let rows = try context.fetch(ArchiveMetaDataEntity.archiveMetaDataFetchRequest)
  /// try archives.migrate(from: rows.map { row in
  ///   Archive(
  ///     identifier: row.identifier, title: row.title, archiveTitle: row.archiveTitle, mediatype: row.mediatype,
  ///     creator: row.creator, publisher: row.publisher, desc: row.desc, iconUrlString: row.iconUrlString,
  ///     dateAdded: row.dateAdded)
  /// })
  /// ```
  ///
  /// An archive that the store has had before stays as it is: one that was removed since does not come back, and a
  /// second call changes nothing. A row without an identifier is reported.
  ///
  /// Creators and publishers that the app joined by ", " are split if that is certain: if each part is, on its own,
  /// the creator or publisher of another row. Otherwise they stay one name, since a name may contain a comma.
  ///
  /// - Parameter archives: the rows, in any order.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func migrate(from archives: some Sequence<Archive>) throws(HeartlogError) -> MigrationReport {
    let archives = Array(archives)
    let names = KnownNames(archives.flatMap { $0.creators + $0.publishers })
    let items = favorites.items(of: archives) { (archive) throws(LibraryError) in
      try Self.checkIdentifier(of: archive)
      var archive = archive
      archive.creators = names.split(archive.creators)
      archive.publishers = names.split(archive.publishers)
      return archive
    }
    return try favorites.migrate(from: items, origin: MigrationOrigin.database, since: \.dateAdded)
  }
}

/// The names that occur on their own, and so are certainly one name each.
private struct KnownNames {
  private static let separator = ", "
  private let names: Set<String>

  init(_ texts: [String]) { names = Set(texts.filter { !$0.contains(Self.separator) }) }

  /// The names in a list, of which some may be several that were joined.
  func split(_ texts: [String]) -> [String] {
    texts.flatMap { text in
      let parts = text.components(separatedBy: Self.separator)
      return parts.allSatisfy(names.contains) ? parts : [text]
    }
  }
}

extension Archive: DescribedItem {
  public static var descriptor: any LibraryDescriptor { ArchivesDescriptor() }
}

extension Track: DescribedItem {
  public static var descriptor: any LibraryDescriptor { TracksDescriptor() }
}

/// Items of the Internet Archive, identified by their identifiers.
private struct ArchivesDescriptor: LibraryDescriptor {
  let name = Archive.library
  let fields: [LibraryField] = [
    .init("title"), .init("archiveTitle"), .init("mediatype"), .init("creators", .texts),
    .init("publishers", .texts), .init("desc"), .init("iconUrlString"),
  ]
  let titleFields = ["title"]
  let subtitleFields = ["creators"]
  let idColumns: Set<String> = ["identifier"]
  let formats: [any FileFormat] = [ArchiveJSONFormat()]

  func bookmarkTitle(of item: FileItem) -> String {
    if let title = item["archiveTitle"]?.text, !title.isEmpty { return title }
    return title(of: item) ?? item.id
  }

  func address(of item: FileItem) -> String? { "https://archive.org/details/\(item.id.percentEncoded)" }

  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let path = archivePath(of: address), path.count > 1,
      ["details", "download", "embed", "metadata"].contains(path[0]), !path[1].hasPrefix("@")
    else { return nil }
    // The site adds a suffix to the title of the page.
    var title = title
    for ending in [" : Internet Archive", " : Free Download, Borrow, and Streaming"]
    where title.hasSuffix(ending) {
      title.removeLast(ending.count)
    }
    let shown: String? = title.isEmpty || title.hasPrefix("http") ? nil : title
    return try FileItem(
      encoding: Archive(
        identifier: path[1], title: shown, archiveTitle: shown,
        iconUrlString: "https://archive.org/services/img/\(path[1])"))
  }
}

/// Files of archives, identified by their URLs.
private struct TracksDescriptor: LibraryDescriptor {
  let name = Track.library
  let fields: [LibraryField] = [
    .init("title"), .init("archiveIdentifier"), .init("archiveTitle"), .init("name"), .init("artist"),
    .init("creator"), .init("track"), .init("size"), .init("format"), .init("length"),
  ]
  let titleFields = ["title"]
  let subtitleFields: [String] = []
  let idColumns: Set<String> = ["url"]

  func id(_ text: String) throws(LibraryError) -> String { try checkedURL(text) }

  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let path = archivePath(of: address), path.count > 2, path[0] == "download" else { return nil }
    let file = [JSONMember("name", .string(path.dropFirst(2).joined(separator: "/")))]
    let named = title.isEmpty ? [] : [JSONMember("title", .string(title))]
    return try FileItem(encoding: try Track(file: JSONValue.object(file + named), archiveIdentifier: path[1]))
  }
}

/// The parts of the path of an address at archive.org; `nil` for any other address.
private func archivePath(of address: String) -> [String]? {
  guard let url = URL(string: address), ["archive.org", "www.archive.org"].contains(url.host?.lowercased())
  else {
    return nil
  }
  return url.path.split(separator: "/").map(String.init)
}
