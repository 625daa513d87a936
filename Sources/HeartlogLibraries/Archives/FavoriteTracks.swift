import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The favorite files of an Internet Archive player: one permanent playlist in the user's order.
///
/// The playlist always exists and cannot be removed; in a new store it is empty. It is independent of
/// `FavoriteArchives`: a file and its archive are separate favorites. `move(from:to:)` specifies how the
/// orders of two devices are merged.
public struct FavoriteTracks: Sendable {
  /// The name of the playlist.
  public static let name = "Favorites"

  /// The same library in the general interface, where it is ordered by date only.
  public let favorites: Favorites<Track>

  /// Creates an interface to the playlist of a store.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: Track.self)
  }

  private var library: FavoritesLibrary { favorites.library }

  // MARK: - Reading

  /// The tracks in the user's order: in the order in which they were added, apart from those that were moved.
  ///
  /// O(n log n). A favorite whose fields are not a valid `Track` is left out here, and reported by
  /// `favorites.load()`.
  public var favoriteItems: [Track] { positions().map(\.track) }

  /// Whether the file at this URL is in the playlist. One look-up.
  public func isFavoriteItem(url: URL) -> Bool { favorites.contains(url) }

  // MARK: - Writing

  /// Adds a file at the end of the playlist.
  ///
  /// - Parameters:
  ///   - track: the track; its fields are stored too.
  ///   - date: the favorited date, for files that were favorites elsewhere; the current time if `nil`. The
  ///     track is added at the end in any case.
  /// - Throws: `LibraryError.alreadyFavorite` if the URL is in the playlist already, whatever its title, and
  ///   is left unchanged; `LibraryError.invalidItem` for a URL without a scheme; `HeartlogError` if the store
  ///   cannot be written.
  public func appendFavoriteItem(_ track: Track, since date: Date? = nil) throws {
    try Self.checkAddress(of: track)
    try library.store.write {
      let positions = positions()
      guard !favorites.contains(track.id) else {
        throw LibraryError.alreadyFavorite("Track is already in the playlist \(Self.name).")
      }
      try favorites.add(track, since: date)
      // A key that it still has from before a removal on another device is not valid here.
      try setKey(nil, of: track)
      guard let last = positions.last?.key, let item = library.item(track.id.favoriteID),
        let own = TrackOrder.key(of: item), own <= last
      else { return }
      try put([track], at: positions.count, among: positions)
    }
  }

  /// Takes over the files of the app's own playlist at the end of this one, in their order and in one commit.
  ///
  /// ```swift
  /// try tracks.takeOver(playlist.files?.array.compactMap { file in
  ///   guard let file = file as? ArchiveFileEntity, let url = file.onlineUrl else { return nil }
  ///   var track = Track(url: url, title: file.title, archiveIdentifier: file.identifier)
  ///   (track.name, track.archiveTitle) = (file.name, file.archiveTitle)
  ///   (track.artist, track.creator, track.track) = (file.artist, file.creator, file.track)
  ///   (track.size, track.format, track.length) = (file.size, file.format, file.length)
  ///   return track
  /// } ?? [])
  /// ```
  ///
  /// A track that the store has had before stays as it is: one that was removed since does not come back, and a
  /// second call changes nothing.
  ///
  /// The app's other playlists become collections of this library: `favorites.items(inCollection:)` returns their tracks
  /// in order. What was played, which the app keeps too, is not taken over.
  ///
  /// - Parameters:
  ///   - tracks: the files of the permanent playlist, in order.
  ///   - otherPlaylists: the other playlists with their files, in order. A file may be in several.
  /// - Returns: the number of tracks that are new in the permanent playlist, and an error for each file and each name of a
  ///   playlist that cannot be stored.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func takeOver(
    _ tracks: some Sequence<Track>, otherPlaylists: [(name: String, tracks: [Track])] = []
  ) throws -> TakeOverReport {
    var (items, failures) = storable(tracks)
    var playlists: [(collection: ItemCollection, tracks: [Track])] = []
    for playlist in otherPlaylists {
      do throws(HeartlogError) {
        let (items, refused) = storable(playlist.tracks)
        playlists.append((try library.collection(playlist.name), items))
        failures += refused.map { .invalidItem("the playlist \(playlist.name.quoted): \($0)") }
      } catch {
        failures.append(.invalidItem("the playlist \(playlist.name.quoted): \(error.message)"))
      }
    }
    let count = try library.store.write(origin: TakeOverOrigin.database) {
      let positions = positions()
      var added: [Track] = []
      for track in items where library.item(track.id.favoriteID) == nil {
        if try favorites.add(track) { added.append(track) }
      }
      if !added.isEmpty { try put(added, at: positions.count, among: positions) }
      for playlist in playlists {
        for track in playlist.tracks { try takeOver(track, into: playlist.collection) }
      }
      return added.count
    }
    return TakeOverReport(count: count, failures: failures)
  }

  /// Adds a track at the end of a collection, unless it ever was in it. Must be called inside a write.
  private func takeOver(_ track: Track, into collection: ItemCollection) throws {
    let id = track.id.favoriteID
    let wasThere = library.store.read { state in
      state.position(ofField: ItemCollection.field(of: collection.name), of: id, in: Track.library) != nil
    }
    guard !wasThere else { return }
    if library.item(id) == nil { try library.set(try FieldEncoder.fields(of: track), of: id) }
    try collection.insert(id)
  }

  private func storable(_ tracks: some Sequence<Track>) -> (items: [Track], failures: [LibraryError]) {
    tracks.converting { (track) throws(LibraryError) -> Track? in
      try Self.checkAddress(of: track)
      try favorites.checkStorable(track)
      return track
    }
  }

  private static func checkAddress(of track: Track) throws(LibraryError) {
    guard track.url.scheme != nil, URL(favoriteID: track.id.favoriteID) != nil else {
      throw .invalidItem("\"\(track.url.absoluteString)\" is no address of a file")
    }
  }

  /// Adds one of the `files` of an item answer at the end of the playlist.
  ///
  /// - Throws: as `appendFavoriteItem(_:since:)`; `LibraryError.invalidItem` if the file has no name.
  public func appendFavoriteItem(file: some JSONSource, archiveIdentifier: String) throws {
    try appendFavoriteItem(try Track(file: file, archiveIdentifier: archiveIdentifier))
  }

  /// Removes the file at this URL from the playlist. If it is not in the playlist, no event is written.
  ///
  /// - Returns: Whether it was in the playlist.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func removeFavoriteItem(url: URL) throws -> Bool {
    try library.store.write {
      guard try favorites.remove(url) else { return false }
      // Without a key, it comes last if it is added again.
      try library.set([Field(name: TrackOrder.field, value: .null)], of: url.favoriteID)
      return true
    }
  }

  // MARK: - Order

  /// Moves the track at one index of `favoriteItems` to another.
  ///
  /// A move usually writes one field of one track. So moves of different tracks on two devices all survive a
  /// merge, and of two moves of one track the later one wins. If a track is removed on one device and moved
  /// on the other, the move does not bring it back. Tracks that both devices add are ordered by date. If two
  /// devices move tracks to the same position, these are ordered by URL.
  ///
  /// - Returns: Whether its index has changed.
  /// - Throws: `HeartlogError` with the code `invalid` if the playlist has no such index, or another code if
  ///   the store cannot be written.
  @discardableResult
  public func move(from source: Int, to destination: Int) throws -> Bool {
    try library.store.write {
      var positions = positions()
      for index in [source, destination] where !positions.indices.contains(index) {
        throw HeartlogError(.invalid, "the playlist has \(positions.count) tracks, and none at \(index)")
      }
      guard source != destination else { return false }
      try put([positions.remove(at: source).track], at: destination, among: positions)
      return true
    }
  }

  /// Moves the tracks at some offsets to before the one at another offset, keeping their order, as the
  /// `onMove` of a list requires. All moves are one commit.
  ///
  /// - Parameters:
  ///   - offsets: offsets in `favoriteItems`, in any order, such as an `IndexSet`.
  ///   - offset: an offset in `favoriteItems` before the move, or their count for the end.
  /// - Throws: as `move(from:to:)`.
  public func move(fromOffsets offsets: some Sequence<Int>, toOffset offset: Int) throws {
    let offsets = Set(offsets)
    try library.store.write {
      let positions = positions()
      for index in offsets.sorted() + [offset]
      where !positions.indices.contains(index) && (index != positions.count || offsets.contains(index)) {
        throw HeartlogError(.invalid, "the playlist has \(positions.count) tracks, and none at \(index)")
      }
      let order = positions.indices.filter { !offsets.contains($0) }
      let moved = offsets.sorted()
      let index = order.count { $0 < offset }
      guard order[..<index] + moved + order[index...] != Array(positions.indices)[...] else { return }
      try put(moved.map { positions[$0].track }, at: index, among: order.map { positions[$0] })
    }
  }

  /// Writes the keys of tracks for their new positions.
  ///
  /// - Parameter positions: the other tracks, in order.
  private func put(
    _ tracks: [Track], at index: Int, among positions: [(track: Track, key: OrderKey)]
  ) throws {
    let low = index > 0 ? positions[index - 1].key : nil
    // There is no key between tracks with equal keys, so the tracks after the gap get new keys, too.
    let next =
      positions[index...].firstIndex { position in low.map { $0 < position.key } ?? true }
      ?? positions.count
    let tracks = tracks + positions[index..<next].map(\.track)
    let keys = TrackOrder.keys(
      tracks.count, after: low, before: next < positions.count ? positions[next].key : nil)
    if keys.allSatisfy({ OrderKey($0.text) != nil }) {
      for (track, key) in zip(tracks, keys) { try setKey(key, of: track) }
    } else {
      // Thousands of moves into one gap have exhausted the length of a key, so all tracks get new keys.
      let all = positions[..<index].map(\.track) + tracks + positions[next...].map(\.track)
      let end = positions.last.flatMap { OrderKey(String($0.key.text.prefix(TrackOrder.dateLength)) + "V") }
      for (track, key) in zip(all, TrackOrder.keys(all.count, after: nil, before: end)) {
        try setKey(key, of: track)
      }
    }
  }

  private func setKey(_ key: OrderKey?, of track: Track) throws(HeartlogError) {
    try library.set(
      [Field(name: TrackOrder.field, value: key.map { .string($0.text) } ?? .null)], of: track.id.favoriteID)
  }

  private func positions() -> [(track: Track, key: OrderKey)] { TrackOrder.positions(of: library.items()) }
}
