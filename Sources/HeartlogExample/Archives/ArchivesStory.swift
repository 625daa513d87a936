import Heartlog
import HeartlogLibraries

/// Adding, removing and viewing favorite archives, and the playlist of files.
enum ArchivesStory: Story {
  static let name = "archives"

  static func play(on device: Device, _ display: Display) async throws {
    display.app(name, "an Internet Archive player")
    let answer = try Service.json("api/archives-item.json")
    let piano = try Archive.archives(answer: answer)[0]
    let shelf = try Service.archives()

    var player = try ArchivePlayer(device.launch(name))
    display.step("Launched")
    display.favorites(player)

    display.step("A search answer opens in the detail screen; a tap on its heart")
    display.detail(piano, player)
    player.toggle(piano)
    display.detail(piano, player)

    display.step("Three more, each a minute later; and the first one once again")
    for archive in [shelf[6], shelf[9], shelf[15]] {
      device.clock.advance(by: 60)
      player.add(archive)
    }
    player.add(piano)
    display.alert(player.alert)
    display.favorites(player)

    display.step("\"romero\" in the search field, then a swipe over the row that was found")
    let found = player.favoriteArchives(matching: "romero")
    display.screen("Favorite Archives, filtered", found.map(\.row))
    if let index = player.favoriteArchives.firstIndex(where: { $0.id == found.first?.id }) {
      player.delete(at: index)
    }
    display.favorites(player)

    display.step("Files of the archive go into the playlist; the last one is dragged to the top")
    for file in answer["files"]?.array ?? [] where file["format"]?.string == "VBR MP3" {
      guard player.favoriteItems.count < 4 else { break }
      player.append(try Track(file: file, archiveIdentifier: piano.identifier))
    }
    player.move(from: player.favoriteItems.count - 1, to: 0)
    display.playlist(player)

    display.step("The heart of the archive is switched off: its files are favorites of their own")
    player.toggle(piano)
    player.remove(player.favoriteItems[1])
    display.detail(piano, player)
    display.playlist(player)

    display.step("Launched again")
    player = try ArchivePlayer(device.launch(name))
    display.favorites(player)
    display.playlist(player)
  }
}

extension Archive {
  /// One row of a list.
  var row: String { [displayTitle.cut(to: 48), displayCreator].compactMap { $0 }.joined(separator: " — ") }
}

@MainActor
extension Display {
  fileprivate func favorites(_ player: ArchivePlayer) {
    screen("Favorite Archives", player.favoriteArchives.map(\.row), orElse: "No favorites yet: tap a heart.")
  }

  fileprivate func detail(_ archive: Archive, _ player: ArchivePlayer) {
    screen("Detail", ["\(heart(player.isFavorite(archive))) \(archive.row)", archive.desc ?? ""])
  }

  fileprivate func playlist(_ player: ArchivePlayer) {
    let rows = player.favoriteItems.enumerated().map { "\($0 + 1)  \($1.title ?? $1.url.lastPathComponent)" }
    screen(FavoriteTracks.name, rows, orElse: "No files yet.")
  }
}
