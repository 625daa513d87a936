import HeartlogFormat
import HeartlogState
import HeartlogEngine
import TestSupport

extension FuzzTarget {
  /// A snapshot with right checksums and any content: it answers something, and stays within the file.
  static let snapshot = FuzzTarget(
    "snapshot", byteCountMax: 8_192, seedsAreReproducible: false,
    seeds: { _ in
      func seed(_ name: String, _ commits: [Commit]) throws -> Seed {
        var state = FavoritesState()
        for commit in commits { state.apply(commit) }
        return Seed(name, WithoutZeros.shortened(try bytes(of: state)))
      }
      let long = try longCommits()
      return [
        try seed("empty", []), try seed("stream", try SeedCommits.stream(of: replica)),
        try seed("many", SeedCommits.many(of: replica)),
        try seed("concurrent", try SeedCommits.stream(of: replica) + long),
      ]
    }
  ) { bytes in
    var reader = ByteReader(bytes)
    guard let file = WithoutZeros.expanded(&reader, byteCountMax: 128 << 10),
      let sealed = SnapshotBytes(sealing: file)
    else { return }
    let mapped = MappedBytes(sealed.bytes)
    guard var (state, log) = try? FavoritesState.snapshot(mapped.bytes, owner: mapped) else { return }
    _ = try? log.withUnsafeBytes { try StreamPosition.decode($0) }
    ask(&state)
    for commit in (try? SeedCommits.stream(of: replica)) ?? [] { state.apply(commit) }
    ask(&state)
    _ = try? Self.bytes(of: state)
  }

  /// Positions in a log, as a snapshot has them.
  static let position = FuzzTarget(
    "position", byteCountMax: 2_048,
    seeds: { _ in
      var seeds = [Seed("none", [0])]
      for commit in [1, 6] as [UInt64] {
        var writer = ByteWriter()
        writer.varint(1)
        writer.replica(replica)
        for number in [commit, 9, 1 << 40, 1_000, 2_000, 3, 5, 1, 4_096, 120, 77] as [UInt64] {
          writer.u64(number)
        }
        for root in 0..<commit.nonzeroBitCount { writer.raw([UInt8](repeating: UInt8(root), count: 32)) }
        writer.varint(1)
        writer.replica(ReplicaID(high: 7, low: 7))
        writer.varint(3)
        seeds.append(Seed("commit-\(commit)", writer.bytes))
      }
      return seeds
    }
  ) { bytes in
    guard let positions = try? StreamPosition.decode(bytes) else { return }
    try state(StreamPosition.encode(positions).elementsEqual(bytes), "positions have two forms")
  }

  /// Another stream with writes that conflict, and texts that fit into no record.
  private static func longCommits() throws -> [Commit] {
    let other = ReplicaID(high: 7, low: 8)
    return (0..<6).map { index in
      let time = Milliseconds(1_772_438_400_500 + 60_000 * index)
      return Commit(
        replica: other, number: CommitNumber(rawValue: UInt64(index + 1)),
        firstSequence: SequenceNumber(rawValue: UInt64(index + 1)),
        stamp: HybridTimestamp(rawValue: UInt64(time) << 16), wallTime: time,
        records: [
          .event(
            Event(
              library: "papers",
              item: index < 3 ? "2101.09077v1" : "a long id, longer than a key is wide: \(index)",
              action: index % 2 == 0 ? .added : .removed,
              fields: index % 2 == 1
                ? []
                : [Field(name: "title", value: .string("a title that is longer than a record: \(index)"))]))
        ])
    }
  }

  private static func bytes(of state: FavoritesState) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try state.writeSnapshot(log: StreamPosition.encode([])) { bytes.append(contentsOf: $0) }
    return bytes
  }

  /// Asks everything.
  private static func ask(_ state: inout FavoritesState) {
    _ = state.digest
    _ = state.heads
    _ = state.eventsWithoutContent
    _ = state.conflicts
    for library in state.libraries.prefix(4) {
      _ = state.counts(of: library)
      for order in ListOrder.allCases {
        for limit in [nil, 3] { _ = state.favorites(in: library, order: order, limit: limit) }
      }
      let ids = state.items(in: library).prefix(20).map(\.id) + ["2101.09077v1", "2267001"]
      for id in ids {
        for field in state.item(id, in: library)?.fields ?? [] { _ = field.value }
        _ = FavoritesState.item(id, in: LibraryKey(library), of: &state)
        _ = FavoritesState.isFavorite(id, in: LibraryKey(library), of: &state)
        _ = state.membershipPosition(of: id, in: library)
        _ = state.position(ofField: "title", of: id, in: library)
      }
      state.forEachItem(state.favoriteIDs(in: library), in: library, fields: ["title", "size"]) { _, _, _ in }
      _ = state.ids(in: library, startingWith: "2", limit: 5)
      _ = state.fieldNames(in: library, startingWith: "t")
    }
  }
}
