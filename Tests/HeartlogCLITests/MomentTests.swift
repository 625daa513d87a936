import HeartlogEvents
import Testing

@testable import HeartlogCLI

@Suite("WHEN")
struct MomentTests {
  @Test("a time is itself, at both ends")
  func time() throws {
    let moment = try Moment("2026-03-02T07:15:00.250+01:00", label: "--at")
    #expect(moment == .time(1_772_432_100_250))
    #expect(moment.first == 1_772_432_100_250 && moment.last == 1_772_432_100_250)
  }

  @Test("a date is its day in UTC, from its first to its last millisecond")
  func date() throws {
    let moment = try Moment("2026-03-02", label: "--at")
    #expect(moment == .day(start: 1_772_409_600_000))
    #expect(moment.first == 1_772_409_600_000)
    #expect(moment.last == 1_772_495_999_999)
  }

  @Test("an event is a prefix of its replica, in lower case, and its number")
  func event() throws {
    #expect(
      try Moment("3F9a:42", label: "--at")
        == .event(replicaPrefix: "3f9a", sequence: SequenceNumber(rawValue: 42)))
  }

  @Test(
    "anything else is refused",
    arguments: [
      "", "now", "2026", "2026-02-29", "2026-13-01", "2026-3-2", "2026-03-02T07:15", "2026-03-02T24:00:00Z",
      "2026-03-02T07:15:60Z", "2026-03-02T07:15:00", "2026-03-02T07:15:00.Z", "2026-03-02 ", "xyz:1", "3f:0",
      "3f:",
      ":1", "3f:-1", "3f:9007199254740992", "3f:1:2", "é:1", "3f:+1",
      "000000000000000000000000000000000:1",
    ])
  func refused(text: String) {
    #expect(throws: CommandError.self) { try Moment(text, label: "--at") }
  }
}
