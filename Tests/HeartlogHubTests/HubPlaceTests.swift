import Heartlog
import HeartlogTesting
import Synchronization
import TestSupport
import Testing

@testable import HeartlogSync

/// "Objects" in docs/shipping.md says what each place promises.
@Suite("What a hub promises of objects")
struct HubPlaceTests {
  private let writer = String(repeating: "1", count: 32)

  private func name(_ number: Int) -> String {
    let digits = String(String(number + 1_000_000_000_000_000).dropFirst())
    let commit = String(repeating: "0", count: 16 - digits.count) + digits
    return "\(writer)/\(writer)/\(commit)-\(commit)-0123456789abcdef-fedcba9876543210.run"
  }

  private func listed(_ objects: any Place) throws -> [String: UInt64?] {
    var catalogue = ObjectCatalogue()
    try catalogue.update(from: objects, SyncOptions())
    return catalogue.entries.mapValues(\.byteCount)
  }

  @Test("what was put is listed with its size, and read as it was")
  func roundTrip() throws {
    let objects = try FakeHubPlace().objects()
    #expect(try listed(objects).isEmpty)
    var expected: [String: UInt64?] = [:]
    for number in 1...9 {
      let bytes = [UInt8](repeating: UInt8(number), count: number * 50_000)
      try objects.put(name(number), bytes)
      expected[name(number)] = UInt64(bytes.count)
      #expect(try objects.get(name(number), bytesMax: bytes.count) == .bytes(bytes))
      #expect(try objects.get(name(number), bytesMax: bytes.count - 1) == .unreadable)
      #expect(try listed(objects) == expected)
    }
  }

  @Test("the same bytes may be put again, and other bytes are refused by name")
  func putTwice() throws {
    let objects = try FakeHubPlace().objects()
    for other in [[1, 2, 4], [1, 2], [1, 2, 3, 4]] as [[UInt8]] {
      for _ in 0..<2 { try objects.put(name(1), [1, 2, 3]) }
      let error = #expect(throws: HeartlogError.self) { try objects.put(name(1), other) }
      #expect(error?.code == .exists && error?.message.contains(name(1)) == true)
      #expect(try objects.get(name(1), bytesMax: 10) == .bytes([1, 2, 3]))
    }
    #expect(try listed(objects) == [name(1): 3])
  }

  @Test("what was deleted is absent, and may be put again")
  func delete() throws {
    let objects = try FakeHubPlace().objects()
    #expect(try objects.get(name(1), bytesMax: 10) == .deleted)
    try objects.delete(name(1))
    try objects.put(name(1), [1])
    try objects.put(name(2), [2])
    for _ in 0..<2 { try objects.delete(name(1)) }
    #expect(try objects.get(name(1), bytesMax: 10) == .deleted)
    #expect(try listed(objects) == [name(2): 1])
    try objects.put(name(1), [3, 4])
    #expect(try objects.get(name(1), bytesMax: 10) == .bytes([3, 4]))
    #expect(try listed(objects) == [name(1): 2, name(2): 1])
  }

  @Test("whoever continues from each cursor knows all that is there", arguments: 1...4 as ClosedRange<UInt64>)
  func continuing(seed: UInt64) throws {
    let objects = try FakeHubPlace().objects()
    var random = SeededGenerator(seed: seed)
    var present: [String: UInt64?] = [:]
    var catalogue = ObjectCatalogue()
    // A commit's number is 1 or more, and a hub takes no other name.
    for step in 1...900 {
      switch UInt8.random(in: 0..<20, using: &random) {
      case 0..<16:
        try objects.put(name(step), [1, 2, 3])
        present[name(step)] = 3
      case 16..<19:
        guard let name = present.keys.sorted().randomElement(using: &random) else { continue }
        try objects.delete(name)
        present[name] = nil
      default:
        try catalogue.update(from: objects, SyncOptions())
        // A deleted name may remain. No name that is there may be missing.
        #expect(present.allSatisfy { catalogue.entries[$0.key]?.byteCount == $0.value }, "seed \(seed)")
      }
    }
    // More than one answer tells.
    #expect(present.count > 400)
    #expect(try listed(objects) == present)
  }

  @Test("a watch ends when something was put, and otherwise with its time")
  func watch() async throws {
    let (objects, other) = try FakeHubPlace().twoClients()
    let cursor = try objects.list(after: nil).cursor
    #expect(try !objects.watch(after: cursor, milliseconds: 0))
    #expect(try !objects.watch(after: cursor, milliseconds: 1))
    let watching = Task.detached { try objects.watch(after: cursor, milliseconds: 600_000) }
    try other.put(name(1), [1])
    #expect(try await watching.value)
    #expect(try objects.watch(after: cursor, milliseconds: 0))
    let next = try objects.list(after: cursor).cursor
    #expect(try !objects.watch(after: next, milliseconds: 0))
  }

  @Test("what a stream told is not asked for, and what was put here is no news")
  func told() async throws {
    let place = try FakeHubPlace()
    let (objects, other) = try place.twoClients()
    // The stream may send requests of its own at any time.
    var listCount: Int { place.hub.requests.filter { $0.contains("/objects?") }.count }
    let first = try objects.list(after: nil).cursor
    let watching = Task.detached { try objects.watch(after: first, milliseconds: 600_000) }
    try other.put(name(1), [1])
    #expect(try await watching.value)
    let before = listCount
    let list = try objects.list(after: first)
    #expect(list.entries.map(\.name) == [name(1)] && !list.startsOver && !list.hasMore)
    #expect(listCount == before)
    // Without a watch in between, the hub is asked.
    #expect(try objects.list(after: list.cursor).entries.isEmpty)
    #expect(listCount == before + 1)
    try objects.put(name(2), [2])
    try other.put(name(3), [3])
    var (cursor, told) = (list.cursor, [] as [String])
    while !told.contains(name(3)) {
      #expect(try objects.watch(after: cursor, milliseconds: 600_000))
      let list = try objects.list(after: cursor)
      told += list.entries.map(\.name)
      cursor = list.cursor
    }
    // What a list that failed would have told is told by the next one.
    try other.put(name(4), [4])
    #expect(try objects.watch(after: cursor, milliseconds: 600_000))
    place.hub.restart()
    place.hub.answer { request in request.url.contains("/objects?") ? .success(FakeHub.answer(404)) : nil }
    #expect(throws: HeartlogError.self) { try objects.list(after: first) }
    place.hub.answer(instead: nil)
    #expect(try objects.watch(after: cursor, milliseconds: 600_000))
    #expect(try objects.list(after: cursor).entries.map(\.name) == [name(4)])
    // Time that is over without news is a reason to ask.
    _ = try objects.watch(after: cursor, milliseconds: 1)
    let asked = listCount
    _ = try objects.list(after: cursor)
    #expect(listCount == asked + 1)
  }

  @Test("a hub that lost everything tells from its beginning, also to whoever watches")
  func startsOver() throws {
    let place = try FakeHubPlace()
    let objects = try place.objects()
    for number in 1...3 { try objects.put(name(number), [1]) }
    let list = try objects.list(after: nil)
    #expect(list.entries.count == 3)
    place.hub.restart(losingAll: true)
    let next = try objects.list(after: list.cursor)
    #expect(next.startsOver && next.entries.isEmpty)
    #expect(try objects.watch(after: list.cursor, milliseconds: 0))
    #expect(try objects.watch(after: list.cursor, milliseconds: 600_000))
  }

  @Test("a list that goes on is full, and none goes on for ever", arguments: [1, 399, 400])
  func endlessLists(count: Int) throws {
    let place = try FakeHubPlace()
    let objects = try place.objects()
    let pages = Mutex(0)
    place.hub.answer { request in
      guard request.url.contains("/objects?") else { return nil }
      let page = pages.withLock { pages in
        pages += 1
        return pages
      }
      // The same names again and again, from the beginning each time.
      let names = (0..<count).map { "[\"a/b/\($0)\", 1]" }.joined(separator: ",")
      return .success(
        FakeHub.answer(
          200,
          "{\"objects\": [\(names)], \"cursor\": \"1-\(page)\", \"startsOver\": true, \"hasMore\": true}"))
    }
    let error = #expect(throws: HeartlogError.self) { try listed(objects) }
    #expect(error?.code == (count == 400 ? .inputOutput : .peer))
  }

  @Test("a sync ends after a quarter of an hour, unless bytes came for all that time")
  func slowSync() throws {
    let minutes = Mutex<UInt64>(0)
    let place = try FakeHubPlace()
    let connection = try place.connection(
      time: RetryTiming(
        pause: { _, _ in }, random: { 0.5 }, now: { minutes.withLock { $0 } * 60_000_000_000 }))
    let objects = HubPlace(connection, changes: HubWatch(connection))
    try objects.put(name(1), [UInt8](repeating: 1, count: 60 * HubLimits.bytesPerSecond))
    connection.beginSync()
    minutes.withLock { $0 += 14 }
    _ = try objects.get(name(1), bytesMax: 1 << 20)
    minutes.withLock { $0 += 1 }
    #expect(try objects.get(name(2), bytesMax: 9) == .deleted)
    minutes.withLock { $0 += 2 }
    let error = #expect(throws: HeartlogError.self) { try objects.list(after: nil) }
    #expect(error?.code == .timedOut)
    connection.endSync()
    #expect(try objects.list(after: nil).entries.count == 1)
  }

  @Test("a session that is over is opened anew, once", arguments: [false, true])
  func sessions(isRefused: Bool) throws {
    let place = try FakeHubPlace()
    let objects = try place.objects()
    try objects.put(name(1), [1])
    let before = place.hub.requests.count
    if isRefused {
      place.hub.answer { request in request.url.contains("/objects") ? .success(FakeHub.answer(401)) : nil }
      let error = #expect(throws: HeartlogError.self) { try objects.put(name(2), [2]) }
      #expect(error?.code == .notAdmitted)
      #expect(place.hub.requests.dropFirst(before).filter { $0.hasPrefix("PUT") }.count == 2)
    } else {
      place.hub.restart()
      try objects.put(name(2), [2])
      // The put that is refused, the session, and the put again.
      #expect(place.hub.requests.count - before == 3)
      #expect(try listed(objects).count == 2)
    }
  }

  @Test(
    "no name leads to another path",
    arguments: [
      "x", "../store", "a/../b", "/a/b", "a//b", "a/b/c/d", "a/b?c", "a/b%20", "A/b", "a/b#", "a/.b", "",
    ])
  func names(name: String) throws {
    let place = try FakeHubPlace()
    let objects = try place.objects()
    let count = place.hub.requests.count
    #expect { try objects.put(name, [1]) } throws: { ($0 as? HeartlogError)?.code == .invalid }
    #expect { try objects.delete(name) } throws: { ($0 as? HeartlogError)?.code == .invalid }
    #expect { try objects.get(name, bytesMax: 9) } throws: { ($0 as? HeartlogError)?.code == .invalid }
    #expect(place.hub.requests.count == count)
  }
}
