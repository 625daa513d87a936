import Testing

import HeartlogEvents

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
    #expect(early.next(wallTime: Limits.timeMillisecondsMax + 1) == nil)
    #expect(early.next(wallTime: Limits.timeMillisecondsMax)?.milliseconds == Limits.timeMillisecondsMax)
    early.receive(HybridTimestamp(rawValue: .max))
    #expect(early.next(wallTime: 0) == nil)
  }
}
