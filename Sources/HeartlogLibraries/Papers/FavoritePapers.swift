import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The favorite papers of an arXiv app, in the words of its `ArXivController`.
///
/// ```swift
/// let papers = try FavoritePapers(store)
/// try papers.toggleFavorite(for: paper)
/// try papers.updatePaperInAllCategories(paper, of: self, \.latestPapers, \.csPapers, \.searchResults)
/// ```
///
/// It holds nothing itself: what it says is what the store holds at that moment. A paper's `isFavorite` and `favoritedDate` are what the
/// store said when it was read; what an app writes into them never reaches the store. For views that keep themselves up to date there is
/// `FavoritesModel(papers.favorites)`. Each version of a paper is a favorite of its own.
public struct FavoritePapers: Sendable {
  /// The same library in the words of the store: changes, models, history.
  public let favorites: Favorites<Paper>

  /// The favorite papers of a store.
  ///
  /// - Throws: `HeartlogError`, which the name of this library never causes.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: Paper.self)
  }

  // MARK: - Reading

  /// The favorite papers by `favoritedDate`, newest first; those of one millisecond by id.
  ///
  /// O(n log n). A favorite whose fields make no `Paper` is left out here, and named by `favorites.load()`.
  public var favoritePapers: [Paper] { favorites.list() }

  /// Takes in what other processes wrote, as a view does when it appears.
  ///
  /// - Returns: `favoritePapers` as they are then.
  /// - Throws: `HeartlogError` where the disk does.
  @discardableResult
  public func loadFavoritePapers() throws(HeartlogError) -> [Paper] {
    try favorites.library.store.refresh()
    return favoritePapers
  }

  /// Whether the store holds this version of a paper as a favorite, whatever the flag of `paper` says. One look-up.
  public func isFavorite(_ paper: Paper) -> Bool { favorites.contains(paper.id) }

  // MARK: - Writing

  /// Flips what the store holds, whatever the flag of `paper` says. Switched on, the paper has the present as its date, also where it
  /// had another once, and what is known of it is stored; switched off, it has none.
  ///
  /// - Returns: the paper as views show it now.
  /// - Throws: `HeartlogError`; `invalidItem` for a paper that cannot be stored.
  @discardableResult
  public func toggleFavorite(for paper: Paper) throws -> Paper {
    try favorites.library.store.write {
      try favorites.toggle(paper)
      return current(paper)
    }
  }

  /// Makes a paper a favorite, or none. What is so already stays as it is, its date included, and no event is written.
  ///
  /// - Returns: the paper as views show it now.
  /// - Throws: `HeartlogError`; `invalidItem` for a paper that cannot be stored.
  @discardableResult
  public func setFavorite(_ isFavorite: Bool, for paper: Paper) throws -> Paper {
    try favorites.library.store.write {
      if isFavorite { try favorites.add(paper) } else { try favorites.remove(paper) }
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
