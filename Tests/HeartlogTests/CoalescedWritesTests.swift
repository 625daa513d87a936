import HeartlogCrashModel
import HeartlogFiles
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

@testable import Heartlog

private struct Episode: FavoriteItem, Equatable {
  static let library = "episodes"
  static var localFields: Set<String> { ["heard"] }

  let id: String
  var title = "T"
  var position = 0.0
  var heard: Int?
}

@Suite("Coalesced updates", .timeLimit(.minutes(5)))
struct CoalescedWritesTests {
  private let test = TestStore()
  private let store: FavoritesStore
  private let episodes: Favorites<Episode>

  init() throws {
    store = try test.open()
    episodes = try store.favorites(of: Episode.self)
    try episodes.add(Episode(id: "a"))
    test.clock.now += 60_000
  }

  private var commits: UInt64 { store.read(\.commitCount) }

  @discardableResult
  private func update(_ position: Double, of id: String = "a", heard: Int? = nil) throws -> Bool {
    try episodes.update(id, coalescing: .seconds(5)) { episode in
      episode.position = position
      if let heard { episode.heard = heard }
    }
  }

  @Test("an update twice a second writes the item every five seconds, and the last one is not lost")
  func spacing() throws {
    let before = commits
    for tick in 1...120 {
      try update(Double(tick))
      test.clock.now += 500
    }
    #expect(commits == before + 12)
    #expect(episodes.list().first?.position == 111)
    try store.flush()
    #expect(commits == before + 13 && episodes.list().first?.position == 120)
    try store.flush()
    #expect(commits == before + 13)
  }

  @Test("items wait separately, and are written in one commit")
  func severalItems() throws {
    try episodes.add(Episode(id: "b"))
    test.clock.now += 60_000
    let before = commits
    for id in ["a", "b"] {
      #expect(try update(1, of: id))
      #expect(try !update(2, of: id))
    }
    #expect(commits == before + 2)
    try store.flush()
    #expect(commits == before + 3)
    #expect(try ["a", "b"].map { try episodes.item($0)?.position } == [2, 2])
  }

  @Test("what waits is written before the store rests", arguments: [false, true])
  func restAndClose(isClosed: Bool) throws {
    try update(1)
    try update(2, heard: 7)
    if isClosed { try store.close() } else { try store.suspend() }
    let again = try test.open().favorites(of: Episode.self)
    #expect(try again.item("a") == Episode(id: "a", position: 2, heard: 7))
  }

  @Test("a value that is stored already does not wait")
  func unchanged() throws {
    try update(1)
    try update(2)
    try update(1)
    let before = commits
    try store.flush()
    #expect(try commits == before && episodes.item("a")?.position == 1)
  }

  @Test(
    "a waiting value yields to a later update of the same field, and to that alone", arguments: [false, true])
  func yields(isByOtherHandle: Bool) throws {
    try update(1)
    try episodes.update("a", coalescing: .seconds(5)) {
      ($0.title, $0.position, $0.heard) = ("waits", 2, 3)
    }
    test.clock.now += 1
    let other = isByOtherHandle ? try test.open().favorites(of: Episode.self) : episodes
    try other.library.set(
      [Field(name: "position", value: .double(9.5)), Field(name: "heard", value: .int64(4))], of: "a")
    try store.refresh()
    try store.flush()
    #expect(try episodes.item("a") == Episode(id: "a", title: "waits", position: 9.5, heard: 4))
  }

  @Test("local fields are coalesced too, without a commit")
  func local() throws {
    let before = commits
    #expect(try update(0, heard: 1))
    for heard in 2...9 { #expect(try !update(0, heard: heard)) }
    #expect(episodes.list().first?.heard == 1)
    try store.flush()
    #expect(commits == before && episodes.list().first?.heard == 9)
  }

  @Test("a failed write is thrown, and the value still waits")
  func failure() throws {
    try update(1)
    try update(2)
    test.files.failNext(.write, onPathSuffix: ".open", code: ENOSPC)
    #expect(throws: HeartlogError.self) { try store.flush() }
    try store.flush()
    #expect(try episodes.item("a")?.position == 2)
  }

  @Test("an item that cannot be stored is refused at the update, not later")
  func invalid() throws {
    try update(1)
    #expect(throws: HeartlogError.self) {
      try episodes.update("a", coalescing: .seconds(5)) {
        $0.title = String(repeating: "x", count: Limits.valueBytesMax + 1)
      }
    }
    #expect(throws: HeartlogError.self) { try update(1, of: "absent") }
    try store.flush()
    #expect(try episodes.item("a")?.title == "T")
  }

  @Test("a clock that is set back does not keep values waiting")
  func clockSetBack() throws {
    try update(1)
    test.clock.now -= 3_600_000
    #expect(try update(2))
  }

  @Test("inside a write it is a plain update")
  func insideWrite() throws {
    try update(1)
    let isWritten = try store.write { try update(2) }
    #expect(isWritten)
    #expect(try episodes.item("a")?.position == 2)
  }

  @Test("a change sees what waits, and leaves the other properties as they are stored, or wait")
  func changes() throws {
    try update(1)
    try update(2, heard: 7)
    try episodes.library.set([Field(name: "title", value: .string("new"))], of: "a")
    try episodes.update("a", coalescing: .seconds(5)) { $0.position += 30 }
    #expect(try episodes.item("a") == Episode(id: "a", title: "new", position: 32, heard: 7))
    try store.flush()
    #expect(episodes.list() == [Episode(id: "a", title: "new", position: 32, heard: 7)])
  }

  @Test("what waits of one property stays as old as it is when another one changes")
  func ages() throws {
    try update(1)
    try update(2)
    test.clock.now += 10
    let other = try test.open().favorites(of: Episode.self)
    try other.library.set([Field(name: "position", value: .double(9.5))], of: "a")
    test.clock.now += 10
    try episodes.update("a", coalescing: .seconds(5)) { $0.title = "later" }
    try store.flush()
    #expect(try episodes.item("a") == Episode(id: "a", title: "later", position: 9.5))
  }

  @Test("inside a write, an item shows what waits, and what the write changed over it")
  func readInsideWrite() throws {
    try update(1)
    try update(2)
    let positions = try store.write {
      let before = try episodes.item("a")?.position
      // Back to what is stored, and on to something else.
      try episodes.update("a") { $0.position = 5 }
      try episodes.update("a") { $0.position = 1 }
      return [before, try episodes.item("a")?.position]
    }
    #expect(positions == [2, 1])
    try store.flush()
    #expect(try episodes.item("a")?.position == 1)
  }
}
