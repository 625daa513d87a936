import Testing

import HeartlogFormat

@Suite("Hybrid clock")
struct HybridClockTests {
  @Test("stamps follow the wall clock, and rise where it stands still or goes back")
  func rising() throws {
    var clock = HybridClock()
    #expect(clock.next(wallTime: 1_000) == HybridTimestamp(rawValue: 1_000 << 16))
    #expect(clock.next(wallTime: 1_000) == HybridTimestamp(rawValue: 1_000 << 16 | 1))
    #expect(clock.next(wallTime: 5) == HybridTimestamp(rawValue: 1_000 << 16 | 2))
    #expect(clock.next(wallTime: 1_001) == HybridTimestamp(rawValue: 1_001 << 16))
  }

  @Test("a full counter carries into the milliseconds")
  func carry() {
    var clock = HybridClock(last: HybridTimestamp(rawValue: 1_000 << 16 | 0xFFFF))
    #expect(clock.next(wallTime: 1_000) == HybridTimestamp(rawValue: 1_001 << 16))
    #expect(clock.next(wallTime: 1_001) == HybridTimestamp(rawValue: 1_001 << 16 | 1))
  }

  @Test("what was received is never overtaken, and never sets the clock back")
  func receiving() {
    var clock = HybridClock(last: HybridTimestamp(milliseconds: 500))
    clock.receive(HybridTimestamp(milliseconds: 400))
    #expect(clock.last == HybridTimestamp(milliseconds: 500))
    clock.receive(HybridTimestamp(milliseconds: 9_000))
    #expect(clock.next(wallTime: 600) == HybridTimestamp(rawValue: 9_000 << 16 | 1))
  }

  @Test("no stamp passes the year 2999")
  func end() {
    var clock = HybridClock(last: HybridTimestamp(rawValue: HybridTimestamp.last.rawValue - 1))
    #expect(clock.next(wallTime: 0) == .last)
    #expect(clock.next(wallTime: 0) == nil)
    #expect(clock.last == .last)
    var early = HybridClock()
    early.receive(HybridTimestamp(rawValue: .max))
    #expect(early.next(wallTime: 0) == nil)
  }

  @Test("no wall time leads beyond the year 2199; stamps that are there already go on to 2999, one by one")
  func endOfClocks() {
    let end = Limits.clockMillisecondsMax
    for wallTime in [end, end + 1, Limits.timeMillisecondsMax, .max] {
      var clock = HybridClock()
      #expect(clock.next(wallTime: wallTime) == HybridTimestamp(milliseconds: end))
    }
    var clock = HybridClock(last: .lastOfClocks)
    #expect(clock.next(wallTime: .max)?.rawValue == HybridTimestamp.lastOfClocks.rawValue + 1)
    #expect(clock.next(wallTime: 0)?.rawValue == HybridTimestamp.lastOfClocks.rawValue + 2)
    #expect(RFC3339.text(end) == "2199-12-31T23:59:59.999Z")
  }

  @Test("from elsewhere it goes to any stamp up to the year 2199, and beyond it one step at a time")
  func reach() {
    func stamp(_ steps: UInt64) -> HybridTimestamp {
      HybridTimestamp(rawValue: HybridTimestamp.lastOfClocks.rawValue + steps)
    }
    let clock = HybridClock(last: HybridTimestamp(milliseconds: 1_000))
    #expect(clock.firstOutOfReach(of: [stamp(0)]) == nil)
    #expect(clock.firstOutOfReach(of: [stamp(1)]) == 0)
    #expect(clock.firstOutOfReach(of: [stamp(0), stamp(1), stamp(2)]) == nil)
    #expect(
      clock.firstOutOfReach(of: [HybridTimestamp(milliseconds: 2_000), stamp(0), stamp(1), stamp(3)]) == 3)
    let later = HybridClock(last: stamp(7))
    #expect(later.firstOutOfReach(of: [stamp(3), stamp(5), stamp(8), stamp(9)]) == nil)
    #expect(later.firstOutOfReach(of: [stamp(8), stamp(10)]) == 1)
    #expect(later.firstOutOfReach(of: [.last]) == 0)
    #expect(HybridClock(last: .last).firstOutOfReach(of: [.last]) == nil)
  }
}
