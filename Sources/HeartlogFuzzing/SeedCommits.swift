import HeartlogEvents

/// A small stream with every action, every kind of value, and what a later version may add.
enum SeedCommits {
  static func stream(of replica: ReplicaID) throws -> [Commit] {
    let other = ReplicaID(high: 7, low: 7)
    let fields = [
      Field(name: "authors", value: .json(try CanonicalJSON(canonical: #"["Anna","Bo"]"#))),
      Field(name: "live", value: .bool(true)), Field(name: "note", value: .null, isQuiet: true),
      Field(name: "position", value: .double(0.5), isQuiet: true), Field(name: "size", value: .int64(-7)),
      Field(name: "title", value: .string("Über uns 📚")),
      Field(name: "zone", value: .unknown(tag: 9, bytes: [1, 2])),
    ]
    let records: [[EventRecord]] = [
      [.event(Event(library: "papers", item: "2101.09077v1", action: .added, fields: fields))],
      [.event(Event(library: "papers", item: "2101.09077v1", action: .removed))],
      [
        .event(
          Event(library: "cities", item: "2267057", action: .toggled(on: true), favoritedDate: 1_000)),
        .event(Event(library: "cities", item: "2267057", action: .changed, fields: [fields[5]])),
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
        unknownMembers: index == 3 ? [UnknownMember(tag: 4, bytes: [8])] : [], records: records)
    }
  }
}
