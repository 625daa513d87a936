import HeartlogFormat
import HeartlogState
import TestSupport
import Testing

@Suite("Snapshots")
struct SnapshotTests {
  private static let log: [UInt8] = Array("where the log stands".utf8)

  private func bytes(of state: FavoritesState) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try state.writeSnapshot(log: Self.log) { bytes.append(contentsOf: $0) }
    return bytes
  }

  private func state(from bytes: [UInt8]) throws -> FavoritesState {
    let mapped = MappedBytes(bytes)
    let (state, log) = try FavoritesState.snapshot(mapped.bytes, owner: mapped)
    #expect(log == Self.log)
    return state
  }

  private func snapshot(of state: FavoritesState) throws -> FavoritesState {
    try self.state(from: bytes(of: state))
  }

  /// Everything that can be asked of a state.
  private func expectEqual(
    _ a: FavoritesState, _ b: FavoritesState, _ context: String, libraries: [String] = History.libraries
  ) {
    #expect(a.digest == b.digest, "\(context)")
    #expect(a.heads == b.heads, "\(context)")
    #expect(a.eventCount == b.eventCount, "\(context)")
    #expect(a.commitCount == b.commitCount, "\(context)")
    #expect(a.lastStamp == b.lastStamp, "\(context)")
    #expect(a.libraries == b.libraries, "\(context)")
    #expect(a.conflicts == b.conflicts, "\(context)")
    for library in libraries {
      #expect(a.counts(of: library) == b.counts(of: library), "\(context)")
      #expect(a.all(in: library) == b.all(in: library), "\(context)")
      for order in ListOrder.allCases {
        for limit in [nil, 0, 1, 3, 7] {
          #expect(
            a.favorites(in: library, order: order, limit: limit)
              == b.favorites(in: library, order: order, limit: limit), "\(order), \(context)")
        }
      }
      #expect(Set(a.favoriteIDs(in: library)) == Set(b.favoriteIDs(in: library)), "\(context)")
      #expect(Set(a.items(in: library)) == Set(b.items(in: library)), "\(context)")
      for item in a.items(in: library) {
        #expect(a.isFavorite(item.id, in: library) == b.isFavorite(item.id, in: library), "\(context)")
        #expect(b.item(item.id, in: library) == item, "\(context)")
        #expect(
          a.membershipPosition(of: item.id, in: library) == b.membershipPosition(of: item.id, in: library),
          "\(context)")
        for name in History.fieldNames {
          #expect(
            a.position(ofField: name, of: item.id, in: library)
              == b.position(ofField: name, of: item.id, in: library), "\(context)")
        }
      }
      #expect(!b.isFavorite("nobody", in: library), "\(context)")
    }
    #expect(!b.isDamaged, "\(context)")
  }

  @Test(
    "a state and its snapshot are one, whatever is written to them after that",
    arguments: 1...40 as ClosedRange<UInt64>)
  func generated(seed: UInt64) throws {
    print("snapshot: seed \(seed)")
    var generator = SeededGenerator(seed: seed &* 77)
    var commits = History(seed: seed, commitCount: 160).commits
    // Out of order, so that some stand beyond a gap.
    if generator.isTrue(oneIn: 2) { commits.shuffle(using: &generator) }
    let cut = Int.random(in: 0...commits.count, using: &generator)
    var expected = FavoritesState()
    for commit in commits[..<cut] { expected.apply(commit) }
    var state = try snapshot(of: expected)
    expectEqual(expected, state, "seed \(seed), as read")
    let untouched = state
    for commit in commits[cut...] {
      let isNew = expected.apply(commit)
      let isNewHere = state.apply(commit)
      #expect(isNewHere == isNew)
    }
    for commit in commits {
      let isNewHere = state.apply(commit)
      #expect(!isNewHere)
    }
    expectEqual(expected, state, "seed \(seed), written to")
    expectEqual(try snapshot(of: state), try snapshot(of: expected), "seed \(seed), again")
    #expect(untouched.commitCount <= state.commitCount)
    #expect(state.conflicts == NaiveModel(commits).conflicts, "seed \(seed)")
  }

  /// Many pages of items, of which some share a date, some have many fields, and some are none any more.
  private func large(_ count: Int = 3_000) -> (state: FavoritesState, writer: StreamWriter) {
    var generator = SeededGenerator(seed: 5)
    var writer = StreamWriter(7)
    var state = FavoritesState()
    for index in 0..<count {
      let id = index % 50 == 0 ? "a long id, longer than a key is wide: \(index)" : "item-\(index)"
      var fields = [
        Field(name: "name", value: .string("the name of \(index), which is long")),
        Field(name: "size", value: .int64(Int64(index))),
      ]
      if index == 17 {
        fields = (0..<100).map { Field(name: "n\($0 + 100)", value: .string("value \($0) of a wide one")) }
      }
      let action: Action = index % 9 == 3 ? .changed : .added
      let event = Event(
        library: "papers", item: id, action: action,
        favoritedDate: action == .added ? .random(in: 0...200, using: &generator) : nil, fields: fields)
      state.apply(writer.commit(at: 1_700_000_000_000 + Milliseconds(index), [.event(event)]))
    }
    for index in stride(from: 0, to: count, by: 7) {
      let event = Event(library: "papers", item: "item-\(index)", action: .removed)
      state.apply(writer.commit(at: 1_700_001_000_000 + Milliseconds(index), [.event(event)]))
    }
    return (state, writer)
  }

  @Test("several threads read one state at once", arguments: 1...6 as ClosedRange<UInt64>)
  func readAtOnce(seed: UInt64) async throws {
    print("read at once: seed \(seed)")
    var (expected, writer) = large()
    var state = try snapshot(of: expected)
    for index in stride(from: Int(seed), to: 3_000, by: 13) {
      let event = Event(library: "papers", item: "item-\(index)", action: .toggled(on: true))
      let commit = writer.commit(at: 1_700_002_000_000 + Milliseconds(index), [.event(event)])
      state.apply(commit)
      expected.apply(commit)
    }
    var generator = SeededGenerator(seed: seed)
    // In one order, so that they meet at the same pages.
    let ids = expected.items(in: "papers").map(\.id).shuffled(using: &generator)
    await withTaskGroup(of: [String].self) { [state, expected] group in
      for _ in 1...4 {
        group.addTask { ids.filter { state.item($0, in: "papers") != expected.item($0, in: "papers") } }
      }
      for await wrong in group { #expect(wrong == []) }
    }
    #expect(!state.isDamaged)
  }

  @Test("many pages, with what was written over them")
  func pages() throws {
    var (expected, writer) = large()
    var state = try snapshot(of: expected)
    expectEqual(expected, state, "as read", libraries: ["papers"])
    for index in stride(from: 1, to: 3_600, by: 11) {
      let event = Event(
        library: "papers", item: "item-\(index)", action: .toggled(on: index % 2 == 0),
        favoritedDate: index % 2 == 0 ? Milliseconds(index % 300) : nil,
        fields: [
          Field(name: "name", value: index % 5 == 0 ? .null : .string("another name for \(index)")),
          Field(name: "new-\(index % 3)", value: .bool(true)),
        ])
      let commit = writer.commit(at: 1_700_002_000_000 + Milliseconds(index), [.event(event)])
      state.apply(commit)
      expected.apply(commit)
    }
    expectEqual(expected, state, "written to", libraries: ["papers"])
    expectEqual(expected, try snapshot(of: state), "read again", libraries: ["papers"])
  }

  @Test("copies of a state that lies in a snapshot go their own ways")
  func copies() throws {
    var (original, writer) = large(200)
    original = try snapshot(of: original)
    let before = original.digest
    var copy = original
    let event = Event(library: "papers", item: "item-1", action: .toggled(on: false))
    copy.apply(writer.commit(at: 1_800_000_000_000, [.event(event)]))
    #expect(original.digest == before)
    #expect(copy.digest != before)
    #expect(original.isFavorite("item-1", in: "papers") != copy.isFavorite("item-1", in: "papers"))
  }

  @Test("each changed byte is found, at the latest when it is looked at")
  func damage() throws {
    let (whole, _) = large(60)
    let bytes = try bytes(of: whole)
    let digest = whole.digest
    for offset in stride(from: 0, to: bytes.count, by: 61) {
      var changed = bytes
      changed[offset] ^= 0x40
      guard var state = try? state(from: changed) else { continue }
      let found = state.digest
      state.loadSnapshot()
      // What nobody reads, the zeros between parts, may be anything.
      if !state.isDamaged {
        #expect(found == digest, "offset \(offset)")
        expectEqual(whole, state, "offset \(offset)", libraries: ["papers"])
      }
    }
  }

  @Test("what is cut short, empty or something else is refused")
  func refused() throws {
    let bytes = try bytes(of: large(40).state)
    for count in [0, 1, 63, 64, 127, 128, bytes.count / 2, bytes.count - 64, bytes.count - 1] {
      #expect(throws: MalformedError.self) { try state(from: Array(bytes[..<count])) }
    }
    #expect(throws: MalformedError.self) { try state(from: [UInt8](repeating: 0, count: 4_096)) }
    for version in [bytes[8] - 1, bytes[8] + 1] {
      var other = bytes
      other[8] = version
      try SnapshotAnatomy(bytes).seal(&other)
      #expect(throws: MalformedError.self) { try state(from: other) }
    }
  }

  @Test("parts of another snapshot do not pass")
  func mixed() throws {
    let (whole, _) = large(300)
    let first = try bytes(of: whole)
    let second = try bytes(of: whole)
    #expect(first.count == second.count)
    // The middle of one in the frame of the other.
    let cut = first.count / 4 / 64 * 64
    let mixed = Array(first[..<cut]) + second[cut..<2 * cut] + first[(2 * cut)...]
    var state = try state(from: mixed)
    state.loadSnapshot()
    #expect(state.isDamaged)
  }

  @Test("a conflict that lies in a snapshot stays when the texts in memory are compacted")
  func conflict() throws {
    var (a, b) = (StreamWriter(1), StreamWriter(2))
    func note(_ text: String) -> [Field] { [Field(name: "@note", value: .string(text))] }
    var expected = FavoritesState()
    _ = expected.apply(a.commit(at: 1, .paper("x", .added, note("one text that is long enough to be named"))))
    _ = expected.apply(b.commit(at: 2, .paper("x", .added, note("another text that is long enough for it"))))
    var state = try snapshot(of: expected)
    // Twice as much as is left in gaps.
    for round in 0..<20 {
      let text = String(repeating: "\(round % 10)", count: 100_000)
      let commit = a.commit(at: Milliseconds(3 + round), .paper("y", .changed, note(text)))
      _ = (expected.apply(commit), state.apply(commit))
    }
    #expect(state.conflicts.count == 1 && state.conflicts == expected.conflicts)
    #expect(state.digest == expected.digest && !state.isDamaged)
  }

  @Test("a state without anything has a snapshot too")
  func empty() throws {
    let state = try snapshot(of: FavoritesState())
    #expect(state.commitCount == 0)
    #expect(state.digest == FavoritesState().digest)
    #expect(state.favorites(in: "papers").isEmpty)
  }
}
