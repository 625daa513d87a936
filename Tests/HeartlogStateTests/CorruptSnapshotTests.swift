import HeartlogFormat
import TestSupport
import Testing

@testable import HeartlogState

/// Snapshots whose checksums are right and whose content is not: somebody wrote them so. What they answer means nothing, and they must
/// not bring the reader down.
@Suite("Snapshots that lie")
struct CorruptSnapshotTests {
  private static let seedCount: UInt64 = 20
  /// Of each seed's snapshot.
  private static let corruptionCount = 24

  /// What was true when the snapshot was written, and what comes after it.
  private func history(_ generator: inout SeededGenerator) -> (state: FavoritesState, later: [Commit]) {
    let commits = History(seed: generator.next(), commitCount: 120).commits
    let cut = Int.random(in: 1..<commits.count, using: &generator)
    var state = FavoritesState()
    for commit in commits[..<cut] { state.apply(commit) }
    // Keys and texts that do not fit into a record, and more items than a page has.
    var writer = StreamWriter(generator.next())
    for index in 0..<Int.random(in: 0...36, using: &generator) {
      let fields = [
        Field(name: "note", value: .string("the note of \(index), which is long")),
        Field(name: "size", value: .int64(Int64(index))),
      ]
      state.apply(
        writer.commit(
          at: 1_700_000_000_000, Event.paper("a long id, longer than a key is wide: \(index)", .added, fields)
        ))
    }
    return (state, Array(commits[cut...]))
  }

  private func bytes(of state: FavoritesState) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try state.writeSnapshot(log: [1, 2, 3]) { bytes.append(contentsOf: $0) }
    return bytes
  }

  /// Changes some bytes and integers, and makes the checksums right again.
  private func corrupted(
    _ bytes: [UInt8], _ anatomy: SnapshotAnatomy, _ generator: inout SeededGenerator
  ) -> [UInt8] {
    // A few changes leave more of the rest to be led astray; many meet each other.
    let count = [1, 1, 2, 10, 60, 400].randomElement(using: &generator)!
    // What records say is looked at most closely; the directory, and how pages are packed, now and then.
    var changed = bytes
    if anatomy.packedPages.isEmpty || generator.isTrue(oneIn: 2) {
      var ranges = generator.isTrue(oneIn: 4) ? anatomy.entries : anatomy.pages
      if ranges.isEmpty || generator.isTrue(oneIn: 6) { ranges = [anatomy.directory] }
      for _ in 0..<count { change(&changed, in: ranges.randomElement(using: &generator)!, &generator) }
      anatomy.seal(&changed)
      return changed
    }
    var unpacked: [Int: [UInt8]] = [:]
    for _ in 0..<count {
      let index = anatomy.packedPages.indices.randomElement(using: &generator)!
      guard var records = unpacked[index] ?? anatomy.records(of: anatomy.packedPages[index]) else { continue }
      change(&records, in: records.indices, &generator)
      unpacked[index] = records
    }
    return anatomy.with(unpacked.sorted { $0.key < $1.key }.map { (anatomy.packedPages[$0.key], $0.value) })
  }

  private func change(_ bytes: inout [UInt8], in range: Range<Int>, _ generator: inout SeededGenerator) {
    let width = [1, 4, 4, 8].randomElement(using: &generator)!
    let offset = range.lowerBound + Int.random(in: 0..<range.count, using: &generator) / width * width
    let end = min(offset + width, range.upperBound)
    let old = (offset..<end).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[$1]) }
    let words: [UInt64] = [
      0, 1, 2, .max, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 1 << 63, 1 << 63 | 1, (1 << 63) - 1,
      old &+ 1, old &- 1, old ^ 1 << UInt64(Int.random(in: 0..<8 * width, using: &generator)),
      .random(in: 0...300, using: &generator), generator.next(),
    ]
    let word = words.randomElement(using: &generator)!
    for index in offset..<end {
      bytes[index] = UInt8(truncatingIfNeeded: word >> UInt64(8 * (index - offset)))
    }
  }

  private func open(_ bytes: [UInt8]) throws(MalformedError) -> FavoritesState {
    let mapped = MappedBytes(bytes)
    return try FavoritesState.snapshot(mapped.bytes, owner: mapped).state
  }

  /// Asks everything.
  private func ask(_ state: FavoritesState) {
    var own = state
    _ = state.digest
    _ = state.heads
    _ = state.eventsWithoutContent
    _ = state.conflicts
    for library in Set(state.libraries + History.libraries) {
      _ = state.counts(of: library)
      _ = state.all(in: library)
      _ = state.favoriteIDs(in: library)
      for order in ListOrder.allCases {
        for limit in [nil, 3] { _ = state.favorites(in: library, order: order, limit: limit) }
      }
      for item in state.items(in: library).map(\.id) + History.items {
        for field in state.item(item, in: library)?.fields ?? [] { _ = field.value }
        let found = FavoritesState.item(item, in: LibraryKey(library), of: &own)
        for field in found?.fields ?? [] { _ = field.value }
        _ = state.isFavorite(item, in: library)
        _ = FavoritesState.isFavorite(item, in: LibraryKey(library), of: &own)
        _ = state.membershipPosition(of: item, in: library)
        for name in History.fieldNames { _ = state.position(ofField: name, of: item, in: library) }
      }
      state.forEachItem(History.items, in: library, fields: History.fieldNames) { _, _, _ in }
      state.forEachItem(state.favoriteIDs(in: library), in: library, fields: History.fieldNames) { _, _, _ in
      }
    }
  }

  /// What another device writes after the snapshot, as a block.
  private func block(_ generator: inout SeededGenerator) throws -> ColumnBlock {
    var writer = StreamWriter(generator.next())
    var run: [Commit] = []
    for step in 0..<40 {
      let item = History.items[step % History.items.count]
      let fields = History.fieldNames.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        .map { Field(name: $0, value: .string("written after the snapshot, at \(step)")) }
      run.append(
        writer.commit(
          at: 1_800_000_000_000 + Milliseconds(step),
          Event.paper(item, step % 3 == 0 ? .removed : .added, fields)))
    }
    // More fields than are looked up one by one, and texts that leave gaps enough to be written anew.
    let wide = (10..<50).map { Field(name: "wide-\($0)", value: .int64(1)) }
    run.append(writer.commit(at: 1_800_000_001_000, Event.paper("item-0", .changed, wide)))
    if generator.isTrue(oneIn: 8) {
      for round in 0..<3 {
        let text = String(repeating: "\(round)", count: 700_000)
        run.append(
          writer.commit(
            at: 1_800_000_002_000,
            Event.paper("item-1", .changed, [Field(name: "title", value: .string(text))])))
      }
    }
    let secret = SegmentSecret(
      firstCommit: CommitNumber(rawValue: 1), kind: .whole(SHA256Hasher.digest(of: [1])))
    let encoded = try BlockEncoding.encode(
      Block(replica: writer.replica, firstCommit: CommitNumber(rawValue: 1), secrets: [secret], commits: run))
    return try encoded.withUnsafeBytes {
      try BlockEncoding.decodeColumns(
        $0, replica: writer.replica, firstCommit: CommitNumber(rawValue: 1), commitCount: run.count)
    }
  }

  /// Writes to it: what comes from devices, one by one and as a block, and what is done here.
  private func write(_ later: [Commit], _ block: ColumnBlock, to state: inout FavoritesState) {
    for commit in later { state.apply(commit) }
    _ = state.countingChanges { $0.apply(block) }
    for item in History.items {
      for operation in [
        Operation.add(fields: [], favoritedDate: nil), .remove, .toggle(fields: [], favoritedDate: nil),
        .set(fields: [Field(name: "title", value: .int64(1))]),
      ] {
        _ = state.plan(
          operation, on: item, in: LibraryKey("papers"), under: WriteOverlay(), and: WriteOverlay(),
          wallTime: 1)
      }
    }
  }

  @Test("wrong answers, and no crash", arguments: 1...Self.seedCount)
  func generated(seed: UInt64) throws {
    print("lying snapshot: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let (whole, later) = history(&generator)
    let block = try block(&generator)
    let bytes = try bytes(of: whole)
    let anatomy = try SnapshotAnatomy(bytes)
    for _ in 0..<Self.corruptionCount {
      guard let opened = try? open(corrupted(bytes, anatomy, &generator)) else { continue }
      ask(opened)
      var state = opened
      write(later, block, to: &state)
      // A state that makes no sense is written or not at all, and what was written may be refused.
      guard generator.isTrue(oneIn: 4) else { continue }
      ask(state)
      state.loadSnapshot()
      guard let again = try? self.bytes(of: state), var reopened = try? open(again) else { continue }
      ask(reopened)
      write(later, block, to: &reopened)
      ask(opened)
    }
  }

  @Test("the integers of a mapped record lie where the format has them, and nothing else is stored")
  func layouts() {
    expectIntegers(ItemRecord(key: Key()))
    expectIntegers(
      FieldRecord(
        name: FieldNameSlot(index: 0), next: -1, position: .none, value: StoredValue(), isQuiet: true))
    expectIntegers(
      RivalRecord(item: ItemSlot(index: 0), position: .none, isFavorite: true, favoritedDate: 0))
    expectIntegers(CommitNumbers.Run(commit: 1, sequence: 1, eventsPerCommit: 1))
    expectIntegers(SeenCommits.Entry(commit: 1, seen: 1))
    expectIntegers(UInt64(1))
    expectIntegers(Int32(1))
  }

  private func expectIntegers<Record: MappedRecord>(_ record: Record) {
    #expect(Record.isLaidOutAsInFormat, "\(Record.self)")
    func integerCount(_ value: Any) -> Int {
      if value is any FixedWidthInteger { return 1 }
      let parts = Mirror(reflecting: value).children
      #expect(!parts.isEmpty, "\(type(of: value)) in \(Record.self) is no integer")
      return parts.reduce(0) { $0 + integerCount($1.value) }
    }
    #expect(integerCount(record) == Record.layout.count, "\(Record.self)")
  }

  @Test("a snapshot whose checksums were made again is the same")
  func sealed() throws {
    var generator = SeededGenerator(seed: 1)
    let (state, _) = history(&generator)
    let bytes = try bytes(of: state)
    var sealed = bytes
    let anatomy = try SnapshotAnatomy(bytes)
    anatomy.seal(&sealed)
    #expect(sealed == bytes)
    #expect(try open(sealed).digest == state.digest)
    let pages = anatomy.packedPages
    let again = anatomy.with(try pages.map { ($0, try #require(anatomy.records(of: $0))) })
    #expect(try again != bytes && open(again).digest == state.digest)
  }
}
