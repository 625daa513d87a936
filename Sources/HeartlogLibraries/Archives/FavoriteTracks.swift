import Heartlog

/// A file of an archive, which can be played directly.
public struct Track: FavoriteItem, Hashable {
  public static let library = "tracks"

  /// The URL of the file, which identifies the track.
  public var id: URL
  /// The title in a row; `nil` if the file has none.
  public var title: String?
  /// The archive that the file belongs to; `nil` for a file from elsewhere.
  public var archiveIdentifier: String?
  /// The title of the archive.
  public var archiveTitle: String?
  /// The name of the file in its archive.
  public var name: String?
  /// The artist, as the file names one.
  public var artist: String?
  /// The creators of the archive, joined by ",".
  public var creator: String?
  /// The number of the file on its record, "3" or "3/12".
  public var track: String?
  /// The size in bytes, as the archive writes it.
  public var size: String?
  /// The format, "VBR MP3".
  public var format: String?
  /// The duration, as the archive writes it: in seconds, or "3:45".
  public var length: String?

  /// Another name of `id`.
  public var url: URL {
    get { id }
    set { id = newValue }
  }

  /// Creates a track. `FavoriteTracks` refuses a URL without a scheme.
  public init(url: URL, title: String? = nil, archiveIdentifier: String? = nil) {
    id = url
    self.title = title
    self.archiveIdentifier = archiveIdentifier
  }

  /// The names in the app's own JSON, and of the fields in the store, where the URL is the item's id.
  private enum CodingKeys: String, CodingKey {
    case id = "url"
    case title, archiveIdentifier, archiveTitle, name, artist, creator, track, size, format, length
  }
}

extension Track {
  /// Parses one of the `files` of an item answer. The title is the file's own, or its name if it has none;
  /// the URL is below `https://archive.org/download/`.
  ///
  /// - Throws: `LibraryError.invalidItem` if the file has no name.
  public init(file: some JSONSource, archiveIdentifier: String) throws(LibraryError) {
    let file = try file.json()
    guard let name = file["name"]?.string, !name.isEmpty,
      let url = URL(string: "https://archive.org/download/\(archiveIdentifier)/\(name.percentEncoded)")
    else { throw .invalidItem("a file of the archive \(archiveIdentifier) without a name") }
    self.init(
      url: url, title: Archive.texts(file["title"]).first ?? name, archiveIdentifier: archiveIdentifier)
  }
}

/// The positions of tracks in the playlist, as keys that are sorted by their bytes.
///
/// The key of a track that was never moved is computed from its favorited date: the milliseconds as nine
/// digits in base 62, and a `V`. A track that was moved has a key of its own in the field `orderKey`, between
/// those of its neighbours. So adding writes no key, and moving usually writes one: tracks that two devices
/// add are ordered by date, and moves of different tracks all survive a merge. Of two moves of one track the
/// later one wins. Tracks with equal keys, which two devices may create, are ordered by the bytes of their
/// ids.
enum TrackOrder {
  static let field = "orderKey"

  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
  /// 62^9 milliseconds are 430,000 years, which covers all dates that the format allows.
  static let dateLength = 9

  static func order(of library: FavoritesLibrary) -> ItemOrder {
    ItemOrder(library, field: field, named: "the playlist", limit: end(ofMillisecondOf:)) { item in
      track(of: item).flatMap { _ in key(of: item) }
    }
  }

  /// The track that an item is; `nil` if it is no favorite, or not a valid `Track`.
  static func track(of item: ItemState) -> Track? {
    guard item.isFavorite else { return nil }
    return try? FieldDecoder.decode(
      Track.self, id: item.id, isFavorite: true, favoritedDate: item.favoritedDate, fields: item.fields)
  }

  /// The key of a favorite: the one in its field, or that of its date if the field has no valid key.
  static func key(of track: ItemState) -> OrderKey? {
    if case .string(let text)? = track.value(of: field), let key = OrderKey(text) { return key }
    return track.favoritedDate.flatMap(key(of:))
  }

  /// The key of a date.
  static func key(of date: Milliseconds) -> OrderKey? {
    OrderKey(text(UInt64(clamping: date - Limits.dateMillisecondsMin)) + "V")
  }

  /// A key just above all keys with the same milliseconds as `key`, so that tracks added later come after those.
  private static func end(ofMillisecondOf key: OrderKey) -> OrderKey? {
    let prefix = Array(key.text.utf8.prefix(dateLength))
    var number: UInt64 = 0
    for index in 0..<dateLength {
      let digit = index < prefix.count ? digits.firstIndex(of: prefix[index]) ?? 0 : 0
      number = number * 62 + UInt64(digit)
    }
    return OrderKey(text(number + 1) + "0000001")
  }

  /// Nine digits, most significant first. A number that does not fit becomes the largest one.
  private static func text(_ number: UInt64) -> String {
    var rest = number
    var bytes = [UInt8](repeating: digits[0], count: dateLength)
    for index in bytes.indices.reversed() {
      bytes[index] = digits[Int(rest % 62)]
      rest /= 62
    }
    return rest == 0 ? String(decoding: bytes, as: UTF8.self) : String(repeating: "z", count: dateLength)
  }
}

/// The favorite files of an Internet Archive player: one permanent playlist in the user's order.
///
/// The playlist always exists and cannot be removed; in a new store it is empty. It is independent of
/// `FavoriteArchives`: a file and its archive are separate favorites. `move(from:to:)` specifies how the
/// orders of two devices are merged.
public struct FavoriteTracks: TypedLibrary {
  /// The name of the playlist.
  public static let name = "Favorites"

  /// The same library in the general interface, where it is ordered by date only.
  public let favorites: Favorites<Track>
  public var store: FavoritesStore { library.store }

  /// Creates an interface to the playlist of a store.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    favorites = try store.favorites(of: Track.self)
  }

  private var library: FavoritesLibrary { favorites.library }
  private var order: ItemOrder { TrackOrder.order(of: library) }

  // MARK: - Reading

  /// The tracks in the user's order: in the order in which they were added, apart from those that were moved.
  ///
  /// O(n log n). A favorite whose fields are not a valid `Track` is left out here, and reported by
  /// `favorites.failures`.
  public var favoriteItems: [Track] { order.positions().compactMap { TrackOrder.track(of: $0.item) } }

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
    try store.write {
      let positions = order.positions()
      guard !favorites.contains(track.id) else {
        throw LibraryError.alreadyFavorite("Track is already in the playlist \(Self.name).")
      }
      try favorites.add(track, since: date)
      // A key that it still has from before a removal on another device is not valid here.
      try clearKey(of: track.url)
      guard let last = positions.last?.key, let item = library.item(track.id.favoriteID),
        let own = TrackOrder.key(of: item), own <= last
      else { return }
      try order.put([track.id.favoriteID], at: positions.count, among: positions)
    }
  }

  /// Takes over the files of the app's own playlist at the end of this one, in their order and in one commit.
  ///
  /// ```swift
  /// try tracks.migrate(from: playlist.files?.array.compactMap { file in
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
  public func migrate(
    from tracks: some Sequence<Track>, otherPlaylists: [(name: String, tracks: [Track])] = []
  ) throws -> MigrationReport {
    var (items, failures) = storable(tracks)
    var playlists: [(collection: ItemCollection<String>, tracks: [Track])] = []
    for playlist in otherPlaylists {
      do throws(HeartlogError) {
        let (items, refused) = storable(playlist.tracks)
        playlists.append((try library.collection(playlist.name), items))
        failures += refused.map { .invalidItem("the playlist \(playlist.name.quoted): \($0)") }
      } catch {
        failures.append(.invalidItem("the playlist \(playlist.name.quoted): \(error.message)"))
      }
    }
    let count = try store.write(origin: MigrationOrigin.database) {
      let positions = order.positions()
      var added: [Track] = []
      for track in items where library.item(track.id.favoriteID) == nil {
        if try favorites.add(track) { added.append(track) }
      }
      try order.put(added.map(\.id.favoriteID), at: positions.count, among: positions)
      for playlist in playlists {
        for track in playlist.tracks { try migrate(from: track, into: playlist.collection) }
      }
      return added.count
    }
    return MigrationReport(count: count, failures: failures)
  }

  /// Adds a track at the end of a collection, unless it ever was in it. Must be called inside a write.
  private func migrate(from track: Track, into collection: ItemCollection<String>) throws {
    let id = track.id.favoriteID
    let wasThere = store.read { state in
      state.position(ofField: CollectionField.name(of: collection.name), of: id, in: Track.library) != nil
    }
    guard !wasThere else { return }
    if library.item(id) == nil { try library.set(try FieldEncoder.fields(of: track), of: id) }
    try collection.insert(id)
  }

  private func storable(_ tracks: some Sequence<Track>) -> (items: [Track], failures: [LibraryError]) {
    favorites.items(of: tracks) { (track) throws(LibraryError) in
      try Self.checkAddress(of: track)
      return track
    }
  }

  private static func checkAddress(of track: Track) throws(LibraryError) {
    guard track.url.scheme != nil, URL(favoriteID: track.id.favoriteID) != nil else {
      throw .invalidItem("\"\(track.url.absoluteString)\" is no address of a file")
    }
  }

  /// Removes the file at this URL from the playlist. If it is not in the playlist, no event is written.
  ///
  /// - Returns: Whether it was in the playlist.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func removeFavoriteItem(url: URL) throws -> Bool {
    try store.write {
      guard try favorites.remove(url) else { return false }
      // Without a key, it comes last if it is added again.
      try clearKey(of: url)
      return true
    }
  }

  private func clearKey(of url: URL) throws(HeartlogError) {
    try library.set([Field(name: TrackOrder.field, value: .null)], of: url.favoriteID)
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
    try order.move(fromOffsets: [source], toOffset: destination > source ? destination + 1 : destination)
  }

  /// Moves the tracks at some offsets to before the one at another offset, keeping their order, as the
  /// `onMove` of a list requires. All moves are one commit.
  ///
  /// - Parameters:
  ///   - offsets: offsets in `favoriteItems`, in any order, such as an `IndexSet`.
  ///   - offset: an offset in `favoriteItems` before the move, or their count for the end.
  /// - Throws: as `move(from:to:)`.
  public func move(fromOffsets offsets: some Sequence<Int>, toOffset offset: Int) throws {
    _ = try order.move(fromOffsets: offsets, toOffset: offset)
  }
}
