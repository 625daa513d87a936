import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The favorite papers of an arXiv app, with the interface of its `ArXivController`.
///
/// ```swift
/// let papers = try FavoritePapers(store)
/// try papers.toggleFavorite(for: paper)
/// try papers.updatePaperInAllCategories(paper, of: self, \.latestPapers, \.csPapers, \.searchResults)
/// ```
///
/// It holds no state of its own: every property reads the store. A paper's `isFavorite` and `favoritedDate`
/// are copies made when it was read; changes that an app makes to them never reach the store. For views that
/// update themselves, use `FavoritesModel(papers.favorites)`. Each version of a paper is a separate favorite.
public struct FavoritePapers: Sendable {
  /// The same library in the general interface: changes, models, history.
  public let favorites: Favorites<Paper>

  /// Creates an interface to the favorite papers of a store.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: Paper.self)
  }

  // MARK: - Reading

  /// The favorite papers by `favoritedDate`, newest first, and by id within one millisecond.
  ///
  /// O(n log n). A favorite whose fields are not a valid `Paper` is left out here, and reported by
  /// `favorites.load()`.
  public var favoritePapers: [Paper] { favorites.list() }

  /// Reads what other processes wrote. Call it when a view appears.
  ///
  /// - Returns: The current `favoritePapers`.
  /// - Throws: `HeartlogError` if the disk cannot be read.
  @discardableResult
  public func loadFavoritePapers() throws(HeartlogError) -> [Paper] {
    try favorites.library.store.refresh()
    return favoritePapers
  }

  /// Whether this version of a paper is a favorite in the store, whatever the flag of `paper` is. One
  /// look-up.
  public func isFavorite(_ paper: Paper) -> Bool { favorites.contains(paper.id) }

  // MARK: - Writing

  /// Toggles the state in the store, whatever the flag of `paper` is. A new favorite gets the current time as
  /// its date, even if it had another date before, and the fields of `paper` are stored. A paper that is no
  /// longer a favorite has no date.
  ///
  /// - Returns: The paper with its new flag and date.
  /// - Throws: `HeartlogError`; `invalidItem` if the paper cannot be stored.
  @discardableResult
  public func toggleFavorite(for paper: Paper) throws -> Paper {
    try favorites.library.store.write {
      try favorites.toggle(paper)
      return current(paper)
    }
  }

  /// Makes a paper a favorite, or removes it. If nothing changes, it keeps its date, and no event is written.
  ///
  /// - Returns: The paper with its new flag and date.
  /// - Throws: `HeartlogError`; `invalidItem` if the paper cannot be stored.
  @discardableResult
  public func setFavorite(_ isFavorite: Bool, for paper: Paper) throws -> Paper {
    try favorites.library.store.write {
      if isFavorite != favorites.contains(paper.id) { try favorites.toggle(paper) }
      return current(paper)
    }
  }

  private func current(_ paper: Paper) -> Paper {
    var paper = paper
    paper.favoritedDate = favorites.favoritedDate(of: paper.id)
    paper.isFavorite = paper.favoritedDate != nil
    return paper
  }
}
