import Heartlog
import HeartlogLibraries
import Testing

@Suite("dates of other programs")
struct FileDateTests {
  @Test(
    "forms of one time",
    arguments: [
      "2026-11-25T21:30:00Z", "2026-11-25T21:30:00.000+00:00", "2026-11-25 22:30:00+0100",
      "2026-11-25T22:30+01:00",
      "2026-11-25 21:30", "2026-11-25 21:30:00", "2026/11/25 21:30", "20261125 21:30", "25.11.2026 21:30",
      "Wed Nov 25 21:30:00 UTC 2026", "Wed, 25 Nov 2026 22:30:00 +0100", "25 November 2026 21:30",
      "Nov 25, 2026, 9:30 PM", "Nov 25 2026 22:30:00 GMT+0100 (CET)", "1795642200", "1795642200000",
      "1795642200000000", "1795642200000000000", "13440115800", "13440115800000", "13440115800000000",
      "134401158000000000", "1795642200.0",
    ])
  func equal(text: String) throws {
    #expect(try FileDate.time(text) == 1_795_642_200_000)
  }

  @Test("a time without an offset is local, a time with one is not")
  func local() throws {
    let utc: (Milliseconds) -> Milliseconds = { $0 - 3_600_000 }
    #expect(try FileDate.time("2026-11-25 22:30", utc: utc) == 1_795_642_200_000)
    #expect(try FileDate.time("25.11.2026 22:30", utc: utc) == 1_795_642_200_000)
    #expect(try FileDate.time("2026-11-25 21:30Z", utc: utc) == 1_795_642_200_000)
    #expect(try FileDate.time("2026-11-26", utc: utc) == 1_795_647_600_000)
  }

  @Test(
    "what is no date, or another day in each country",
    arguments: [
      "", "yesterday", "03/04/2024", "3-4-2024", "2026-13-01", "2026-02-30", "25 Nov", "2026",
      "2026-11-25 25:00",
      "2026-11-25 13:30 PM", "21:30", "Nov Nov 2026", "2026-11-25 CET", "99999999999999999999", "12", "nan",
      "infinity",
      "-1795642200", "T", ":",
    ])
  func malformed(text: String) {
    #expect(throws: LibraryError.self) { try FileDate.time(text) }
  }
}
