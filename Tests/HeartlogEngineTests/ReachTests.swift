import HeartlogFormat
import HeartlogFiles
import TestSupport
import Testing

@testable import HeartlogEngine

@Suite("No stream uses up the stamps that are left")
struct ReachTests {
  private let store: TestStore
  private let open: OpenStore

  init() throws {
    store = try TestStore.inMemory().0
    open = try store.open()
  }

  private var lastStamp: HybridTimestamp { open.log.streamSet.clock.last }
  /// The stamps that the store can still give.
  private var stampsLeft: UInt64 { HybridTimestamp.last.rawValue - lastStamp.rawValue }

  @Test(
    "a commit with a wall time beyond the year 2199 is refused, by name, and nothing of its run is written")
  func wallTimes() throws {
    let end = Limits.clockMillisecondsMax
    var stream = ForgedStream(5)
    let sound = try stream.run([.init(HybridTimestamp(milliseconds: end), at: end)])
    #expect(try open.log.receive(sound).isAppended)
    let held = open.projection.commits
    for far in [end + 1, Limits.timeMillisecondsMax] {
      var hostile = stream
      let run = try hostile.run([.init(.lastOfClocks, at: end), .init(.beyondClocks(1), at: far)])
      let outcome = try open.log.receive(run)
      #expect(
        outcome
          == .refused(
            "commit 3 was written when a clock said \(RFC3339.text(far)); no clock is trusted beyond the year 2199"
          ))
      #expect(try open.log.receive(together: [run]) == [outcome])
    }
    #expect(open.projection.commits == held)
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("a stamp that nothing leads up to waits, and is taken when what was missing has come")
  func waiting() throws {
    var far = ForgedStream(5)
    let last = try far.run([.init(.last)])
    #expect(
      try open.log.receive(last)
        == .waiting(
          "commit 1 has a stamp of 2999-12-31T23:59:59.999Z, and nothing in this store leads up to it"))

    var (first, second) = (ForgedStream(6), ForgedStream(7))
    let behind = try second.run(steps: 1, 2)
    #expect(try open.log.receive(behind).isWaiting)
    #expect(open.projection.commits.isEmpty && lastStamp.rawValue == 0)
    #expect(try open.log.receive(first.run(steps: 0)).isAppended)
    #expect(try open.log.receive(behind).isAppended)
    #expect(lastStamp == .beyondClocks(2))
    let own = try open.write(0)
    #expect(own.stamp == .beyondClocks(3))
    #expect(try open.log.receive(second.run(steps: 4, 5)).isAppended, "own commits lead up to it as well")
    #expect(try open.log.receive(last).isWaiting)
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  @Test(
    "runs that lead up to each other are taken together; what an unreachable one alone led up to waits with it"
  )
  func together() throws {
    var streams = (0..<4).map { ForgedStream(UInt64(10 + $0)) }
    // Two devices that took turns, and one that both had heard of.
    let one = [try streams[0].run(steps: 1, 3), try streams[0].run(steps: 5, 7)]
    let other = [try streams[1].run(steps: 2, 4, 6)]
    let origin = try streams[2].run(steps: 0)
    for run in one + other where run.firstCommit.rawValue == 1 {
      #expect(try open.log.receive(run).isWaiting)
    }
    #expect(try open.log.receive(together: one + other).allSatisfy(\.isWaiting))
    #expect(open.projection.commits.isEmpty)
    #expect(try open.log.receive(together: one + other + [origin]).allSatisfy(\.isAppended))
    #expect(lastStamp == .beyondClocks(7))

    let lonely = [try streams[0].run(steps: 8, 100), try streams[0].run(steps: 101)]
    let follower = try streams[1].run(steps: 9)
    #expect(try open.log.receive(together: lonely + [follower]).allSatisfy(\.isWaiting))
    let refused = try streams[3].run([.init(.beyondClocks(8), at: Limits.timeMillisecondsMax)])
    let behind = try streams[3].run(steps: 9)
    let next = try streams[1].run(steps: 10)
    let outcomes = try open.log.receive(together: [refused, behind, follower, next])
    #expect(outcomes[0].isRefused && outcomes[1] == .gap, "\(outcomes)")
    #expect(outcomes[2].isWaiting && outcomes[3].isWaiting, "\(outcomes)")
    #expect(lastStamp == .beyondClocks(7))
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("after any sequence of runs a store can still write 10^12 commits", arguments: 1...20)
  func room(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var streams = (0..<5).map { ForgedStream(UInt64($0 + 1)) }
    var presented: UInt64 = 0
    var outcomes = (appended: 0, waiting: 0, refused: 0)
    for step in 0..<60 {
      var batch: [(index: Int, stream: ForgedStream, run: StreamRun)] = []
      for _ in 0...Int(generator.next() % 3) {
        let index = Int(generator.next() % 5)
        guard !batch.contains(where: { $0.index == index }) else { continue }
        var stream = streams[index]
        guard let times = Self.times(after: stream.lastStamp, held: lastStamp, &generator) else {
          continue
        }
        let run = try stream.run(times)
        presented += UInt64(times.count)
        batch.append((index, stream, run))
      }
      let found =
        step % 2 == 0
        ? try open.log.receive(together: batch.map(\.run)) : try batch.map { try open.log.receive($0.run) }
      for (given, outcome) in zip(batch, found) {
        switch outcome {
        case .appended:
          streams[given.index] = given.stream
          outcomes.appended += 1
        case .waiting: outcomes.waiting += 1
        case .refused: outcomes.refused += 1
        default: Issue.record("\(outcome)")
        }
      }
      if step % 7 == 0 { try open.write(step) }
      #expect(stampsLeft >= 1_000_000_000_000)
      // Nobody got further than one step a commit.
      let beyond = Int64(bitPattern: lastStamp.rawValue &- HybridTimestamp.lastOfClocks.rawValue)
      #expect(beyond <= Int64(open.projection.commits.count), "\(beyond) of \(presented)")
    }
    #expect(
      outcomes.appended > 5 && outcomes.waiting > 5 && outcomes.refused > 5, "seed \(seed): \(outcomes)")
    try open.write(1_000)
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  /// Rising stamps behind one: near, at the bounds, and far; nil where there are none left.
  private static func times(
    after last: HybridTimestamp, held: HybridTimestamp, _ generator: inout SeededGenerator
  ) -> [ForgedStream.Times]? {
    var times: [ForgedStream.Times] = []
    var last = last
    for _ in 0...Int(generator.next() % 4) {
      let starts = [
        last.rawValue + 1, held.rawValue + 1, HybridTimestamp.lastOfClocks.rawValue,
        HybridTimestamp.beyondClocks(1 + generator.next() % 8).rawValue, HybridTimestamp.last.rawValue,
        HybridTimestamp.last.rawValue - generator.next() % (1 << 50),
        1_772_000_000_000 << 16 + generator.next() % (1 << 30),
      ]
      // Mostly near.
      let start = starts[Int(generator.next() % 3 == 0 ? generator.next() % 7 : generator.next() % 2)]
      let stamp = HybridTimestamp(rawValue: max(start, last.rawValue + 1))
      guard stamp <= .last else { break }
      let isFar = generator.next() % 12 == 0
      times.append(.init(stamp, at: isFar ? Limits.clockMillisecondsMax + 1 : 1_772_000_000_000))
      last = stamp
    }
    return times.isEmpty ? nil : times
  }

  @Test("a store that has stamps and wall times of the year 2999 opens, is sound, and can end their stream")
  func olderStore() throws {
    var stream = ForgedStream(5)
    // As an earlier version took it.
    let run = try stream.run([
      .init(.lastOfClocks),
      .init(HybridTimestamp(rawValue: HybridTimestamp.last.rawValue - 1), at: Limits.timeMillisecondsMax),
    ])
    #expect(try open.log.exclusively { try $0.take(run, admitting: .ownLog) }.isAppended)
    #expect(try open.write(0).stamp == .last)
    let failure = storageFailure { try open.write(1) }
    #expect(failure?.code == .invalid && failure?.message.contains("2999") == true)
    open.log.close()
    let again = try store.open(TestStore.options(seed: 4))
    #expect(again.projection.commits.count == 3 && again.log.findings.isEmpty)
    let branch = try #require(try again.log.endStream(stream.replica, after: 1))
    #expect(again.projection.commits(of: branch).map(\.wallTime) == [Limits.timeMillisecondsMax])
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("a commit with a wall time beyond the year 2199 is not written, and moves nothing")
  func ownWallTime() throws {
    let end = Limits.clockMillisecondsMax
    #expect(try open.write(0, at: end).stamp == HybridTimestamp(milliseconds: end))
    for far in [end + 1, Limits.timeMillisecondsMax, .max] {
      #expect(storageFailure { try open.write(1, at: far) }?.code == .invalid)
    }
    let next = try open.write(2)
    #expect(
      next.number.rawValue == 2 && next.stamp.rawValue == HybridTimestamp(milliseconds: end).rawValue + 1)
  }
}
