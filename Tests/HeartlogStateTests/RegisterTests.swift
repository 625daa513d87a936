import HeartlogFormat
import HeartlogState
import Testing

@Suite("Registers")
struct RegisterTests {
  private func both(_ commits: [Commit]) -> [FavoritesState] {
    [commits, commits.reversed()].map { order in
      var state = FavoritesState()
      for commit in order { state.apply(commit) }
      return state
    }
  }

  @Test("adding again after a removal on another replica survives the merge")
  func readding() {
    var a = StreamWriter(1)
    var b = StreamWriter(2)
    let commits = [
      a.commit(at: 1000, .paper("x", .added)), b.commit(at: 2000, .paper("x", .removed)),
      a.commit(at: 3000, .paper("x", .added)),
    ]
    for state in both(commits) {
      #expect(state.isFavorite("x", in: "papers"))
      #expect(state.item("x", in: "papers")?.favoritedDate == 3000)
    }
  }

  @Test("one late off beats five earlier flips")
  func lateOff() {
    var a = StreamWriter(1)
    var b = StreamWriter(2)
    var commits = (0..<5).map { flip in
      a.commit(at: 1000 + Milliseconds(flip), .paper("x", .toggled(on: flip % 2 == 0)))
    }
    commits.append(b.commit(at: 1005, .paper("x", .toggled(on: false))))
    for state in both(commits) {
      #expect(state.item("x", in: "papers") == ItemState(id: "x", isFavorite: false))
      #expect(state.counts(of: "papers") == LibraryCounts(favorites: 0, items: 1, events: 6))
    }
  }

  @Test("equal stamps fall by replica id, both for membership and for fields")
  func tiedStamps() {
    var a = StreamWriter(1)
    var b = StreamWriter(2)
    let commits = [
      b.commit(at: 1000, .paper("x", .added, [Field(name: "f", value: .int64(2))])),
      a.commit(at: 1000, .paper("x", .removed, [Field(name: "f", value: .int64(1))])),
    ]
    for state in both(commits) {
      #expect(state.isFavorite("x", in: "papers"))
      #expect(state.item("x", in: "papers")?.value(of: "f") == .int64(2))
      #expect(state.membershipPosition(of: "x", in: "papers")?.replica == b.replica)
    }
  }

  @Test("in a commit, later events win over earlier ones on the same register")
  func sequenceDecides() {
    var a = StreamWriter(1)
    let commit = a.commit(
      at: 1000,
      .paper("x", .added, [Field(name: "f", value: .int64(1)), Field(name: "g", value: .int64(1))]),
      .paper("x", .removed), .paper("x", .changed, [Field(name: "f", value: .int64(2))]))
    for state in both([commit]) {
      let fields = [Field(name: "f", value: .int64(2)), Field(name: "g", value: .int64(1))]
      #expect(state.item("x", in: "papers") == ItemState(id: "x", isFavorite: false, fields: fields))
      #expect(
        state.position(ofField: "f", of: "x", in: "papers")
          == EventPosition(
            stamp: HybridTimestamp(milliseconds: 1000), replica: a.replica,
            sequence: SequenceNumber(rawValue: 3)))
    }
  }

  @Test("a null hides a field and still beats an earlier value that comes later")
  func fieldTombstone() {
    var a = StreamWriter(1)
    let value = a.commit(at: 1000, .paper("x", .changed, [Field(name: "f", value: .bool(true))]))
    let null = a.commit(at: 2000, .paper("x", .changed, [Field(name: "f", value: .null)]))
    for state in both([value, null]) {
      #expect(state.item("x", in: "papers")?.isTombstone == true)
      #expect(state.position(ofField: "f", of: "x", in: "papers")?.stamp == null.stamp)
      #expect(state.counts(of: "papers").items == 0)
    }
  }

  @Test("removing leaves the fields as they were, and the item visible")
  func removalKeepsFields() {
    var a = StreamWriter(1)
    let title = Field(name: "title", value: .string("On Growth and Form"))
    for state in both([
      a.commit(at: 1000, .paper("x", .added, [title])), a.commit(at: 2000, .paper("x", .removed)),
    ]) {
      #expect(state.item("x", in: "papers") == ItemState(id: "x", isFavorite: false, fields: [title]))
      #expect(state.counts(of: "papers") == LibraryCounts(favorites: 0, items: 1, events: 2))
    }
  }

  @Test("fields are applied whatever the action, quiet ones too, and the quiet mark is not part of the state")
  func fieldsOfAnyAction() {
    var a = StreamWriter(1)
    let actions: [Action] = [.added, .removed, .toggled(on: true), .toggled(on: false), .changed]
    var state = FavoritesState()
    for (index, action) in actions.enumerated() {
      state.apply(
        a.commit(
          at: 1000, .paper("x", action, [Field(name: "f", value: .int64(Int64(index)), isQuiet: true)])))
      #expect(
        state.item("x", in: "papers")?.fields == [Field(name: "f", value: .int64(Int64(index)))])
    }
  }

  @Test("the favorited date is the one given, else the wall time, and only a favorite has one")
  func favoritedDate() {
    var a = StreamWriter(1)
    a.clock.receive(HybridTimestamp(milliseconds: 9000))
    var state = FavoritesState()
    state.apply(a.commit(at: 1000, .paper("given", .added, date: -5), .paper("wall", .added)))
    #expect(state.item("given", in: "papers")?.favoritedDate == -5)
    #expect(state.item("wall", in: "papers")?.favoritedDate == 1000)
    state.apply(a.commit(at: 1100, .paper("given", .toggled(on: false))))
    #expect(state.item("given", in: "papers")?.favoritedDate == nil)
  }

  @Test("withheld and unknown records count for the stream alone, and the events after them keep their place")
  func withheldAndUnknown() {
    var a = StreamWriter(1)
    let commit = a.commit(
      at: 1000,
      [
        .withheld(SHA256Hasher.digest(of: [])), .unknown(kind: 8, bytes: []), .event(.paper("x", .added)),
      ])
    var state = FavoritesState()
    state.apply(commit)
    #expect(state.eventCount == 3)
    #expect(state.eventCount(of: a.replica) == 3)
    #expect(state.counts(of: "papers").events == 1)
    #expect(state.membershipPosition(of: "x", in: "papers")?.sequence.rawValue == 3)
  }

  @Test("an item that was never written to is nil, a library without events is not listed")
  func neverWritten() {
    var state = FavoritesState()
    #expect(state.item("x", in: "papers") == nil)
    #expect(state.libraries.isEmpty)
    var a = StreamWriter(1)
    state.apply(a.commit(at: 1, .paper("x", .changed)))
    #expect(state.item("x", in: "papers") == nil)
    #expect(state.all(in: "papers").isEmpty)
    #expect(state.libraries == ["papers"])
    #expect(state.item("x", in: "books") == nil)
    #expect(!state.isFavorite("y", in: "papers"))
    #expect(state.counts(of: "books") == LibraryCounts())
  }

  @Test("ids that differ only in their normal form are two items")
  func normalForms() {
    var a = StreamWriter(1)
    var state = FavoritesState()
    state.apply(a.commit(at: 1, .paper("caf\u{e9}", .added), .paper("cafe\u{301}", .removed)))
    #expect(state.isFavorite("caf\u{e9}", in: "papers"))
    #expect(!state.isFavorite("cafe\u{301}", in: "papers"))
    #expect(state.counts(of: "papers").favorites == 1)
  }
}
