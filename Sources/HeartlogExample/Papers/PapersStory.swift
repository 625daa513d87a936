import Heartlog
import HeartlogLibraries

/// Hearts in several lists of papers, the screen of favorites by date, and its commands.
enum PapersStory: Story {
  static let name = "papers"

  static func play(on device: Device, _ display: Display) async throws {
    display.app(name, "an arXiv reader")
    let feed = try Service.bytes("api/papers-feed-10.atom.xml")
    var reader = try PaperReader(device.launch(name))

    display.step("Launched: the latest papers come, and the screen of favorites is opened")
    reader.show(latest: feed)
    reader.loadFavoritePapers()
    display.screen("Latest", reader.latestPapers.map(\.row))
    display.favorites(reader)

    display.step("A tap on a heart in the list, and on another in the detail screen")
    for paper in [reader.latestPapers[0], reader.latestPapers[2]] {
      device.clock.advance(by: 60)
      reader.toggleFavorite(for: paper)
    }
    display.screen("cs.LG, which has both of them", reader.csPapers.map(\.row))
    display.favorites(reader)

    display.step("A search, and all that it found at once: one commit")
    reader.search("automated")
    device.clock.advance(by: 60)
    reader.favoriteAll(reader.searchResults)
    reader.search("systematic")
    reader.favoriteAll(reader.searchResults)
    display.favorites(reader)

    display.step("A change of mind, twice: the paper comes back with a new date")
    for _ in 1...2 {
      device.clock.advance(by: 60)
      reader.toggleFavorite(for: reader.latestPapers[0])
    }
    display.favorites(reader)

    display.step("A note, a reading list, a search within the favorites")
    let fuzzing = reader.latestPapers[2]
    reader.setNote("for the seminar, page 4", of: fuzzing)
    reader.readNext(reader.latestPapers[0])
    reader.readNext(fuzzing)
    display.screen("Detail", [fuzzing.row, "note: \(reader.note(of: fuzzing) ?? "none")"])
    display.screen("To read", reader.toRead.map(\.row))
    display.screen("Favorites with \"poskitt\"", reader.searchFavorites("poskitt").map(\.row))

    display.step("The service answers with an error, which is no reason to lose a heart")
    reader.show(latest: try Service.bytes("api/papers-error.atom.xml"))
    display.alert(reader.alert)

    display.step("Launched again, without a network")
    reader = try PaperReader(device.launch(name))
    reader.loadFavoritePapers()
    display.favorites(reader)
    display.screen("To read", reader.toRead.map(\.row))
    let statistics = try reader.statistics()
    display.screen(
      "Statistics",
      ["\(statistics.favorites) favorites: \(statistics.on) times switched on, \(statistics.off) off"])
  }
}

extension Paper {
  /// One row of a list.
  var row: String { "\(heart(isFavorite)) \(title.cut(to: 60))  \(id)" }
}

@MainActor
extension Display {
  fileprivate func favorites(_ reader: PaperReader) {
    screen("Favorites, newest first", reader.favoritePapers.map(\.row), orElse: "No favorite papers.")
  }
}
