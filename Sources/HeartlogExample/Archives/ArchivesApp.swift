import Foundation
import Heartlog
import HeartlogLibraries

/// An Internet Archive player: favorite archives, and one playlist of favorite files in the user's order.
@MainActor final class ArchivesApp: App {
  let name = "archives"
  var query = ""
  private let shelf: Shelf<Archive>
  private let playlist: FavoriteTracks
  private let files: [Track]

  init(_ store: FavoritesStore) throws {
    playlist = try FavoriteTracks(store)
    let answer = try Service.json("api/archives-item.json")
    let piano = try Archive.archives(answer: answer)[0]
    files = try (answer["files"]?.array ?? []).filter { $0["format"]?.string == "VBR MP3" }
      .map { try Track(file: $0, archiveIdentifier: piano.identifier) }
    let others = try Service.archives().filter { $0.identifier != piano.identifier }
    shelf = Shelf(try FavoriteArchives(store).favorites, catalog: [piano] + others) { archive in
      [archive.displayTitle, archive.displayCreator].compactMap { $0 }.joined(separator: " — ")
    }
  }

  var panes: [Pane] {
    [
      Pane(title: "Archive", rows: shelf.catalogRows(matching: query)),
      shelf.favorites(matching: query, placeholder: "No favorites yet: space on a row adds it."),
      Pane(title: "Files", rows: files.map(row).matching(query)),
      Pane(
        title: "Playlist", rows: playlist.favoriteItems.map(movable),
        placeholder: "Empty: space on a file appends it.",
        keys: "K J move the track"),
    ]
  }

  private func row(_ track: Track) -> Row {
    Row(
      item: ItemReference(library: playlist.favorites.library, id: track.id.favoriteID),
      heart: playlist.isFavoriteItem(url: track.url), text: track.title ?? track.url.lastPathComponent)
  }

  private func track(_ row: Row) throws -> Track? {
    guard let item = row.item, item.library.name == Track.library else { return nil }
    if let file = files.first(where: { $0.id.favoriteID == item.id }) { return file }
    return try URL(favoriteID: item.id).flatMap { try playlist.favorites.item($0) }
  }

  func toggle(_ row: Row) throws {
    guard let track = try track(row) else { return try shelf.toggle(row) }
    if playlist.isFavoriteItem(url: track.url) {
      try playlist.removeFavoriteItem(url: track.url)
    } else {
      try playlist.appendFavoriteItem(track)
    }
  }

  func finishWriting() async throws { try await shelf.finishWriting() }

  /// A row of the playlist, whose track can be moved.
  private func movable(_ track: Track) -> Row {
    func move(by places: Int) -> Row.Action {
      { [playlist] in
        let tracks = playlist.favoriteItems
        guard let index = tracks.firstIndex(where: { $0.url == track.url }),
          tracks.indices.contains(index + places)
        else { return .message("") }
        try playlist.move(from: index, to: index + places)
        return .message("Number \(index + places + 1): \(track.title ?? track.url.lastPathComponent)")
      }
    }
    var row = row(track)
    row.keys = ["K": move(by: -1), "J": move(by: 1)]
    return row
  }

  func detail(of row: Row) throws -> [String] {
    if let track = try track(row) { return [track.url.absoluteString] }
    guard let archive = try shelf.item(row) else { return [] }
    return [archive.identifier, archive.mediatype, archive.publisher, archive.desc].compactMap { $0 }
  }
}
