import Foundation
import Heartlog
import HeartlogInterchange
import HeartlogLibraries

/// An arXiv reader: the latest papers, the favorites, a reading list in an order of its own, and a bibliography.
@MainActor final class PapersApp: App {
  let name = "papers"
  var query = ""
  private let shelf: Shelf<Paper>
  private let readingList: ItemCollection

  init(_ store: FavoritesStore) throws {
    let favorites = try FavoritePapers(store).favorites
    readingList = try favorites.library.collection("to read")
    let feed = try Paper.papers(atom: Service.bytes("api/papers-feed-10.atom.xml"))
    shelf = Shelf(favorites, catalog: feed, text: \.title)
  }

  var panes: [Pane] {
    let keys = "r read later  ⏎ open  / search"
    var favorites = shelf.favorites(matching: query, placeholder: "No favorite papers.", keys: keys)
    favorites.rows = favorites.rows.map(readable)
    return [
      Pane(
        title: "Latest", rows: shelf.catalogRows(matching: query).map(readable), keys: keys),
      favorites,
      Pane(
        title: "To read", rows: toRead.map(movable), placeholder: "Nothing: r on a paper adds it.",
        keys: "r done  K J move"),
      Pane(
        title: "Bibliography", rows: bibliography.map { Row(text: $0) }, placeholder: "No favorites to cite."),
    ]
  }

  /// A paper on the list need not be a favorite.
  private var toRead: [Paper] { readingList.ids.compactMap { try? shelf.item(withID: $0) } }

  /// The favorites as BibTeX.
  private var bibliography: [String] {
    do {
      let bytes = try shelf.model.favorites.exportFile(format: BibTeXFormat())
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    } catch { return ["⚠ \(error)"] }
  }

  func toggle(_ row: Row) throws { try shelf.toggle(row) }
  func finishWriting() async throws { try await shelf.finishWriting() }

  // MARK: - The reading list

  /// A row whose paper can be read later.
  private func readable(_ row: Row) -> Row {
    var readable = row
    readable.keys["r"] = { [weak self] in .message(try self?.readLater(row) ?? "") }
    return readable
  }

  private func readLater(_ row: Row) throws -> String {
    guard let paper = try shelf.item(row) else { return "" }
    if try readingList.remove(paper.id) { return "Read: \(paper.title)" }
    try readingList.library.store.write {
      // The store keeps the title, too, so that another device can show the list.
      try shelf.model.favorites.update(paper)
      try readingList.insert(paper.id, at: 0)
    }
    return "To read next: \(paper.title)"
  }

  /// A row of the reading list.
  private func movable(_ paper: Paper) -> Row {
    func move(by places: Int) -> Row.Action {
      { [readingList] in
        let ids = readingList.ids
        guard let index = ids.firstIndex(of: paper.id), ids.indices.contains(index + places) else {
          return .message("")
        }
        try readingList.move(paper.id, to: index + places)
        return .message("Number \(index + places + 1): \(paper.title)")
      }
    }
    var row = readable(shelf.row(paper))
    row.keys["K"] = move(by: -1)
    row.keys["J"] = move(by: 1)
    return row
  }

  func detail(of row: Row) throws -> [String] {
    guard let paper = try shelf.item(row) else { return [] }
    return [
      paper.authors.joined(separator: ", "), "\(paper.id)  \(paper.categories.joined(separator: " "))",
      paper.summary,
    ]
  }
}
