import HeartlogFormat

/// A small stream with every action, every kind of value, and what a later version may add.
enum SeedCommits {
  static let secret = SegmentSecret(
    firstCommit: CommitNumber(rawValue: 1), kind: .whole(Digest([UInt8](0..<32))))

  static func stream(of replica: ReplicaID) throws -> [Commit] {
    let other = ReplicaID(high: 7, low: 7)
    let fields = [
      Field(name: "authors", value: .json(try CanonicalJSON(canonical: #"["Anna","Bo"]"#))),
      Field(name: "live", value: .bool(true)), Field(name: "note", value: .null, isQuiet: true),
      Field(name: "position", value: .double(0.5), isQuiet: true), Field(name: "size", value: .int64(-7)),
      Field(name: "title", value: .string("Über uns 📚")),
      Field(name: "zone", value: .unknown(tag: 9, bytes: [1, 2])),
    ]
    let member = UnknownMember(tag: 4, bytes: [8])
    let records: [[EventRecord]] = [
      [.event(Event(library: "papers", item: "2101.09077v1", action: .added, fields: fields))],
      [.event(Event(library: "papers", item: "2101.09077v1", action: .removed))],
      [
        .event(
          Event(library: "cities", item: "2267057", action: .toggled(on: true), favoritedDate: 1_000)),
        .event(
          Event(
            library: "cities", item: "2267057", action: .changed, fields: [fields[5]],
            unknownMembers: [member])),
        .withheld(Digest([UInt8](repeating: 5, count: 32))), .unknown(kind: 9, bytes: [1, 2, 3]),
      ],
      [.event(Event(library: "breeds", item: "hound/afghan", action: .toggled(on: false)))],
      [.event(Event(library: "papers", item: "cs/0703001", action: .added, fields: [fields[4], fields[5]]))],
    ]
    var sequence: UInt64 = 1
    return records.enumerated().map { index, records in
      defer { sequence += UInt64(records.count) }
      let time = Milliseconds(1_772_438_400_000 + 60_000 * index)
      return Commit(
        replica: replica, number: CommitNumber(rawValue: UInt64(index + 1)),
        firstSequence: SequenceNumber(rawValue: sequence),
        stamp: HybridTimestamp(rawValue: UInt64(time) << 16 | UInt64(index % 2)), wallTime: time,
        origin: index % 2 == 0 ? "cli" : nil,
        heads: index == 2 ? [Head(replica: other, commit: CommitNumber(rawValue: 3))] : [],
        unknownMembers: index == 3 ? [member] : [], records: records)
    }
  }

  /// Enough commits that columns are worth their encodings: numbers that step, texts with a common shape, times, identifiers.
  static func many(of replica: ReplicaID) -> [Commit] {
    (0..<24).map { index in
      let number = UInt64(index + 1)
      let time = Milliseconds(1_772_438_400_000 + 61_000 * index)
      let fields = [
        Field(name: "date", value: .string("2026-03-\(10 + index % 20)T07:15:0\(index % 10)Z")),
        Field(name: "lat", value: .double(Double(index) * 0.25 + 0.125)),
        Field(name: "name", value: .string(["Faro", "Coimbra", "Lisboa"][index % 3])),
        Field(name: "size", value: .int64(Int64(index * index * 1_000))),
        Field(name: "uuid", value: .string("6f9619ff-8b86-d011-b42d-00c04fc964\(10 + index)")),
      ]
      return Commit(
        replica: replica, number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number),
        stamp: HybridTimestamp(rawValue: UInt64(time) << 16), wallTime: time, origin: "app",
        records: [
          .event(
            Event(
              library: index % 4 == 0 ? "books" : "cities", item: "\(2_267_000 + index % 10)",
              action: index % 5 == 4 ? .removed : .added, fields: index % 5 == 4 ? [] : fields))
        ])
    }
  }
}

extension Commit {
  /// The commit as another one of its stream.
  func numbered(_ number: UInt64) -> Commit {
    Commit(
      replica: replica, number: CommitNumber(rawValue: number), firstSequence: firstSequence, stamp: stamp,
      wallTime: wallTime, origin: origin, heads: heads, unknownMembers: unknownMembers, records: records)
  }
}
