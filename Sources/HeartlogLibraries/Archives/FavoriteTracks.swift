import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The file-level favorites of an Internet Archive player: one permanent playlist in the order that its user gives it.
///
/// The playlist needs no making and cannot be removed; a new store has it, empty. It stands beside `FavoriteArchives`: a file and the
/// archive that it is part of are favorites apart. How the orders of two devices become one is said at `move(from:to:)`.
public struct FavoriteTracks: Sendable {
  /// What the playlist is called.
  public static let name = "Favorites"

  /// The same library in the words of the store, where it has no order but that of dates.
  public let favorites: Favorites<Track>

  /// The playlist of a store.
  ///
  /// - Throws: `HeartlogError`, which the name of this library never causes.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: Track.self)
  }

  private var library: FavoritesLibrary { favorites.library }

  // MARK: - Reading

  /// The tracks in the user's order: as they were added, and as they were moved then.
  ///
  /// O(n log n). A favorite whose fields make no `Track` is left out here, and named by `favorites.load()`.
  public var favoriteItems: [Track] { places().map(\.track) }

  /// Whether the file at that URL is in the playlist. One look-up.
  public func isFavoriteItem(url: URL) -> Bool { favorites.contains(url) }

  // MARK: - Writing

  /// Adds a file at the end of the playlist.
  ///
  /// - Parameters:
  ///   - track: what is known of it is stored with it.
  ///   - date: since when, for files that come from somewhere else; now where nil. It comes last all the same.
  /// - Throws: `LibraryError.alreadyFavorite` for a URL that is in the playlist, whatever its title, and which stays as it is;
  ///   `LibraryError.invalidItem` for a URL without a scheme; `HeartlogError` where the store cannot be written.
  public func appendFavoriteItem(_ track: Track, since date: Date? = nil) throws {
    guard track.url.scheme != nil, URL(favoriteID: track.id.favoriteID) != nil else {
      throw LibraryError.invalidItem("\"\(track.url.absoluteString)\" is no address of a file")
    }
    try library.store.write {
      let places = places()
      guard try favorites.add(track, since: date) else {
        throw LibraryError.alreadyFavorite("Track is already in the playlist \(Self.name).")
      }
      // What it held when it was removed elsewhere is no place in this list.
      try setKey(nil, of: track)
      guard let last = places.last?.key, let item = library.item(track.id.favoriteID),
        let own = TrackOrder.key(of: item), own <= last
      else { return }
      try put([track], at: places.count, among: places)
    }
  }

  /// Adds one of the `files` of an item answer at the end of the playlist.
  ///
  /// - Throws: as `appendFavoriteItem(_:since:)`; `LibraryError.invalidItem` for a file without a name.
  public func appendFavoriteItem(file: JSONValue, archiveIdentifier: String) throws {
    try appendFavoriteItem(try Track(file: file, archiveIdentifier: archiveIdentifier))
  }

  /// Takes the file at that URL out of the playlist. Where it is not in it, nothing happens and no event is written.
  ///
  /// - Returns: whether it was in it.
  /// - Throws: `HeartlogError` where the store cannot be written.
  @discardableResult
  public func removeFavoriteItem(url: URL) throws -> Bool {
    try library.store.write {
      guard try favorites.remove(url) else { return false }
      // Added again, it comes last.
      try library.set([Field(name: TrackOrder.field, value: .null)], of: url.favoriteID)
      return true
    }
  }

  // MARK: - Order

  /// Moves the track at one place of `favoriteItems` to another, where it is then.
  ///
  /// As a rule one field of one track is written. So moves of different tracks, made on two devices, all survive a merge; of two moves of
  /// one track the later wins; a track that is removed on one device and moved on the other is removed or not as its membership says,
  /// and what both add lines up by date. Tracks for which two devices chose one place stand by their URLs.
  ///
  /// - Returns: whether it is at another place now.
  /// - Throws: `HeartlogError` with the code `invalid` for a place that the playlist does not have, and where the store cannot be written.
  @discardableResult
  public func move(from source: Int, to destination: Int) throws -> Bool {
    try library.store.write {
      var places = places()
      for index in [source, destination] where !places.indices.contains(index) {
        throw HeartlogError(.invalid, "the playlist has \(places.count) tracks, and none at \(index)")
      }
      guard source != destination else { return false }
      try put([places.remove(at: source).track], at: destination, among: places)
      return true
    }
  }

  /// Moves the tracks at some offsets to before the one at another offset, in their order: what a list's `onMove` hands over. All of
  /// them are one commit.
  ///
  /// - Parameters:
  ///   - offsets: places in `favoriteItems`, in any order; an `IndexSet` is such a sequence.
  ///   - offset: a place in `favoriteItems` before anything is taken out, or their count for the end.
  /// - Throws: as `move(from:to:)`.
  public func move(fromOffsets offsets: some Sequence<Int>, toOffset offset: Int) throws {
    let offsets = Set(offsets)
    try library.store.write {
      let places = places()
      for index in offsets.sorted() + [offset]
      where !places.indices.contains(index) && (index != places.count || offsets.contains(index)) {
        throw HeartlogError(.invalid, "the playlist has \(places.count) tracks, and none at \(index)")
      }
      let order = places.indices.filter { !offsets.contains($0) }
      let moved = offsets.sorted()
      let index = order.count { $0 < offset }
      guard order[..<index] + moved + order[index...] != Array(places.indices)[...] else { return }
      try put(moved.map { places[$0].track }, at: index, among: order.map { places[$0] })
    }
  }

  /// Gives tracks the keys of their new place.
  ///
  /// - Parameter places: the others, in order.
  private func put(_ tracks: [Track], at index: Int, among places: [(track: Track, key: OrderKey)]) throws {
    let low = index > 0 ? places[index - 1].key : nil
    // Between tracks at one place there is no room: those behind are moved on.
    let next = places[index...].firstIndex { place in low.map { $0 < place.key } ?? true } ?? places.count
    let tracks = tracks + places[index..<next].map(\.track)
    let keys = TrackOrder.keys(
      tracks.count, after: low, before: next < places.count ? places[next].key : nil)
    if keys.allSatisfy({ OrderKey($0.text) != nil }) {
      for (track, key) in zip(tracks, keys) { try setKey(key, of: track) }
    } else {
      // Thousands of moves into one gap have used up a key's length: all tracks are spread out anew.
      let all = places[..<index].map(\.track) + tracks + places[next...].map(\.track)
      let end = places.last.flatMap { OrderKey(String($0.key.text.prefix(TrackOrder.dateLength)) + "V") }
      for (track, key) in zip(all, TrackOrder.keys(all.count, after: nil, before: end)) {
        try setKey(key, of: track)
      }
    }
  }

  private func setKey(_ key: OrderKey?, of track: Track) throws(HeartlogError) {
    try library.set(
      [Field(name: TrackOrder.field, value: key.map { .string($0.text) } ?? .null)], of: track.id.favoriteID)
  }

  private func places() -> [(track: Track, key: OrderKey)] { TrackOrder.places(of: library.items()) }
}
