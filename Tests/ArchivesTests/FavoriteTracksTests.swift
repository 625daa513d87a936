import Foundation
import Heartlog
import LibraryTestSupport
import TestSupport
import Testing

@testable import HeartlogLibraries

@Suite("tracks: the permanent playlist Favorites")
struct FavoriteTracksTests {
  private let clock = ManualClock()
  private let store: FavoritesStore
  private let playlist: FavoriteTracks

  init() throws {
    store = try .inMemory(options: clock.options)
    playlist = try FavoriteTracks(store)
  }

  static func track(_ name: String, title: String? = nil) throws -> Track {
    Track(
      url: try #require(URL(string: "https://archive.org/download/gd77-05-08/\(name).mp3")),
      title: title ?? name, archiveIdentifier: "gd77-05-08")
  }

  private func append(_ names: String...) throws {
    for name in names { try playlist.appendFavoriteItem(Self.track(name)) }
  }

  private var titles: String { playlist.favoriteItems.compactMap(\.title).joined() }

  @Test("tracks take-over: the app's playlist keeps its order and what its rows show, and again is nothing")
  func migrate() throws {
    try append("x")
    var rows = try ["c", "a", "b"].map { try Self.track($0) }
    rows[0].name = "c.mp3"
    (rows[0].artist, rows[0].creator, rows[0].archiveTitle) = ("Band", "A,B", "Live")
    (rows[0].track, rows[0].size, rows[0].format, rows[0].length) = ("3/12", "9000", "VBR MP3", "3:45")
    rows.append(Track(url: try #require(URL(string: "no-scheme.mp3"))))
    let before = store.read(\.commitCount)
    let report = try playlist.migrate(from: rows)
    #expect(report.count == 3 && report.failures.count == 1 && store.read(\.commitCount) == before + 1)
    #expect(titles == "xcab" && playlist.favoriteItems[1] == rows[0])
    try playlist.removeFavoriteItem(url: rows[1].url)
    try append("y")
    let digest = store.digest
    #expect(try playlist.migrate(from: rows).count == 0 && store.digest == digest && titles == "xcby")
    // A file that is on the playlist already is an error that the user sees.
    let error = #expect(throws: LibraryError.self) { try playlist.appendFavoriteItem(rows[0]) }
    #expect(error?.localizedDescription == "Track is already in the playlist Favorites.")
  }

  @Test("tracks take-over: the app's other playlists are collections in their order, and again is nothing")
  func otherPlaylists() throws {
    let (a, b, c) = (try Self.track("a"), try Self.track("b"), try Self.track("c"))
    let unusable = Track(url: try #require(URL(string: "no-scheme.mp3")))
    let others: [(name: String, tracks: [Track])] = [
      ("Road", [c, a, unusable, a]), ("Night", [b]), ("", [b]),
    ]
    let before = store.read(\.commitCount)
    let report = try playlist.migrate(from: [a], otherPlaylists: others)
    #expect(report.count == 1 && titles == "a" && store.read(\.commitCount) == before + 1)
    #expect(report.failures.count == 2 && "\(report.failures[0])".contains(#""Road""#))
    #expect(try playlist.favorites.query.collection("Road").items() == [c, a])
    #expect(try playlist.favorites.query.collection("Night").items() == [b])
    // What was taken out or moved since stays so.
    let road = try store.library("tracks").collection("Road")
    try road.remove(a.id.favoriteID)
    let digest = store.digest
    #expect(try playlist.migrate(from: [a], otherPlaylists: others).count == 0 && store.digest == digest)
  }

  @Test("tracks: the playlist is there from the start, permanent, and keeps url, title and archive")
  func permanent() throws {
    #expect(FavoriteTracks.name == "Favorites" && playlist.favoriteItems == [])
    try append("a")
    #expect(playlist.favoriteItems == [try Self.track("a")])
    #expect(playlist.favoriteItems[0].archiveIdentifier == "gd77-05-08")
    #expect(try playlist.removeFavoriteItem(url: Self.track("a").url))
    #expect(try !playlist.removeFavoriteItem(url: Self.track("a").url))
    #expect(playlist.favoriteItems == [])
    try append("b")
    #expect(titles == "b")
  }

  @Test("tracks: a duplicate by url throws alreadyFavorite, whatever its title, and changes nothing")
  func duplicate() throws {
    try append("a", "b")
    let digest = store.digest
    let error = #expect(throws: LibraryError.self) {
      try playlist.appendFavoriteItem(Self.track("a", title: "another title"))
    }
    #expect(error == .alreadyFavorite("Track is already in the playlist Favorites."))
    #expect(store.digest == digest)
    #expect(throws: LibraryError.self) {
      try playlist.appendFavoriteItem(Track(url: #require(URL(string: "a.mp3"))))
    }
  }

  @Test("tracks: a file of an answer is added with its url, title and archive")
  func answer() throws {
    let track = try Track(file: #"{"name":"a b.mp3","title":"A"}"#, archiveIdentifier: "x")
    try playlist.appendFavoriteItem(track)
    let url = try #require(URL(string: "https://archive.org/download/x/a%20b.mp3"))
    #expect(playlist.favoriteItems == [Track(url: url, title: "A", archiveIdentifier: "x")])
    #expect(throws: LibraryError.self) {
      try playlist.appendFavoriteItem(track)
    }
  }

  @Test("tracks: both kinds stand side by side")
  func sideBySide() throws {
    let archives = try FavoriteArchives(store)
    try archives.addFavoriteArchive(Archive(identifier: "gd77-05-08"))
    try append("a")
    #expect(try playlist.isFavoriteItem(url: Self.track("a").url))
    try archives.removeFavoriteArchive(identifier: "gd77-05-08")
    #expect(titles == "a" && archives.favoriteArchives == [])
    try archives.addFavoriteArchive(Archive(identifier: "gd77-05-08"))
    try playlist.removeFavoriteItem(url: Self.track("a").url)
    #expect(titles == "" && archives.favoriteArchives.count == 1)
  }

  @Test("tracks: the order is that of adding, in one millisecond, in one commit, and when a clock goes back")
  func orderOfAdding() throws {
    try append("c", "b")
    try store.write { try append("z", "a") }
    clock.advance(by: -60)
    try append("y")
    clock.advance(by: 120)
    try append("x")
    try playlist.appendFavoriteItem(Self.track("o"), since: Date(timeIntervalSince1970: 1_000_000_000))
    #expect(titles == "cbzayxo")
  }

  @Test("tracks: move(from:to:) puts a track where it is then, and later ones still come last")
  func move() throws {
    for name in ["a", "b", "c", "d"] {
      try append(name)
      clock.advance(by: 1)
    }
    #expect(try playlist.move(from: 3, to: 0) && titles == "dabc")
    #expect(try playlist.move(from: 0, to: 2) && titles == "abdc")
    #expect(try playlist.move(from: 1, to: 3) && titles == "adcb")
    #expect(try !playlist.move(from: 2, to: 2) && titles == "adcb")
    try append("e")
    #expect(titles == "adcbe")
    // Added again, a track comes last, wherever it stood.
    clock.advance(by: 1)
    try playlist.removeFavoriteItem(url: Self.track("d").url)
    try append("d")
    #expect(titles == "acbed")
    for (from, to) in [(5, 0), (0, 5), (-1, 0), (0, -1)] {
      let error = #expect(throws: HeartlogError.self) { try playlist.move(from: from, to: to) }
      #expect(error?.code == .invalid)
    }
    #expect(titles == "acbed")
  }

  @Test("tracks: a move writes one event")
  func oneEvent() throws {
    try append("a", "b", "c")
    let before = store.eventCount(of: "tracks")
    try playlist.move(from: 2, to: 0)
    #expect(store.eventCount(of: "tracks") == before + 1)
  }

  @Test("tracks: any moves give what an array gives", arguments: 1...8 as ClosedRange<UInt64>)
  func anyMoves(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var model: [String] = []
    for name in ["a", "b", "c", "d", "e", "f"] {
      try append(name)
      model.append(name)
      if Bool.random(using: &random) { clock.advance(by: 1) }
    }
    for _ in 0..<60 {
      if Int.random(in: 0..<3, using: &random) == 0 {
        let offsets = (0..<model.count).filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
        let offset = Int.random(in: 0...model.count, using: &random)
        try playlist.move(fromOffsets: IndexSet(offsets), toOffset: offset)
        let moved = offsets.map { model[$0] }
        let index = (0..<offset).count { !offsets.contains($0) }
        model.removeAll { moved.contains($0) }
        model.insert(contentsOf: moved, at: index)
      } else {
        let from = Int.random(in: model.indices, using: &random)
        let to = Int.random(in: model.indices, using: &random)
        try playlist.move(from: from, to: to)
        model.insert(model.remove(at: from), at: to)
      }
      try #require(titles == model.joined(), "seed \(seed)")
    }
  }

  @Test("tracks: thousands of moves into one gap find their places")
  func oneGap() throws {
    try append("a", "b", "c")
    var model = ["a", "b", "c"]
    for _ in 0..<2_000 {
      try playlist.move(from: 2, to: 1)
      model.insert(model.remove(at: 2), at: 1)
      try #require(titles == model.joined())
    }
    clock.advance(by: 1)
    try append("d")
    #expect(titles == (model + ["d"]).joined())
    // So does what comes after a key as long as a key can be.
    let long = String(repeating: "z", count: 256)
    try store.library("tracks").set(
      [Field(name: TrackOrder.field, value: .string(long))], of: Self.track("d").url.absoluteString)
    try append("e", "f")
    #expect(titles == (model + ["d", "e", "f"]).joined())
  }

  @Test("tracks: offsets that the playlist does not have are refused")
  func offsets() throws {
    try append("a", "b")
    for (offsets, offset) in [([2], 0), ([-1], 0), ([0], 3), ([0], -1)] {
      #expect(throws: HeartlogError.self) { try playlist.move(fromOffsets: offsets, toOffset: offset) }
    }
    try playlist.move(fromOffsets: [], toOffset: 0)
    try playlist.move(fromOffsets: [0], toOffset: 2)
    #expect(titles == "ba")
  }

  @Test("tracks: what other tools add or write has a place too")
  func otherTools() throws {
    try append("a")
    clock.advance(by: 1)
    let url = try Self.track("b").url.absoluteString
    try store.library("tracks").add(url, fields: [Field(name: "title", value: .string("b"))])
    try store.library("tracks").set([Field(name: TrackOrder.field, value: .string("no key"))], of: url)
    clock.advance(by: 1)
    try append("c")
    #expect(titles == "abc")
    try playlist.move(from: 1, to: 0)
    #expect(titles == "bac")
  }

  // MARK: - Two devices

  /// What both stores' logs make together, in either order of arrival.
  private func merged(_ stores: FavoritesStore...) throws -> String {
    let commits = try stores.map { store in
      let log = try store.readLog()
      var commits: [Commit] = []
      while let commit = try log.next() { commits.append(commit) }
      return commits
    }
    let orders = [commits, commits.reversed()].map { streams in
      var state = FavoritesState()
      for commit in streams.joined() { state.apply(commit) }
      return ItemOrder.positions(of: state.items(in: "tracks")) { item in
        TrackOrder.track(of: item).flatMap { _ in TrackOrder.key(of: item) }
      }.compactMap { TrackOrder.track(of: $0.item)?.title }.joined()
    }
    #expect(orders[0] == orders[1])
    return orders[0]
  }

  @Test("tracks: moves of different tracks on two devices both survive")
  func twoDevices() throws {
    let other = try FavoriteTracks(.inMemory(options: clock.options))
    for name in ["a", "b", "c", "d"] {
      try append(name)
      try other.appendFavoriteItem(Self.track(name))
      clock.advance(by: 1)
    }
    try playlist.move(from: 3, to: 0)  // dabc
    try other.move(from: 0, to: 2)  // bcad
    #expect(try merged(store, other.favorites.library.store) == "dbca")
  }

  @Test("tracks: what two devices add apart lines up by date")
  func addedApart() throws {
    let other = try FavoriteTracks(.inMemory(options: clock.options))
    for (index, name) in ["a", "b", "c", "d"].enumerated() {
      if index.isMultiple(of: 2) { try append(name) } else { try other.appendFavoriteItem(Self.track(name)) }
      clock.advance(by: 1)
    }
    #expect(try merged(store, other.favorites.library.store) == "abcd")
  }

  @Test("tracks: what one device adds comes after what another moved to the end before")
  func movedToTheEnd() throws {
    let other = try FavoriteTracks(.inMemory(options: clock.options))
    for name in ["a", "b", "c"] {
      try append(name)
      try other.appendFavoriteItem(Self.track(name))
      clock.advance(by: 1)
    }
    try playlist.move(from: 0, to: 2)
    clock.advance(by: 1)
    try other.appendFavoriteItem(Self.track("d"))
    #expect(try merged(store, other.favorites.library.store) == "bcad")
  }

  @Test(
    "tracks: the later of two moves of one track wins, and a removal is one wherever the other moved it to")
  func conflicts() throws {
    let other = try FavoriteTracks(.inMemory(options: clock.options))
    for name in ["a", "b", "c"] {
      try append(name)
      try other.appendFavoriteItem(Self.track(name))
      clock.advance(by: 1)
    }
    try playlist.move(from: 2, to: 0)  // cab
    clock.advance(by: 1)
    try other.move(from: 2, to: 1)  // acb
    #expect(try merged(store, other.favorites.library.store) == "acb")
    clock.advance(by: 1)
    try playlist.removeFavoriteItem(url: Self.track("b").url)
    clock.advance(by: 1)
    try other.move(from: 2, to: 0)  // bac
    #expect(try merged(store, other.favorites.library.store) == "ac")
  }

  @Test("tracks: tracks for which two devices chose one place stand by url, and another fits between them")
  func onePlace() throws {
    try append("a", "b", "c", "d")
    let library = try store.library("tracks")
    for name in ["b", "c"] {
      try library.set(
        [Field(name: TrackOrder.field, value: .string("zzzV"))], of: Self.track(name).url.absoluteString)
    }
    #expect(titles == "adbc")
    try playlist.move(from: 0, to: 2)
    #expect(titles == "dbac")
  }
}
