import HeartlogCrashModel
import Foundation
import HeartlogFiles
import Testing

@testable import Heartlog

@Suite("Commits of other processes are announced")
struct WatchTests {
  private let test = TestStore()

  @Test("a store watches while somebody subscribes, once, and lets go with the last subscriber")
  func watches() async throws {
    let store = try test.open()
    #expect(test.files.watchCount == 0)
    var first: Changes? = store.changes
    let second = Task { [changes = store.changes] in for await _ in changes {} }
    #expect(test.files.watchCount == 1)
    withExtendedLifetime(first) {}
    first = nil
    #expect(test.files.watchCount == 1)
    second.cancel()
    await second.value
    #expect(test.files.watchCount == 0)
    let third = Task { [changes = store.changes] in for await _ in changes {} }
    #expect(test.files.watchCount == 1)
    try store.close()
    await third.value
    #expect(test.files.watchCount == 0)
  }

  @Test("a store that is released lets go")
  func released() throws {
    var store: FavoritesStore? = try test.open()
    let changes = try #require(store).changes
    #expect(test.files.watchCount == 1)
    store = nil
    #expect(test.files.watchCount == 0)
    withExtendedLifetime(changes) {}
  }

  @Test(
    "every commit of two other handles comes, once and in the order of its stream, while segments rotate and are sealed",
    arguments: [true, false])
  func everyCommit(onDisk: Bool) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    func open() throws -> FavoritesStore {
      var options = StoreOptions()
      options.changeStorage = { $0.segmentBytesMax = 4_096 + 2_000 }
      return try onDisk ? FavoritesStore(at: folder, options: options) : test.open { $0 = options }
    }
    let store = try open()
    let writers = [try open(), try open()]
    let changes = store.changes
    let count = 40
    let writing = Task.detached {
      try await withThrowingTaskGroup { group in
        for (index, writer) in writers.enumerated() {
          group.addTask {
            for number in 0..<count {
              try await writer.write { try writer.library("papers").add("\(index)-\(number)") }
            }
            try await writer.run { try $0.seal() }
          }
        }
        try await group.waitForAll()
      }
    }
    var told: [Int: [String]] = [:]
    var iterator = changes.makeAsyncIterator()
    for _ in 0..<(2 * count) {
      guard case .change(let change)? = await iterator.next() else { throw Missing() }
      told[change.event.item.first == "0" ? 0 : 1, default: []].append(change.event.item)
    }
    try await writing.value
    for index in 0...1 { #expect(told[index] == (0..<count).map { "\(index)-\($0)" }) }
  }

  @Test("where the system allows no more watches, the store polls")
  func refused() async throws {
    let store = try test.open()
    let other = try test.open()
    test.files.failNext(.watch, code: EMFILE)
    var iterator = store.changes.makeAsyncIterator()
    #expect(test.files.watchCount == 0)
    try other.library("papers").add("a")
    guard case .change(let change)? = await iterator.next() else { throw Missing() }
    #expect(change.event.item == "a")
  }

  @Test("a buffered commit is announced when it is written")
  func buffered() async throws {
    let store = try test.open()
    let other = try test.open { $0.durability = .buffered }
    var iterator = store.changes.makeAsyncIterator()
    for number in 1...3 {
      try other.library("papers").add("\(number)")
      guard case .change(let change)? = await iterator.next() else { throw Missing() }
      #expect(change.event.item == "\(number)")
    }
  }

  private struct Missing: Error {}
}
