import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
public struct FavoriteArchives: Sendable {
  /// The same library in the general interface: changes, models, history.
  public let favorites: Favorites<Archive>

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
  /// `favorites.load()`.
  public var favoriteArchives: [Archive] { favorites.list() }

  /// The favorite archives that match a query, in the same order; all of them if it is empty. See
  /// `Archive.matches(_:)`.
  public func favoriteArchives(matching query: String) -> [Archive] { favoriteArchives.matching(query) }

  /// Whether the archive with this identifier is a favorite. One look-up.
  public func isFavoriteArchive(identifier: String) -> Bool { favorites.contains(identifier) }

  /// Reads what other processes wrote. Call it when a view appears.
  ///
  /// - Returns: The current `favoriteArchives`.
  /// - Throws: `HeartlogError` if the disk cannot be read.
  @discardableResult
  public func refreshFavoriteArchives() throws(HeartlogError) -> [Archive] {
    try favorites.library.store.refresh()
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
    try favorites.library.store.write {
      guard !favorites.contains(archive.id) else {
        throw LibraryError.alreadyFavorite("Archive is already in Favorite Archives.")
      }
      try favorites.add(archive, since: date)
    }
  }

  static func checkIdentifier(of archive: Archive) throws(LibraryError) {
    guard !archive.identifier.isEmpty else { throw .invalidItem("an archive without an identifier") }
  }

  /// Makes a favorite of a document of archive.org: of a search answer, or the `metadata` of an item answer.
  ///
  /// - Throws: as `addFavoriteArchive(_:since:)`; `LibraryError.invalidItem` if the document has no
  ///   identifier.
  public func addFavoriteArchive(document: some JSONSource, since date: Date? = nil) throws {
    try addFavoriteArchive(try Archive(document: document), since: date)
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
