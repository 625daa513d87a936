import HeartlogEvents
import Testing

@testable import HeartlogCLI

@Suite("RFC 3339 on the command line")
struct RFC3339Tests {
  @Test("what is formatted reads back, over all the years it can write")
  func roundTrip() {
    let seed = UInt64.random(in: 0 ... .max)
    var state = seed
    for _ in 0..<20_000 {
      // Knuth's linear congruential generator, MMIX.
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let span = UInt64(Limits.dateMillisecondsMax - Limits.dateMillisecondsMin)
      let time = Limits.dateMillisecondsMin + Milliseconds((state >> 11) % span)
      #expect(RFC3339.parse(RFC3339.format(time)) == time, "seed \(seed)")
    }
  }

  @Test("known times are what they are")
  func known() {
    #expect(RFC3339.format(0) == "1970-01-01T00:00:00.000Z")
    #expect(RFC3339.format(Limits.dateMillisecondsMin) == "0000-01-01T00:00:00.000Z")
    #expect(RFC3339.format(Limits.dateMillisecondsMax) == "9999-12-31T23:59:59.999Z")
    #expect(RFC3339.parse("2000-02-29T12:00:00.1239Z") == 951_825_600_123)
    #expect(RFC3339.parse("1985-04-12T23:20:50.52Z") == 482_196_050_520)
    #expect(RFC3339.parse("1996-12-19T16:39:57-08:00") == RFC3339.parse("1996-12-20T00:39:57Z"))
    #expect(RFC3339.parse("1900-02-29T00:00:00Z") == nil)
    #expect(RFC3339.parse("9999-12-31T23:59:59-00:01") == nil)
  }
}
