import HeartlogFormat
import TestSupport
import Testing

@testable import HeartlogState

@Suite("What an operation writes")
struct WritePlanTests {
  private let title = Field(name: "title", value: .string("caf\u{e9}"))
  private let pages = Field(name: "pages", value: .int64(12))
  private var favorite: ItemState {
    ItemState(id: "x", isFavorite: true, favoritedDate: 5, fields: [pages, title])
  }
  private var other: ItemState { ItemState(id: "x", isFavorite: false, fields: [pages, title]) }

  private func plan(_ operation: Operation, _ current: ItemState?) -> WritePlan {
    operation.plan(item: "x", in: "papers", current: current, wallTime: 1000)
  }

  @Test("add of what was never written makes a favorite, fields sorted by name bytes")
  func addNew() {
    let plan = plan(.add(fields: [title, pages], favoritedDate: 7), nil)
    #expect(plan.event == .paper("x", .added, date: 7, [pages, title]))
    #expect(!plan.result.ignoredFields && !plan.result.ignoredFavoritedDate)
  }

  @Test("add writes only the fields that differ from those held")
  func addDiffering() {
    let changed = Field(name: "pages", value: .int64(13))
    #expect(plan(.add(fields: [title, changed]), other).event == .paper("x", .added, [changed]))
    #expect(plan(.add(fields: [title, pages]), other).event == .paper("x", .added))
  }

  @Test("add of a favorite writes nothing and says that it ignored what was given")
  func addFavorite() {
    let new = Field(name: "new", value: .bool(true))
    let given = plan(.add(fields: [new], favoritedDate: 3), favorite)
    #expect(given.event == nil)
    #expect(given.result.ignoredFields && given.result.ignoredFavoritedDate)
    let bare = plan(.add(), favorite)
    #expect(bare.event == nil)
    #expect(!bare.result.ignoredFields && !bare.result.ignoredFavoritedDate)
  }

  @Test("remove of a favorite is one event without fields; of anything else it is nothing")
  func remove() {
    #expect(plan(.remove, favorite).event == .paper("x", .removed))
    #expect(plan(.remove, other).event == nil)
    #expect(plan(.remove, nil).event == nil)
  }

  @Test("a toggle goes by the state held, and takes fields and date only where it switches on")
  func toggle() {
    let changed = Field(name: "pages", value: .int64(13))
    let on = plan(.toggle(fields: [changed], favoritedDate: 7), other)
    #expect(on.event == .paper("x", .toggled(on: true), date: 7, [changed]))
    #expect(!on.result.ignoredFields && !on.result.ignoredFavoritedDate)
    #expect(plan(.toggle(), nil).event == .paper("x", .toggled(on: true)))
    let off = plan(.toggle(fields: [changed], favoritedDate: 7), favorite)
    #expect(off.event == .paper("x", .toggled(on: false)))
    #expect(off.result.ignoredFields && off.result.ignoredFavoritedDate)
    #expect(!plan(.toggle(), favorite).result.ignoredFields)
  }

  @Test("set writes the differing fields of a favorite or not, and nothing where none differs")
  func set() {
    let changed = Field(name: "pages", value: .int64(13))
    for current in [favorite, other] {
      #expect(plan(.set(fields: [title, changed]), current).event == .paper("x", .changed, [changed]))
      #expect(plan(.set(fields: [title, pages]), current).event == nil)
    }
    #expect(plan(.set(fields: [pages]), nil).event == .paper("x", .changed, [pages]))
    #expect(plan(.set(fields: []), nil).event == nil)
  }

  @Test("null clears what is held and is nothing where nothing is held")
  func null() {
    let held = Field(name: "pages", value: .null)
    let absent = Field(name: "absent", value: .null)
    #expect(plan(.set(fields: [held, absent]), other).event == .paper("x", .changed, [held]))
    #expect(plan(.set(fields: [absent]), other).event == nil)
    #expect(plan(.add(fields: [absent]), nil).event == .paper("x", .added))
  }

  @Test("the quiet mark is kept, and alone is no difference")
  func quiet() {
    let moved = Field(name: "pages", value: .int64(13), isQuiet: true)
    #expect(plan(.set(fields: [moved]), other).event?.fields == [moved])
    let same = Field(name: "pages", value: .int64(12), isQuiet: true)
    #expect(plan(.set(fields: [same]), other).event == nil)
  }

  @Test("a favorited date equal to the wall time is left out")
  func dateOfTheWallTime() {
    #expect(plan(.add(favoritedDate: 1000), nil).event == .paper("x", .added))
    #expect(plan(.toggle(favoritedDate: 1000), nil).event == .paper("x", .toggled(on: true)))
    #expect(plan(.toggle(favoritedDate: 999), nil).event?.favoritedDate == 999)
  }

  @Test("an exact operation writes all fields that it takes, sorted, whether they differ or not")
  func exact() {
    var state = FavoritesState()
    let nothing = WriteOverlay()
    func plan(_ operation: Operation) -> WritePlan {
      state.plan(
        .exactly(operation), on: "x", in: LibraryKey("papers"), under: nothing, and: nothing, wallTime: 1_000)
    }
    var writer = StreamWriter(1)
    state.apply(writer.commit(at: 1, .paper("x", .changed, [pages, title])))
    #expect(plan(.set(fields: [title, pages])).event == .paper("x", .changed, [pages, title]))
    #expect(plan(.set(fields: [])).event == nil)
    #expect(plan(.add(fields: [title], favoritedDate: 7)).event == .paper("x", .added, date: 7, [title]))
    #expect(plan(.toggle(fields: [title])).event == .paper("x", .toggled(on: true), [title]))
    #expect(plan(.remove).event == nil)
    state.apply(writer.commit(at: 2, .paper("x", .added)))
    #expect(plan(.add(fields: [title])).event == nil)
    #expect(plan(.toggle(fields: [title])).event == .paper("x", .toggled(on: false)))
  }

  @Test("of two fields with one name the last counts, even where only the first differs")
  func repeatedNames() {
    let first = Field(name: "pages", value: .int64(1))
    let second = Field(name: "pages", value: .int64(2))
    #expect(plan(.set(fields: [first, title, second]), other).event?.fields == [second])
    #expect(plan(.set(fields: [first, pages]), other).event == nil)
  }

  @Test("another normal form of a text is another value, of a name another field")
  func normalForms() {
    let decomposed = Field(name: "title", value: .string("cafe\u{301}"))
    #expect(plan(.set(fields: [decomposed]), other).event != nil)
    let held = ItemState(id: "x", isFavorite: false, fields: [Field(name: "caf\u{e9}", value: .int64(1))])
    let renamed = Field(name: "cafe\u{301}", value: .int64(1))
    #expect(plan(.set(fields: [renamed]), held).event?.fields.count == 1)
  }

  @Test(
    "a plan over the tables is the plan over the item that is made of them",
    arguments: 1...20 as ClosedRange<UInt64>)
  func overTables(seed: UInt64) {
    print("plans over tables: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    var state = FavoritesState()
    for commit in History(seed: seed, commitCount: 60).commits { state.apply(commit) }
    let nothing = WriteOverlay()
    for library in History.libraries + ["unknown"] {
      for item in History.items + ["never written to"] {
        let current = state.item(item, in: library)
        // Some as they are held, some not, some that nobody has a name for.
        var fields = (current?.fields ?? []).filter { _ in Bool.random(using: &generator) }
        fields += History.fieldNames.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
          .map { Field(name: $0, value: Bool.random(using: &generator) ? .null : .int64(1)) }
        fields.append(Field(name: "new", value: .bool(true)))
        fields.shuffle(using: &generator)
        for operation in [.add(fields: fields), .toggle(fields: fields), .set(fields: fields)] as [Operation]
        {
          let found = state.plan(
            operation, on: item, in: LibraryKey(library), under: nothing, and: nothing, wallTime: 9)
          let expected = operation.plan(item: item, in: library, current: current, wallTime: 9)
          #expect(found.event == expected.event && found.result == expected.result)
          #expect(
            found.result.isFavorite == found.event?.action.isFavorite ?? current?.isFavorite ?? false)
        }
      }
    }
  }
}

extension HeartlogState.Operation {
  /// The plan for an item as a value, which a plan over tables and pending writes must equal.
  func plan(item: String, in library: String, current: ItemState?, wallTime: Milliseconds) -> WritePlan {
    let isFavorite = current?.isFavorite ?? false
    let differing = Self.sortedByName(takenFields(isFavorite: isFavorite)).filter { field in
      current?.value(of: field.name) ?? .null != field.value
    }
    return plan(item: item, in: library, isFavorite: isFavorite, differing: differing, wallTime: wallTime)
  }
}
