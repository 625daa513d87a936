import HeartlogFormat
import Testing

@Suite("days of the calendar")
struct CivilDateTests {
  @Test("every month of ten thousand years begins and ends where the one before and after it say")
  func months() throws {
    // 0000-01-01, counted back from 1970 by the format's own limit.
    var days = Limits.dateMillisecondsMin / CivilDate.dayMilliseconds
    for year in 0...9_999 {
      for month in 1...12 {
        let length = CivilDate.dayCount(year: year, month: month)
        let (first, last) = (days, days + Int64(length) - 1)
        let (start, end) = (CivilDate(daysSince1970: first), CivilDate(daysSince1970: last))
        guard start == CivilDate(year: year, month: month, day: 1), start.daysSince1970 == first,
          end == CivilDate(year: year, month: month, day: length), end.daysSince1970 == last
        else {
          Issue.record("\(year)-\(month): \(start) to \(end)")
          return
        }
        days = last + 1
      }
    }
    #expect(days * CivilDate.dayMilliseconds == Limits.dateMillisecondsMax + 1)
  }

  @Test("every fourth year has a leap day, of centuries every fourth")
  func leapDays() {
    for (year, isLeapYear) in [
      (0, true), (4, true), (1_900, false), (2_000, true), (2_023, false), (2_024, true),
    ] {
      #expect((CivilDate(year: year, month: 2, day: 29) != nil) == isLeapYear)
    }
  }

  @Test("a day that the calendar does not have is nil")
  func absent() {
    for (year, month, day) in [
      (2_024, 0, 1), (2_024, 13, 1), (2_024, 1, 0), (2_024, 1, 32), (2_024, 4, 31), (-1, 1, 1),
      (10_000, 1, 1),
      (Int.max, Int.max, Int.max),
    ] {
      #expect(CivilDate(year: year, month: month, day: day) == nil)
    }
  }

  @Test("a time lies in its day, before 1970 too")
  func times() {
    #expect(CivilDate(0) == CivilDate(year: 1_970, month: 1, day: 1))
    #expect(CivilDate(-1) == CivilDate(year: 1_969, month: 12, day: 31))
    #expect(CivilDate(86_400_000).start == 86_400_000)
    #expect(CivilDate(-86_400_001).start == -172_800_000)
    #expect(CivilDate(.min) == CivilDate(year: 0, month: 1, day: 1))
    #expect(CivilDate(.max) == CivilDate(year: 9_999, month: 12, day: 31))
  }
}
