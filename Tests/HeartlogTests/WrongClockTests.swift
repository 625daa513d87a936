import Foundation
import HeartlogTesting
import Testing

@testable import Heartlog

@Suite("A device whose clock is wrong")
struct WrongClockTests {
  private static let day: TimeInterval = 86_400
  private let clocks = [ManualClock(), ManualClock(), ManualClock()]
  private let stores: [FavoritesStore]
  /// Its clock is ten days ahead.
  private var fast: FavoritesStore { stores[0] }
  private var right: FavoritesStore { stores[1] }
  /// Right as well, and the last to hear of the others.
  private var third: FavoritesStore { stores[2] }

  init() throws {
    stores = try zip(clocks, 1...).map { try .inMemory(clock: $0, seed: $1) }
    clocks[0].advance(by: 10 * Self.day)
  }

  private func advance(by seconds: TimeInterval) { for clock in clocks { clock.advance(by: seconds) } }

  private func ship(_ source: FavoritesStore, to target: FavoritesStore) throws {
    try MergeTests.ship(source, to: target)
  }

  /// The items in the log whose commits lie between two times, as `log --since --until` selects them.
  private func items(
    of store: FavoritesStore, since: Milliseconds = 0, until: Milliseconds = .max
  ) throws -> Set<String> {
    let log = try store.readLog()
    var items: Set<String> = []
    while let commit = try log.next() {
      guard log.lastTime >= since, log.lastTime <= until else { continue }
      items.formUnion(commit.records.compactMap { $0.event?.item })
    }
    return items
  }

  private func favorites(of store: FavoritesStore, at time: Milliseconds) throws -> Set<String> {
    Set(try store.state(at: .milliseconds(time)).favorites(in: "papers").map(\.id))
  }

  @Test("is found by its own clock, the others by theirs, whatever they heard of, sealed, snapshotted or not")
  func moments() throws {
    try fast.library("papers").add("fast")
    try right.library("papers").add("right before")
    try ship(fast, to: right)
    advance(by: 60)
    try right.library("papers").add("right after")
    let stamp = try #require(try right.allCommits().last?.stamp.milliseconds)
    #expect(stamp - clocks[1].milliseconds > 9 * 86_400_000, "its stamps are ten days ahead by now")
    for store in [fast, right] { try ship(store, to: third) }
    try third.library("papers").add("third")

    let now = clocks[1].milliseconds
    let today: Set = ["right before", "right after", "third"]
    for pass in 0..<3 {
      #expect(try items(of: third, until: now) == today, "pass \(pass)")
      #expect(try items(of: third, since: now + 1) == ["fast"])
      #expect(try favorites(of: third, at: now) == today)
      #expect(try favorites(of: third, at: now - 60_000) == ["right before"])
      #expect(try favorites(of: third, at: now + 11 * 86_400_000) == today.union(["fast"]))
      // An event is everything up to it in the order.
      let last = try #require(try third.allCommits().last)
      #expect(last.records.compactMap { $0.event?.item } == ["third"])
      let all = try third.state(at: .event(last.eventID(at: 0)))
      #expect(all.digest == third.digest)
      if pass == 0 { try third.seal() } else { try third.snapshot() }
    }
    let statistics = try Statistics(reading: try third.readLog(), by: .day)
    #expect(statistics.intervals.map(\.favorited) == [3, 1])
    #expect(statistics.intervals.map(\.emptyPeriodsBefore) == [0, 9])
  }

  @Test("is the only one that is told of, and only while it is ahead")
  func blame() throws {
    try fast.library("papers").add("fast")
    try ship(fast, to: right)
    try right.library("papers").add("right")
    for store in [fast, right] { try ship(store, to: third) }
    func ahead(of store: FavoritesStore) throws -> [ReplicaID: Double] {
      let devices = store.devices
      let status = try store.status().devices
      #expect(status.map(\.wallClockAheadSeconds) == devices.map(\.wallClockAheadSeconds))
      return Dictionary(uniqueKeysWithValues: devices.map { ($0.replica, $0.wallClockAheadSeconds) })
    }
    for store in [right, third] {
      let found = try ahead(of: store)
      #expect(found[fast.replica] == 10 * Self.day)
      #expect(found[right.replica] == 0 && found[third.replica] ?? 0 == 0)
    }
    #expect(try ahead(of: fast)[fast.replica] == 0, "it cannot know")
    let device = try #require(right.devices.first { $0.replica == right.replica })
    #expect(device.lastSeen == clocks[1].milliseconds && device.latestTime == clocks[1].milliseconds)

    // It is set right.
    clocks[0].advance(by: -10 * Self.day)
    try fast.library("papers").add("set right")
    try ship(fast, to: third)
    let setRight = try #require(third.devices.first { $0.replica == fast.replica })
    #expect(setRight.wallClockAheadSeconds == 0 && setRight.lastSeen == clocks[0].milliseconds)
    #expect(setRight.latestTime == clocks[0].milliseconds + 10 * 86_400_000)
    // What it writes is found behind what it wrote before.
    #expect(try items(of: third, until: clocks[2].milliseconds) == ["right"])
  }

  @Test("says so before it writes beyond the year 2199, and writes nothing")
  func beyond2199() async throws {
    let library = try right.library("papers")
    try library.add("before")
    let text = "2301-05-06T07:08:09.000Z"
    clocks[1].set(to: Date(timeIntervalSince1970: Double(try RFC3339.parse(text)) / 1_000))
    var errors: [HeartlogError?] = []
    errors.append(#expect(throws: HeartlogError.self) { try library.add("a") })
    errors.append(#expect(throws: HeartlogError.self) { try right.write { try library.add("a") } })
    errors.append(#expect(throws: HeartlogError.self) { try right.dryRun { try library.add("a") } })
    errors.append(
      await #expect(throws: HeartlogError.self) { try await right.write { try library.add("a") } })
    for error in errors {
      #expect(error?.code == .wrongClock)
      #expect(error?.message == "this device's clock says \(text); set it right and try again")
    }
    clocks[1].set(to: Date(timeIntervalSince1970: -1))
    #expect(throws: HeartlogError.self) { try library.add("a") }
    #expect(try right.allCommits().count == 1)
    // A time that stands in for the clock is the caller's affair.
    let error = #expect(throws: HeartlogError.self) {
      try right.write(time: Limits.clockMillisecondsMax + 1) { try library.add("a") }
    }
    #expect(error?.code == .invalid)
    try await right.write(time: Limits.clockMillisecondsMax) { try library.add("a") }
    clocks[1].set(to: Date(timeIntervalSince1970: 1_800_000_000))
    try library.add("b")
    #expect(try right.allCommits().count == 3)
  }
}
