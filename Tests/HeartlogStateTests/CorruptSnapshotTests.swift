import HeartlogEvents
import Testing

@testable import HeartlogState

/// Snapshots whose checksums are right and whose content is not: somebody wrote them so. What they answer means nothing, and they must
/// not bring the reader down.
@Suite("Snapshots that lie")
struct CorruptSnapshotTests {
  private static let seedCount: UInt64 = 250

  /// What was true when the snapshot was written, and what comes after it.
  private func history(_ generator: inout SeededGenerator) -> (state: FavoritesState, later: [Commit]) {
    let commits = History(seed: generator.next(), commitCount: 120).commits
    let cut = Int.random(in: 1..<commits.count, using: &generator)
    var state = FavoritesState()
    for commit in commits[..<cut] { state.apply(commit) }
    // Keys and texts that do not fit into a record, and more items than a page has.
    var writer = StreamWriter(generator.next())
    for index in 0..<Int.random(in: 0...70, using: &generator) {
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

  /// Changes some bytes, and makes the checksums right again.
  private func corrupt(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) throws {
    let anatomy = try SnapshotAnatomy(bytes)
    var ranges = anatomy.pages + anatomy.textPages
    // What records say is looked at most closely, and the directory now and then.
    if ranges.isEmpty || generator.isTrue(oneIn: 6) { ranges = [anatomy.directory] }
    for _ in 0..<[1, 2, 10, 60, 400].randomElement(using: &generator)! {
      guard let range = ranges.randomElement(using: &generator) else { continue }
      let width = [1, 4, 4, 8].randomElement(using: &generator)!
      let place = range.lowerBound + Int.random(in: 0..<range.count, using: &generator) / width * width
      let words: [UInt64] = [
        0, 1, 2, .max, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 1 << 63, 1 << 63 | 1, (1 << 63) - 1,
        .random(in: 0...300, using: &generator), generator.next(),
      ]
      let word = words.randomElement(using: &generator)!
      for index in 0..<width where place + index < range.upperBound {
        bytes[place + index] = UInt8(truncatingIfNeeded: word >> UInt64(8 * index))
      }
    }
    anatomy.seal(&bytes)
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
      state.forEachFavorite(in: library, fields: History.fieldNames, visit: { _ in true }) { _, _ in }
    }
  }

  /// Writes to it: what comes from devices, one by one and as a block, and what is done here.
  private func write(
    _ later: [Commit], to state: inout FavoritesState, _ generator: inout SeededGenerator
  ) throws {
    for commit in later { state.apply(commit) }
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
    let block = try encoded.withUnsafeBytes {
      try BlockEncoding.decodeColumns(
        $0, replica: writer.replica, firstCommit: CommitNumber(rawValue: 1), commitCount: run.count)
    }
    _ = state.countingChanges { $0.apply(block) }
    for item in History.items {
      for operation in [
        Operation.add(fields: [], favoritedDate: nil), .remove, .toggle(fields: [], favoritedDate: nil),
        .set(fields: [Field(name: "title", value: .int64(1))]),
      ] {
        _ = state.plan(
          operation, on: item, in: "papers", under: WriteOverlay(), and: WriteOverlay(), wallTime: 1)
      }
    }
  }

  @Test("wrong answers, and no crash", arguments: 1...Self.seedCount)
  func generated(seed: UInt64) throws {
    print("lying snapshot: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let (whole, later) = history(&generator)
    var bytes = try bytes(of: whole)
    try corrupt(&bytes, &generator)
    let opened: FavoritesState
    do { opened = try open(bytes) } catch { return }
    ask(opened)
    var state = opened
    try write(later, to: &state, &generator)
    ask(state)
    state.loadSnapshot()
    // A state that makes no sense may be refused, and is written or not at all; what was written may be refused.
    guard let again = try? self.bytes(of: state) else { return }
    guard var reopened = try? open(again) else { return }
    ask(reopened)
    try write(later, to: &reopened, &generator)
    ask(opened)
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
  }
}
