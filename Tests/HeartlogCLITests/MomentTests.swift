import HeartlogFormat
import Testing

@testable import HeartlogCLI

@Suite("WHEN")
struct MomentTests {
  /// 2026-03-31T10:20:30.400Z.
  private static let now: Milliseconds = 1_774_952_430_400
  private let utc = LocalClock(zone: .utc, now: now)
  private let berlin = LocalClock(zone: .berlin2026, now: now)

  private func moment(_ text: String, _ clock: LocalClock) throws -> Moment {
    try Moment(text, label: "--at", clock: clock)
  }

  /// What a moment means as a beginning and as an end, in UTC.
  private func span(_ text: String, _ clock: LocalClock) throws -> [String] {
    let moment = try moment(text, clock)
    return [moment.first, moment.last].map { $0.map(RFC3339.text) ?? "" }
  }

  @Test("a time with its offset is itself, at both ends, wherever one is")
  func time() throws {
    for clock in [utc, berlin] {
      let moment = try moment("2026-03-02T07:15:00.250+01:00", clock)
      #expect(moment.first == 1_772_432_100_250 && moment.last == 1_772_432_100_250)
    }
  }

  @Test("a time without seconds is its minute, from its first to its last millisecond")
  func minute() throws {
    let expected = ["2026-03-02T07:15:00.000Z", "2026-03-02T07:15:59.999Z"]
    for text in ["2026-03-02T07:15Z", "2026-03-02 07:15Z", "2026-03-02 08:15+01:00"] {
      #expect(try span(text, utc) == expected)
      #expect(try span(text, berlin) == expected)
    }
    #expect(try span("2026-03-02 07:15", utc) == expected && span("2026-03-02t08:15", berlin) == expected)
    #expect(try span("2026-03-02 08:15:00", berlin) == [expected[0], expected[0]])
    #expect(
      try span("2026-03-02 08:15:00.5", berlin) == Array(repeating: "2026-03-02T07:15:00.500Z", count: 2))
  }

  @Test("a time of day is today's")
  func timeOfDay() throws {
    #expect(try span("07:15", utc) == ["2026-03-31T07:15:00.000Z", "2026-03-31T07:15:59.999Z"])
    #expect(try span("07:15:01", berlin) == Array(repeating: "2026-03-31T05:15:01.000Z", count: 2))
    // In Berlin the day is another one from 22:00 on.
    let late = LocalClock(zone: .berlin2026, now: Self.now + 12 * 3_600_000)
    #expect(try span("07:15:01", late) == Array(repeating: "2026-04-01T05:15:01.000Z", count: 2))
  }

  @Test("a date is the day of the person's zone, from its first to its last millisecond")
  func date() throws {
    #expect(try span("2026-03-02", utc) == ["2026-03-02T00:00:00.000Z", "2026-03-02T23:59:59.999Z"])
    #expect(try span("2026-03-02", berlin) == ["2026-03-01T23:00:00.000Z", "2026-03-02T22:59:59.999Z"])
    // Days on which the clocks change have 23 hours, and 25.
    #expect(try span("2026-03-29", berlin) == ["2026-03-28T23:00:00.000Z", "2026-03-29T21:59:59.999Z"])
    #expect(try span("2026-10-25", berlin) == ["2026-10-24T22:00:00.000Z", "2026-10-25T22:59:59.999Z"])
    #expect(try span("today", berlin) == span("2026-03-31", berlin))
    #expect(try span("Yesterday", berlin) == span("2026-03-30", berlin))
    #expect(try moment("2026-03-02", berlin).shown(.utc) == "the end of 2026-03-02 Test/Berlin")
    #expect(try moment("2026-03-02", utc).shown(.utc) == "the end of 2026-03-02 UTC")
  }

  @Test("now and what was some time ago go by the clock: spans up to hours, the calendar from days on")
  func ago() throws {
    func both(_ text: String) -> [String] { [text, text] }
    #expect(try span("now", berlin) == both("2026-03-31T10:20:30.400Z"))
    #expect(try span("90 seconds ago", berlin) == both("2026-03-31T10:19:00.400Z"))
    #expect(try span("1 minute ago", utc) == both("2026-03-31T10:19:30.400Z"))
    #expect(try span("2 hours ago", utc) == both("2026-03-31T08:20:30.400Z"))
    #expect(try span("48 hours ago", berlin) == both("2026-03-29T10:20:30.400Z"))
    // At the same time of day, an hour of summer time apart.
    #expect(try span("3 days ago", berlin) == both("2026-03-28T11:20:30.400Z"))
    #expect(try span("3 days ago", utc) == both("2026-03-28T10:20:30.400Z"))
    #expect(try span("1 week ago", berlin) == both("2026-03-24T11:20:30.400Z"))
    // The last day of a month that is too short, leap years included.
    #expect(try span("1 month ago", utc) == both("2026-02-28T10:20:30.400Z"))
    #expect(try span("25 months ago", utc) == both("2024-02-29T10:20:30.400Z"))
    #expect(try span("4 months ago", utc) == both("2025-11-30T10:20:30.400Z"))
    #expect(try span("10 YEARS ago", utc) == both("2016-03-31T10:20:30.400Z"))
    #expect(try span("0 days ago", berlin) == both("2026-03-31T10:20:30.400Z"))
  }

  @Test("a time that clocks show twice begins the first time and ends the second")
  func overlap() throws {
    #expect(try span("2026-10-25 02:30", berlin) == ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:59.999Z"])
    #expect(
      try span("2026-10-25 02:30+02:00", berlin) == ["2026-10-25T00:30:00.000Z", "2026-10-25T00:30:59.999Z"])
    #expect(try span("2026-10-25 03:00", berlin) == ["2026-10-25T02:00:00.000Z", "2026-10-25T02:00:59.999Z"])
    #expect(try span("2026-10-25 01:59", berlin) == ["2026-10-24T23:59:00.000Z", "2026-10-24T23:59:59.999Z"])
  }

  @Test("a time that clocks skip begins when they do, and has ended just before")
  func gap() throws {
    #expect(try span("2026-03-29 02:30", berlin) == ["2026-03-29T01:00:00.000Z", "2026-03-29T00:59:59.999Z"])
    #expect(try span("2026-03-29 03:00", berlin) == ["2026-03-29T01:00:00.000Z", "2026-03-29T01:00:59.999Z"])
    #expect(try span("2026-03-29 01:59", berlin) == ["2026-03-29T00:59:00.000Z", "2026-03-29T00:59:59.999Z"])
  }

  @Test("a day that a place skipped has nothing in it")
  func skippedDay() throws {
    // Samoa went from the one side of the date line to the other as 2011-12-29 ended: from -10:00 to +14:00.
    let apia = LocalClock(
      zone: Zone(name: "Test/Apia") { $0 < 1_325_239_200 ? -36_000 : 50_400 }, now: Self.now)
    #expect(try span("2011-12-29", apia) == ["2011-12-29T10:00:00.000Z", "2011-12-30T09:59:59.999Z"])
    #expect(try span("2011-12-30", apia) == ["2011-12-30T10:00:00.000Z", "2011-12-30T09:59:59.999Z"])
    #expect(try span("2011-12-31", apia) == ["2011-12-30T10:00:00.000Z", "2011-12-31T09:59:59.999Z"])
  }

  @Test("an event is a prefix of its replica, in lower case, and its number; two and two digits are a time")
  func event() throws {
    #expect(
      try moment("3F9a:42", utc) == .event(replicaPrefix: "3f9a", sequence: SequenceNumber(rawValue: 42)))
    for text in ["7:15", "07:150", "007:15", "24:10"] {
      guard case .event = try moment(text, utc) else {
        Issue.record("\(text) is no event")
        continue
      }
    }
  }

  @Test("a commit is a prefix of its replica and its number after a c, which no event has")
  func commit() throws {
    let commit = Moment.commit(replicaPrefix: "3f9a", number: CommitNumber(rawValue: 42))
    #expect(try moment("3F9a:c42", utc) == commit)
    #expect(commit.shown(.utc) == "commit 3f9a:c42" && commit.first == nil && commit.last == nil)
    #expect(Moment.event("3f9a:c42") == nil && Moment.commit("3f9a:42") == nil)
    // Two and two digits are a time, but not these.
    #expect(
      try moment("07:c5", utc) == .commit(replicaPrefix: "07", number: CommitNumber(rawValue: 5)))
  }

  @Test(
    "anything else is refused",
    arguments: [
      "", "then", "tomorrow", "2026", "2026-02-29", "2026-13-01", "2026-3-2", "2026-03-02T24:00:00Z",
      "2026-03-02T07:15:60Z", "2026-03-02T07:15:00.Z", "2026-03-02 ", "2026-03-02  07:15", "2026-03-02 7:15",
      "2026-03-02T07:15:", "2026-03-02 07:15 Z", "2026-03-02 07", "2026-03-02 24:00", "07:15Zulu", "07:15:",
      "24:00",
      "xyz:1", "3f:c", "3f:c0", "3f:c-1", "3f:cc1", "3f:c1c", "3f:C1", "3f:c9007199254740992", "c:", "3f:0",
      "3f:", ":1", "3f:-1", "3f:9007199254740992", "3f:1:2", "é:1", "3f:+1",
      "000000000000000000000000000000000:1",
      "ago", "2 hours", "hours ago", "-2 hours ago", "2.5 hours ago", "2 fortnights ago", "2 s ago", "2 ago",
      "99999999999 seconds ago", "9999999999 hours ago", "9999999999 weeks ago", "9999 years ago",
      "9999999999 years ago",
      "999999999999999999999 days ago",
    ])
  func refused(text: String) {
    for clock in [utc, berlin] {
      #expect(throws: CommandError.self) { try moment(text, clock) }
    }
  }

  @Test("no message suggests a form that is refused", arguments: [ValueKind.moment, .date, .event])
  func suggestions(kind: ValueKind) throws {
    func check(_ text: String) throws(CommandError) { try kind.check(text, label: "--x", clock: berlin) }
    do {
      try check("zz")
      Issue.record("zz is taken")
    } catch {
      let takesTimes = kind != .event
      let takesEvents = kind != .date
      for form in Moment.timeForms {
        #expect(error.sentence.contains(form) == takesTimes)
        if takesTimes { try check(form) }
      }
      #expect(error.sentence.contains(Moment.eventForm) == takesEvents)
      if takesEvents { try check(Moment.eventForm) }
      #expect(error.sentence.contains("an event") == takesEvents)
      #expect(error.sentence.contains(Moment.commitForm) == (kind == .moment))
      if kind == .moment { try check(Moment.commitForm) }
    }
  }
}

@Suite("Local times")
struct LocalTimeTests {
  @Test("at a terminal times are local, and have the offset where the clocks show them twice")
  func shown() {
    let berlin = Zone.berlin2026
    // From 00:00 to 03:00 UTC as summer ends, every half hour.
    let shown = (0..<6).map { berlin.text(1_792_886_400_000 + $0 * 1_800_000) }
    #expect(
      shown == [
        "2026-10-25 02:00+02:00", "2026-10-25 02:30+02:00", "2026-10-25 02:00+01:00",
        "2026-10-25 02:30+01:00",
        "2026-10-25 03:00", "2026-10-25 03:30",
      ])
    #expect(berlin.named(1_772_435_700_999) == "2026-03-02 08:15 Test/Berlin")
    #expect(Zone.utc.named(1_772_435_700_999) == "2026-03-02 07:15")
    #expect(berlin.heading == "times in Test/Berlin" && Zone.utc.heading == nil)
    let west = Zone(name: "Test/West") { $0 < 0 ? -9_000 : -12_600 }
    #expect(west.text(-1) == "1969-12-31 21:29-02:30" && west.text(-86_400_000) == "1969-12-30 21:30")
  }

  @Test(
    "times that no calendar holds are shown as the first and the last minute",
    arguments: [Zone.utc, .berlin2026])
  func outsideTheCalendar(zone: Zone) {
    let style = zone
    #expect(style.text(.min) == style.text(Limits.dateMillisecondsMin))
    #expect(style.text(.max) == style.text(Limits.dateMillisecondsMax))
  }

  @Test("what is shown names the minute that was meant")
  func shownAndRead() throws {
    let clock = LocalClock(zone: .berlin2026, now: 0)
    let style = clock.zone
    for start in [1_774_746_000_000, 1_792_890_000_000] as [Milliseconds] {
      for minute in -200...200 as ClosedRange<Int64> {
        let time = start + minute * 60_000
        let moment = try #require(Moment.time(style.text(time), clock: clock))
        #expect(moment.first == time && moment.last == time + 59_999, "\(style.text(time))")
      }
    }
  }

  @Test(
    "commands show local times at a terminal, and UTC in a pipe and in JSON; both mean the same by a date")
  func commands() throws {
    let transcript = try Transcript(on: .pipe, clock: LocalClock(zone: .berlin2026, now: 0))
    try transcript.playFortnight()
    let day = "--since 2026-03-16 --until 2026-03-16"
    let lines = """
      $ heartlog add cities 1 --date 2026-03-16
      $ heartlog list cities --limit 1
      $ heartlog list cities --limit 1 --json
      $ heartlog show cities 1
      $ heartlog log cities 745044 --since 2026-03-15 --until 2026-03-15
      $ heartlog log cities 745044 --since "2026-03-15 21:04" --until "2026-03-15 21:04"
      $ heartlog log cities 745044 \(day)

      """
    let piped = transcript.replay(lines)
    #expect(
      piped.hasSuffix(
        """
        $ heartlog list cities --limit 1
        ♥  2026-03-15 23:00  1
        $ heartlog list cities --limit 1 --json
        {"library":"cities","id":"1","isFavorite":true,"favoritedDate":"2026-03-15T23:00:00.000Z","fields":{}}
        $ heartlog show cities 1
        ♥ 1  a favorite since 2026-03-15 23:00
        $ heartlog log cities 745044 --since 2026-03-15 --until 2026-03-15
        2026-03-15 20:04  3f9a12c0:339  ♥ on  cities  745044  country=TR lat=41.01384 lon=28.94966 name=İstanbul
        $ heartlog log cities 745044 --since "2026-03-15 21:04" --until "2026-03-15 21:04"
        2026-03-15 20:04  3f9a12c0:339  ♥ on  cities  745044  country=TR lat=41.01384 lon=28.94966 name=İstanbul
        $ heartlog log cities 745044 \(day)

        """), "\(piped)")
    transcript.screen = .terminal(width: 120, colours: false)
    let shown = transcript.replay(lines.split(separator: "\n").dropFirst().joined(separator: "\n"))
    #expect(
      shown == """
        $ heartlog list cities --limit 1
        times in Test/Berlin
        ♥  2026-03-16 00:00  1
        $ heartlog list cities --limit 1 --json
        {"library":"cities","id":"1","isFavorite":true,"favoritedDate":"2026-03-15T23:00:00.000Z","fields":{}}
        $ heartlog show cities 1
        ♥ 1  a favorite since 2026-03-16 00:00 Test/Berlin
        $ heartlog log cities 745044 --since 2026-03-15 --until 2026-03-15
        times in Test/Berlin
        2026-03-15 21:04  3f9a12c0:339  ♥ on  cities  745044  country=TR lat=41.01384 lon=28.94966 name=İstanbul
        $ heartlog log cities 745044 --since "2026-03-15 21:04" --until "2026-03-15 21:04"
        times in Test/Berlin
        2026-03-15 21:04  3f9a12c0:339  ♥ on  cities  745044  country=TR lat=41.01384 lon=28.94966 name=İstanbul
        $ heartlog log cities 745044 \(day)

        """)
  }

  @Test("statistics count the days of the zone, on a terminal and in a pipe")
  func statistics() throws {
    let transcript = try Transcript(on: .pipe, clock: LocalClock(zone: .berlin2026, now: 0))
    try transcript.makeFile(
      "ops.jsonl",
      """
      {"op":"add","library":"cities","id":"1","time":"2026-03-28T22:59:59Z"}
      {"op":"add","library":"cities","id":"2","time":"2026-03-28T23:00:00Z"}
      {"op":"add","library":"cities","id":"3","time":"2026-03-29T21:59:59Z"}
      {"op":"add","library":"cities","id":"4","time":"2026-04-01T22:00:00Z"}

      """)
    _ = transcript.replay("$ heartlog init --name test\n$ heartlog apply ops.jsonl\n")
    for screen in [Transcript.Screen.pipe, .terminal(width: 80, colours: false)] {
      transcript.screen = screen
      #expect(
        transcript.replay("$ heartlog stats cities --by day\n").hasPrefix(
          """
          $ heartlog stats cities --by day
          days of Test/Berlin
          day         added  removed  changed  favorites
          2026-03-28      1        0        0          1  █
          2026-03-29      2        0        0          3  ██
          …                                               3 days without events
          2026-04-02      1        0        0          4  █

          """))
      #expect(
        transcript.replay("$ heartlog stats cities --by month --json\n").hasPrefix(
          """
          $ heartlog stats cities --by month --json
          {"kind":"period","start":"2026-02-28T23:00:00.000Z","favorited":3,"unfavorited":0,"changed":0,"favoritesAtEnd":3}
          {"kind":"period","start":"2026-03-31T22:00:00.000Z","favorited":1,"unfavorited":0,"changed":0,"favoritesAtEnd":4}

          """))
    }
  }
}

extension Zone {
  /// Europe/Berlin in 2026, without the zone's file.
  static let berlin2026 = Zone(name: "Test/Berlin") { seconds in
    (1_774_746_000..<1_792_890_000).contains(seconds) ? 7_200 : 3_600
  }
}
