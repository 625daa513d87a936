import HeartlogFormat
import HeartlogState
import TestSupport
import Testing

@Suite("Fields of items")
struct ItemFieldsTests {
  /// Values of every kind, short texts and long ones, under names that are not given in their order.
  private let fields: [Field]
  private let held: [Field]

  init() throws {
    fields = [
      Field(name: "z", value: .null),
      Field(name: "title", value: .string("On Growth and Form, the second edition")),
      Field(name: "pages", value: .int64(-1_116)),
      Field(name: "é", value: .string("short")),
      Field(name: "authors", value: try .json(CanonicalJSON(canonical: #"["D'Arcy Wentworth Thompson"]"#))),
      Field(name: "rating", value: .double(4.5)),
      Field(name: "isRead", value: .bool(true)),
      Field(name: "isLent", value: .bool(false)),
      Field(name: "@note", value: .string("")),
      Field(name: "later", value: .unknown(tag: 9, bytes: [0, 255, 1, 2, 3, 4, 5, 6, 7, 8])),
    ]
    held = fields.filter { !$0.value.isNull }
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  private func state(_ events: [Event]...) -> FavoritesState {
    var writer = StreamWriter(1)
    var state = FavoritesState()
    for (place, events) in events.enumerated() {
      state.apply(writer.commit(at: 1_000 + Milliseconds(place), events.map { .event($0) }))
    }
    return state
  }

  private func snapshot(of state: FavoritesState) throws -> FavoritesState {
    var bytes: [UInt8] = []
    try state.writeSnapshot(log: []) { bytes.append(contentsOf: $0) }
    let mapped = MappedBytes(bytes)
    return try FavoritesState.snapshot(mapped.bytes, owner: mapped).state
  }

  /// By every way that leads to an item.
  private func items(_ id: String, in state: FavoritesState) -> [ItemState?] {
    var own = state
    return [
      state.item(id, in: "papers"), FavoritesState.item(id, in: LibraryKey("papers"), of: &own),
      state.all(in: "papers").first { $0.id == id },
    ]
  }

  @Test("they are those that hold a value, by the bytes of their names, before a snapshot and in one")
  func all() throws {
    let written = state([.paper("x", .added, fields)])
    for state in [written, try snapshot(of: written)] {
      for item in items("x", in: state) {
        let found = try #require(item).fields
        #expect(Array(found) == held)
        #expect(found == ItemFields(held))
        #expect(ItemFields(held) == found)
        #expect(found.count == 9 && found.first?.name == "@note" && found.last?.name == "é")
        for field in fields { #expect(found[field.name] == (field.value.isNull ? nil : field.value)) }
        #expect(found["e\u{301}"] == nil, "names are bytes")
        #expect(found["absent"] == nil)
      }
    }
  }

  @Test("what was written over a snapshot takes the place of what is in it")
  func over() throws {
    var state = try snapshot(of: state([.paper("x", .added, fields)]))
    let before = items("x", in: state)
    var writer = StreamWriter(2)
    let long = String(repeating: "long ", count: 1_000)
    state.apply(
      writer.commit(
        at: 5_000,
        .paper(
          "x", .changed,
          [
            Field(name: "a", value: .string(long)), Field(name: "pages", value: .null),
            Field(name: "title", value: .string(long)),
          ])))
    for item in items("x", in: state) {
      let found = try #require(item).fields
      #expect(
        found.map(\.name) == ["@note", "a", "authors", "isLent", "isRead", "later", "rating", "title", "é"])
      #expect(found["a"] == .string(long) && found["title"] == .string(long) && found["pages"] == nil)
    }
    // What was asked for before stays what it was.
    for item in before { #expect(item.map { Array($0.fields) } == held) }
  }

  @Test("they outlive the state that they are of")
  func outlive() throws {
    var kept: [ItemState?] = []
    do {
      let written = state([.paper("x", .added, fields)])
      kept = items("x", in: written) + items("x", in: try snapshot(of: written))
    }
    for item in kept { #expect(item.map { Array($0.fields) } == held) }
  }

  @Test("an item without a value has none")
  func none() throws {
    let written = state([.paper("x", .added), .paper("y", .added, [Field(name: "f", value: .null)])])
    for state in [written, try snapshot(of: written)] {
      for id in ["x", "y"] {
        for item in items(id, in: state) { #expect(item?.fields.isEmpty == true, "\(id)") }
      }
    }
  }

  @Test("ids and libraries of every length are found, and no others")
  func lengths() throws {
    let ids = (1...40).map { String("0123456789012345678901234567890123456789abc".prefix($0)) }
    let libraries = ids.map { "l" + $0.prefix(30) }
    let written = state(
      Set(libraries).sorted().flatMap { library in
        ids.filter { $0.utf8.count % 2 == 0 }.map { id in
          Event(library: library, item: id, action: .added, favoritedDate: nil, fields: [])
        }
      })
    for state in [written, try snapshot(of: written)] {
      var state = state
      for library in libraries + ["papers"] {
        for id in ids {
          let isThere = id.utf8.count % 2 == 0 && library != "papers"
          #expect(
            FavoritesState.isFavorite(id, in: LibraryKey(library), of: &state) == isThere, "\(id), \(library)"
          )
          #expect(state.isFavorite(id, in: library) == isThere, "\(id), \(library)")
          let found = FavoritesState.item(id, in: LibraryKey(library), of: &state)
          #expect((found?.id == id) == isThere)
          #expect(state.item(id, in: library) == found, "\(id), \(library)")
        }
      }
    }
  }
}
