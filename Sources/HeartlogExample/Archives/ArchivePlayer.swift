import Heartlog
import HeartlogLibraries
import Observation

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The view model of an Internet Archive player: favorite archives, and the playlist of favorite files.
@MainActor @Observable
final class ArchivePlayer {
  private(set) var favoriteArchives: [Archive] = []
  private(set) var favoriteItems: [Track] = []
  /// Why the last tap failed; `nil` after success.
  private(set) var alert: String?

  @ObservationIgnored private let archives: FavoriteArchives
  @ObservationIgnored private let tracks: FavoriteTracks

  init(_ store: FavoritesStore) throws {
    archives = try FavoriteArchives(store)
    tracks = try FavoriteTracks(store)
    refresh()
  }

  // MARK: - Archives

  func isFavorite(_ archive: Archive) -> Bool { archives.isFavoriteArchive(identifier: archive.identifier) }

  /// The button "Add to favorites".
  func add(_ archive: Archive) { attempt { try archives.addFavoriteArchive(archive) } }

  /// Called on a tap on the heart of the detail screen.
  func toggle(_ archive: Archive) {
    if isFavorite(archive) {
      attempt { try archives.removeFavoriteArchive(identifier: archive.identifier) }
    } else {
      add(archive)
    }
  }

  /// Called on a swipe in the list.
  func delete(at index: Int) {
    attempt { try archives.removeFavoriteArchive(identifier: favoriteArchives[index].identifier) }
  }

  /// The results of the search field above the list.
  func favoriteArchives(matching query: String) -> [Archive] { archives.favoriteArchives(matching: query) }

  // MARK: - Files

  func append(_ track: Track) { attempt { try tracks.appendFavoriteItem(track) } }

  func remove(_ track: Track) { attempt { try tracks.removeFavoriteItem(url: track.url) } }

  /// Called when a row is dragged to another position.
  func move(from source: Int, to destination: Int) {
    attempt { try tracks.move(from: source, to: destination) }
  }

  private func attempt(_ write: () throws -> Void) {
    do {
      try write()
      alert = nil
    } catch {
      alert = "\(error)"
    }
    refresh()
  }

  private func refresh() {
    favoriteArchives = archives.favoriteArchives
    favoriteItems = tracks.favoriteItems
  }
}
