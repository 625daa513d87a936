import Heartlog
import HeartlogLibraries
import Observation

/// The view model of an arXiv app: lists of papers, one of them the favorites, with consistent hearts in all
/// of them.
@MainActor @Observable
final class PaperReader {
  private(set) var latestPapers: [Paper] = []
  private(set) var csPapers: [Paper] = []
  private(set) var searchResults: [Paper] = []
  private(set) var favoritePapers: [Paper] = []
  /// The message that the screen shows instead of an answer that failed; `nil` after success.
  private(set) var alert: String?

  @ObservationIgnored private let papers: FavoritePapers
  @ObservationIgnored private let readingList: ItemCollection

  init(_ store: FavoritesStore) throws {
    papers = try FavoritePapers(store)
    readingList = try papers.favorites.library.collection("to read")
  }

  /// Shows a feed that was received, with the hearts from the store.
  func show(latest feed: [UInt8]) {
    attempt {
      latestPapers = papers.updatePapers(try Paper.papers(atom: feed))
      csPapers = latestPapers.filter { $0.categories.contains("cs.LG") }
    }
  }

  func search(_ text: String) {
    searchResults = latestPapers.filter { $0.title.lowercased().contains(text.lowercased()) }
  }

  /// Called when the screen of favorites appears.
  func loadFavoritePapers() { attempt { favoritePapers = try papers.loadFavoritePapers() } }

  /// Called on a tap on a heart, in any list.
  func toggleFavorite(for paper: Paper) {
    attempt {
      try papers.toggleFavorite(for: paper)
      showHearts(of: [paper])
    }
  }

  /// The command "Favorite all" for the results of a search.
  func favoriteAll(_ found: [Paper]) {
    attempt {
      try papers.favorites.add(contentsOf: found)
      showHearts(of: found)
    }
  }

  private func showHearts(of changed: [Paper]) {
    for paper in changed {
      papers.updatePaperInAllCategories(paper, of: self, \.latestPapers, \.csPapers, \.searchResults)
    }
    favoritePapers = papers.favoritePapers
  }

  // MARK: - Notes and the reading list

  func note(of paper: Paper) -> String? { papers.favorites.note(of: paper.id) }

  func setNote(_ note: String, of paper: Paper) {
    attempt { try papers.favorites.setNote(note, of: paper.id) }
  }

  /// The reading list, in its own order.
  var toRead: [Paper] { readingList.ids.compactMap { try? papers.favorites.item($0) } }

  func readNext(_ paper: Paper) { attempt { try readingList.insert(paper.id, at: 0) } }

  /// The favorites that contain a text, ignoring accents.
  func searchFavorites(_ text: String) -> [Paper] {
    papers.favorites.search(text, options: SearchOptions(diacriticsCount: false))
  }

  /// The number of favorites, and how many times papers have become favorites and stopped being favorites.
  func statistics() throws -> (favorites: Int, on: Int, off: Int) {
    let days = try papers.favorites.library.statistics(by: .day).intervals
    return (
      papers.favorites.count, days.reduce(0) { $0 + $1.favorited }, days.reduce(0) { $0 + $1.unfavorited }
    )
  }

  private func attempt(_ body: () throws -> Void) {
    do {
      try body()
      alert = nil
    } catch {
      alert = "\(error)"
    }
  }
}
