import HeartlogFormat
import HeartlogState
import Testing

/// The digests and bytes here were computed with Python's hashlib and struct from the description in
/// StateDigest.swift, not by this code.
@Suite("State digest")
struct StateDigestTests {
  private func paper() -> Event { .paper("a", .added, date: 1_700_000_000_000) }

  private let rich: [Event] = [
    .paper(
      "note-only", .changed,
      [Field(name: "@note", value: .string("")), Field(name: "skim", value: .bool(false))]),
    .paper("gone", .removed, [Field(name: "f", value: .null)]),
    .paper(
      "2403.01234v2", .added, date: -1000,
      [
        Field(name: "cleared", value: .null), Field(name: "new", value: .unknown(tag: 9, bytes: [1, 2, 3])),
        Field(name: "ratio", value: .double(0.1)), Field(name: "read", value: .bool(true)),
        Field(name: "title", value: .string("\u{c5}")), Field(name: "zero", value: .int64(-2)),
      ]),
  ]

  private func state(_ events: [Event], startingAt wallTime: Milliseconds = 1) -> FavoritesState {
    var writer = StreamWriter(UInt64(wallTime))
    var state = FavoritesState()
    for (index, event) in events.enumerated() {
      state.apply(writer.commit(at: wallTime + Milliseconds(index), event))
    }
    return state
  }

  @Test("nothing visible is the hash of nothing, tombstones or none")
  func empty() {
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(FavoritesState().digest.description == nothing)
    #expect(FavoritesState().digest(of: "papers").description == nothing)
    let tombstones = state([.paper("x", .added), .paper("x", .removed)])
    #expect(tombstones.digest.description == nothing)
    #expect(tombstones.digest(of: "papers").description == nothing)
  }

  @Test("one favorite without fields, byte by byte")
  func oneFavorite() {
    let state = state([paper()])
    let library = "9756f3d9ba67eeacca196982796974ba6609ba04f8d4a484aeb9dcce4238f9d7"
    #expect(state.digest(of: "papers").description == library)
    // u32 1, "a", flag 1, i64 1,700,000,000,000, u32 0
    let bytes = Hexadecimal.bytes("01000000" + "61" + "01" + "0068e5cf8b010000" + "00000000")
    #expect(SHA256Hasher.digest(of: bytes ?? []).description == library)
    #expect(
      state.digest.description == "06124f9d31c703472f14487006bad3920f691b44d26f4c726898e9b0cfcedf40")
  }

  @Test("every kind of value, a date before 1970, an item that is visible by its fields alone")
  func everyValue() {
    let state = state(rich)
    let bytes = Hexadecimal.bytes(
      "0c000000323430332e303132333476320118fcffffffffffff05000000030000006e65770609030000000102030500000072"
        + "6174696f039a9999999999b93f04000000726561640101050000007469746c650402000000c385040000007a65726f02fe"
        + "ffffffffffffff090000006e6f74652d6f6e6c79000200000005000000406e6f7465040000000004000000736b696d0100"
    )
    #expect(state.digest(of: "papers") == SHA256Hasher.digest(of: bytes ?? []))
    #expect(
      state.digest(of: "papers").description
        == "e03aa05d1cb0c170631b6ce9abac979529b3f3f96b49ea4af4143a0abadee616")
  }

  @Test("nested JSON is a kind of its own, byte by byte")
  func nestedJSON() throws {
    let value = FieldValue.json(try CanonicalJSON(canonical: "[1]"))
    let state = state([.paper("a", .changed, [Field(name: "j", value: value)])])
    // u32 1, "a", flag 0, u32 1, u32 1, "j", kind 5, u32 3, "[1]"
    let bytes = Hexadecimal.bytes(
      "01000000" + "61" + "00" + "01000000" + "01000000" + "6a" + "05" + "03000000" + "5b315d")
    #expect(state.digest(of: "papers") == SHA256Hasher.digest(of: bytes ?? []))
  }

  @Test("libraries are hashed by the bytes of their names, those with nothing visible left out")
  func store() {
    let book = Event(library: "books", item: "a", action: .added, favoritedDate: 1_700_000_000_000)
    let empty = Event(library: "archives", item: "a", action: .removed)
    let state = state(rich + [empty, book])
    #expect(
      state.digest.description == "de73e55a56b06b4d56872ad80e20a08ce1ff7e9b1e7e6fd02b8eceeacc746db8")
  }

  @Test("stamps, writers and what was there before have no part in it; date and value have")
  func whatCounts() {
    let state = state(rich)
    #expect(
      self.state([.paper("note-only", .added)] + rich + [.paper("note-only", .removed)], startingAt: 99)
        .digest == state.digest)
    #expect(self.state(rich + [.paper("2403.01234v2", .added, date: -999)]).digest != state.digest)
    let other = Event.paper("note-only", .changed, [Field(name: "skim", value: .bool(true))])
    #expect(self.state(rich + [other]).digest != state.digest)
  }

  @Test("a library larger than one piece of the hasher has the hash of the whole")
  func large() {
    var writer = StreamWriter(1)
    var state = FavoritesState()
    var bytes: [UInt8] = []
    for number in 10_000..<20_000 {
      state.apply(writer.commit(at: 1, .paper("\(number)", .changed, [Field(name: "n", value: .bool(true))])))
      bytes += [5, 0, 0, 0] + Array("\(number)".utf8) + [0, 1, 0, 0, 0, 1, 0, 0, 0, 0x6e, 1, 1]
    }
    #expect(state.digest(of: "papers") == SHA256Hasher.digest(of: bytes))
  }
}
