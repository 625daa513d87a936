import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The favorite archives of an Internet Archive player, in the words of its `Player`.
///
/// ```swift
/// let archives = try FavoriteArchives(store)
/// try archives.addFavoriteArchive(archive)
/// archives.isFavoriteArchive(identifier: archive.identifier)  // true
/// ```
///
/// It holds nothing itself: what it says is what the store holds at that moment. For views that keep themselves up to date there is
/// `FavoritesModel(archives.favorites)`. The files of archives are favorites of their own: see `FavoriteTracks`.
public struct FavoriteArchives: Sendable {
  /// The same library in the words of the store: changes, models, history.
  public let favorites: Favorites<Archive>

  /// The favorite archives of a store.
  ///
  /// - Throws: `HeartlogError`, which the name of this library never causes.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: Archive.self)
  }

  // MARK: - Reading

  /// The favorite archives by `dateAdded`, newest first; those of one millisecond by identifier.
  ///
  /// O(n log n). A favorite whose fields make no `Archive` is left out here, and named by `favorites.load()`.
  public var favoriteArchives: [Archive] { favorites.list() }

  /// The favorite archives that a query finds, in the same order; all of them for an empty one. `Archive.matches(_:)` says what is found.
  public func favoriteArchives(matching query: String) -> [Archive] { favoriteArchives.matching(query) }

  /// Whether the archive of that identifier is a favorite. One look-up.
  public func isFavoriteArchive(identifier: String) -> Bool { favorites.contains(identifier) }

  /// Takes in what other processes wrote, as a view does when it appears.
  ///
  /// - Returns: `favoriteArchives` as they are then.
  /// - Throws: `HeartlogError` where the disk does.
  @discardableResult
  public func refreshFavoriteArchives() throws(HeartlogError) -> [Archive] {
    try favorites.library.store.refresh()
    return favoriteArchives
  }

  // MARK: - Writing

  /// Makes an archive a favorite.
  ///
  /// The `dateAdded` of the archive itself is not looked at: added again after a removal, it has a new one.
  ///
  /// - Parameters:
  ///   - archive: what is known of it is stored with it.
  ///   - date: since when, for archives that come from somewhere else; now where nil.
  /// - Throws: `LibraryError.alreadyFavorite` for one that is a favorite, which stays as it is, its date included;
  ///   `LibraryError.invalidItem` for an empty identifier; `HeartlogError` for an identifier that the store
  ///   refuses (over 4,096 bytes, control characters) and where it cannot be written.
  public func addFavoriteArchive(_ archive: Archive, since date: Date? = nil) throws {
    guard !archive.identifier.isEmpty else {
      throw LibraryError.invalidItem("an archive without an identifier")
    }
    guard try favorites.add(archive, since: date) else {
      throw LibraryError.alreadyFavorite("Archive is already in Favorite Archives.")
    }
  }

  /// Makes a favorite of a document as archive.org sends it: of a search answer, or the `metadata` of an item answer.
  ///
  /// - Throws: as `addFavoriteArchive(_:since:)`; `LibraryError.invalidItem` for a document without an identifier.
  public func addFavoriteArchive(document: JSONValue, since date: Date? = nil) throws {
    try addFavoriteArchive(try Archive(document: document), since: date)
  }

  /// Makes the archive of that identifier no favorite. Where it is none, nothing happens and no event is written.
  ///
  /// - Returns: whether it was one.
  /// - Throws: `HeartlogError` where the store cannot be written.
  @discardableResult
  public func removeFavoriteArchive(identifier: String) throws(HeartlogError) -> Bool {
    // The store refuses an empty id; to an app it is just one more that is not there.
    guard !identifier.isEmpty else { return false }
    return try favorites.remove(identifier)
  }
}
