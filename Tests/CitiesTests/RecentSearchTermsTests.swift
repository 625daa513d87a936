import HeartlogLibraries
import Testing

@testable import Heartlog

@Suite("cities: recent search terms")
struct RecentSearchTermsTests {
  private let app: SmartCity
  private let recent: RecentSearchTerms

  init() throws {
    app = try SmartCity()
    recent = try RecentSearchTerms(app.store)
  }

  @Test("terms are recorded at 3 characters or more, without the white space around them")
  func threeCharacters() throws {
    for term in ["", "  ", "Ox", " Ox ", "éa", "a\u{7}bc", String(repeating: "x", count: 300)] {
      #expect(try !recent.record(term))
    }
    #expect(try recent.record(" Oxf\n") && recent.record("E\u{301}ze"))
    #expect(recent.terms == ["Éze", "Oxf"])
  }

  @Test("terms are unique, newest first, also while the clock stands still")
  func uniqueNewestFirst() throws {
    for term in ["Lima", "Quito", "Cusco", "Quito", "Lima"] { try recent.record(term) }
    #expect(recent.terms == ["Lima", "Quito", "Cusco"])
    let commits = app.store.read(\.commitCount)
    try recent.record("Lima")
    #expect(app.store.read(\.commitCount) == commits)
  }

  @Test("at most 8 terms are kept, and those that fall out are cleared in the same commit")
  func atMostEight() throws {
    for number in 1...20 { try recent.record("term \(number)") }
    #expect(recent.terms == (13...20).reversed().map { "term \($0)" })
    #expect(try app.store.library("settings").item("city-search")?.fields.count == 8)
    #expect(app.store.read(\.commitCount) == 20)
    try recent.removeAll()
    #expect(recent.terms.isEmpty)
  }

  @Test("terms that two devices recorded apart are all there after a merge, the eight newest of both")
  func merging() throws {
    for number in 1...5 { try recent.record("here \(number)") }
    let newest = app.clock.now + 10
    let fields = (1...6).map {
      Field(name: "recent/there \($0)", value: .int64(newest + Milliseconds($0)), isQuiet: true)
    }
    app.store.projection.receive(
      Commit(
        replica: ReplicaID(high: 7, low: 7), number: CommitNumber(rawValue: 1),
        firstSequence: SequenceNumber(rawValue: 1), stamp: HybridTimestamp(milliseconds: newest),
        wallTime: newest,
        records: [.event(Event(library: "settings", item: "city-search", action: .changed, fields: fields))]))
    #expect(recent.terms == (1...6).reversed().map { "there \($0)" } + ["here 5", "here 4"])
    // Newer than all, although the other device's clock runs ahead.
    try recent.record("here 1")
    #expect(recent.terms.prefix(2) == ["here 1", "there 6"] && recent.terms.count == 8)
  }

  @Test("what is no time, and a time without an end, is no reason to stumble")
  func hostile() throws {
    try app.store.library("settings").set(
      [
        Field(name: "recent/end", value: .int64(.max)), Field(name: "recent/text", value: .string("x")),
        Field(name: "other", value: .int64(1)),
      ], of: "city-search")
    #expect(recent.terms == ["end"])
    #expect(try recent.record("after"))
    #expect(Set(recent.terms) == ["after", "end"])
  }
}
