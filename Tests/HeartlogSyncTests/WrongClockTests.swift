import Foundation
import HeartlogTesting
import Testing

@testable import Heartlog
@testable import HeartlogSync

@Suite("What clocks that are wrong do to a sync")
struct WrongClockTests {
  /// How a store comes to know what another knows.
  enum Way: CaseIterable {
    case dialogue
    case folder
  }

  private let clock = ManualClock()
  private let folder: ObjectPlace

  init() throws { folder = try ObjectPlace(.memory) }

  private func store(_ seed: UInt64, _ clock: ManualClock? = nil) throws -> FavoritesStore {
    try .inMemory(clock: clock ?? self.clock, seed: seed)
  }

  private func options() -> SyncOptions {
    var options = SyncOptions()
    options.clock = { [clock] in clock.milliseconds }
    return options
  }

  /// `target` takes what `source` has.
  private func take(
    _ source: FavoritesStore, _ target: FavoritesStore, by way: Way
  ) throws -> SyncReport {
    switch way {
    case .dialogue:
      return try StoreCarrier(source, description: "source").sync(target, options: options())
    case .folder:
      _ = try folder.sync(source, options: options())
      return try folder.sync(target, options: options())
    }
  }

  /// Somebody who writes with stamps and wall times of his choice.
  private func forged(
    _ number: UInt64, _ times: [(stamp: HybridTimestamp, wallTime: Milliseconds)]
  ) throws -> MadeUpStream {
    var stream = MadeUpStream(number, "forged \(number)")
    for (index, time) in times.enumerated() {
      try stream.append("\(number)-\(index)", stamp: time.stamp, wallTime: time.wallTime)
    }
    return stream
  }

  /// A store that has such streams, whatever it thinks of them.
  private func source(_ streams: MadeUpStream..., eventsPerRun: Int = Limits.blockEventsMax) throws
    -> FavoritesStore
  {
    let source = try FavoritesStore.device(99, "source", eventsPerRun: eventsPerRun)
    for stream in streams { try source.hold(stream) }
    return source
  }

  private func beyond(_ steps: UInt64) -> HybridTimestamp {
    HybridTimestamp(rawValue: HybridTimestamp.lastOfClocks.rawValue + steps)
  }

  private func ids(of store: FavoritesStore) -> Set<String> {
    Set(store.read { $0.favorites(in: "papers").map(\.id) })
  }

  @Test(
    "a stream with a wall time beyond 2199 is refused and named, one with a stamp out of reach waits; the others arrive",
    arguments: Way.allCases)
  func othersArrive(way: Way) throws {
    let end = Limits.clockMillisecondsMax
    let source = try source(
      forged(1, [(beyond(0), end), (beyond(1), end + 1)]), forged(2, [(.last, end)]),
      forged(3, [(HybridTimestamp(milliseconds: 1_000), 1_000)]))
    let target = try store(7)
    for round in 0..<2 {
      let report = try take(source, target, by: way)
      #expect(report.received.commits == (round == 0 ? 1 : 0))
      #expect(ids(of: target) == ["3-0"])
      let skipped = report.skipped.sorted { $0.cause.rawValue < $1.cause.rawValue }
      #expect(skipped.map(\.cause) == [.clock, .waiting])
      #expect(skipped.map(\.replica) == [ReplicaID.made(1), ReplicaID.made(2)])
      #expect(skipped.map(\.firstCommit.rawValue) == [1, 1])
      #expect(skipped[0].reason.contains("a clock said 2200-01-01T00:00:00.000Z"))
      #expect(skipped[1].reason.contains("a stamp of 2999-12-31T23:59:59.999Z, and nothing"))
    }
    let own = try #require(try target.commit { try target.library("papers").add("own") }.commit)
    #expect(own.stamp.milliseconds == own.wallTime)
  }

  @Test("streams that lead up to each other arrive in one sync, in whatever order", arguments: Way.allCases)
  func together(way: Way) throws {
    // By replica the one that began comes last, or first.
    for numbers in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] as [[UInt64]] {
      let folder = try ObjectPlace(.memory)
      let (one, other) = (try store(8), try store(9))
      let first = try forged(numbers[0], [(beyond(0), 1_000)])
      let source = try source(
        forged(numbers[1], (0..<300).map { (beyond(UInt64(2 * $0 + 1)), 1_000) }),
        forged(numbers[2], (0..<300).map { (beyond(UInt64(2 * $0 + 2)), 1_000) }), eventsPerRun: 70)
      // Without the one that began, nothing of the others can be taken.
      let report =
        try way == .dialogue ? take(source, one, by: way) : Self.pass(source, one, folder, options())
      #expect(report.received.commits == 0 && report.skipped.map(\.cause) == [.waiting, .waiting])
      // With it, all is.
      try source.hold(first)
      for store in [one, other] {
        let report =
          try way == .dialogue ? take(source, store, by: way) : Self.pass(source, store, folder, options())
        #expect(report.received.commits == 601 && report.received.events == 601, "\(numbers)")
        #expect(report.skipped.isEmpty && report.changedItems == 601)
        #expect(ids(of: store).count == 601)
      }
      #expect(one.digest == other.digest)
    }
  }

  private static func pass(
    _ source: FavoritesStore, _ target: FavoritesStore, _ folder: ObjectPlace, _ options: SyncOptions
  ) throws -> SyncReport {
    _ = try folder.sync(source, options: options)
    return try folder.sync(target, options: options)
  }

  @Test("more than is looked at together goes on at the next sync")
  func manyWaiting() throws {
    let source = try source(
      forged(1, [(beyond(0), 1_000)]), forged(0, (1...100).map { (beyond(UInt64($0)), 1_000) }),
      eventsPerRun: 1)
    let target = try store(7)
    let report = try take(source, target, by: .dialogue)
    #expect(report.received.commits == 65)
    #expect(report.skipped.map(\.firstCommit.rawValue) == [65])
    #expect(report.skipped.first?.reason.contains("the next sync continues") == true)
    let rest = try take(source, target, by: .dialogue)
    #expect(rest.received.commits == 36 && rest.skipped.isEmpty)
  }

  @Test("a stream that ended is ended here when all of it came, though it had to wait")
  func ended() throws {
    let source = try source(forged(1, [(beyond(0), 1_000)]), forged(0, [(beyond(1), 1_000)]))
    try source.endStream(.made(0), after: CommitNumber(rawValue: 1))
    let target = try store(7)
    #expect(try take(source, target, by: .dialogue).received.commits == 2)
    #expect(try target.streamHeads().filter(\.isEnded).map(\.replica) == [ReplicaID.made(0)])
  }

  @Test(
    "a device that is an hour or more ahead is named when its commits come, and nobody else is",
    arguments: Way.allCases)
  func named(way: Way) throws {
    let ahead = ManualClock()
    ahead.advance(by: 10 * 86_400)
    let (fast, right, third) = (try store(1, ahead), try store(2), try store(3))
    try fast.library("papers").add("fast")
    let first = try take(fast, right, by: way)
    #expect(first.clocksAhead.map(\.replica) == [fast.replica])
    #expect(first.clocksAhead.map(\.milliseconds) == [10 * 86_400_000])
    try right.library("papers").add("right")
    let second = try take(right, third, by: way)
    #expect(second.received.commits == 2)
    #expect(second.clocksAhead.map(\.replica) == [fast.replica], "not the right one, whose stamps are ahead")
    clock.advance(by: 60)
    try right.library("papers").add("later")
    #expect(try take(right, third, by: way).clocksAhead.isEmpty)
    ahead.advance(by: -10 * 86_400 + 3_000)
    try fast.library("papers").add("set right")
    #expect(try take(fast, right, by: way).clocksAhead.isEmpty)
  }

  @Test(
    "a device that is exactly an hour ahead is named, and one that is less is not", arguments: Way.allCases)
  func anHour(way: Way) throws {
    let hour: Milliseconds = 3_600_000
    for (ahead, named) in [(hour - 1, []), (hour, [hour])] {
      let wallTime = clock.milliseconds + ahead
      let source = try source(forged(1, [(HybridTimestamp(milliseconds: wallTime), wallTime)]))
      let folder = try ObjectPlace(.memory)
      let target = try store(7)
      let report =
        try way == .dialogue ? take(source, target, by: way) : Self.pass(source, target, folder, options())
      #expect(report.received.commits == 1 && report.clocksAhead.map(\.milliseconds) == named)
    }
  }

  @Test("a peer whose clock is far ahead is named by its greeting")
  func greeting() throws {
    let one = try store(1)
    var storeOptions = StoreOptions()
    storeOptions.name = "tablet"
    storeOptions.clock = { [clock] in clock.milliseconds }
    let other = try FavoritesStore.inMemory(options: storeOptions)
    try other.library("papers").add("a")
    var serving = SyncOptions()
    serving.clock = { [clock] in clock.milliseconds + 3_600_000 }
    let report = try Dialogue.between(one, other, options: options(), serving: serving).report()
    #expect(
      report.clocksAhead
        == [.init(replica: other.replica, name: "tablet", milliseconds: 3_600_000)])
    serving.clock = { .max }
    let far = try Dialogue.between(one, other, options: options(), serving: serving).report()
    #expect(far.clocksAhead.map(\.milliseconds) == [Limits.timeMillisecondsMax - clock.milliseconds])
  }
}
