import Testing

@testable import HeartlogFormat

@Suite("Limits and rules")
struct LimitTests {
  private func commit(
    number: UInt64 = 1, sequence: UInt64 = 1, stamp: HybridTimestamp = HybridTimestamp(milliseconds: 1_000),
    wallTime: Milliseconds = 1_000, origin: String? = nil, heads: [Head] = [], members: [UnknownMember] = [],
    _ records: [EventRecord]? = nil
  ) -> Commit {
    Commit(
      replica: CommitGenerator.replica, number: CommitNumber(rawValue: number),
      firstSequence: SequenceNumber(rawValue: sequence), stamp: stamp, wallTime: wallTime, origin: origin,
      heads: heads, unknownMembers: members, records: records ?? [.event(event())])
  }

  private func event(
    library: String = "papers", item: String = "1", action: Action = .added, date: Milliseconds? = nil,
    fields: [Field] = [], members: [UnknownMember] = []
  ) -> Event {
    Event(
      library: library, item: item, action: action, favoritedDate: date, fields: fields,
      unknownMembers: members)
  }

  private func commit(value: FieldValue) -> Commit {
    commit([.event(event(fields: [Field(name: "f", value: value)]))])
  }

  private func expectSound(_ commit: Commit, _ comment: Comment, location: SourceLocation = #_sourceLocation)
  {
    #expect(throws: Never.self, comment, sourceLocation: location) {
      let decoded = try Commit.decoded(row: try commit.row(), number: commit.number)
      #expect(try decoded.row() == commit.row())
    }
  }

  private func expectRefused(
    _ commit: Commit, _ comment: Comment, location: SourceLocation = #_sourceLocation
  ) {
    #expect(throws: MalformedError.self, comment, sourceLocation: location) { _ = try commit.row() }
  }

  @Test("names up to their limits are taken, and no others")
  func names() {
    expectSound(commit([.event(event(library: String(repeating: "a", count: 64)))]), "64")
    for library in [String(repeating: "a", count: 65), "", "a/b", "A", "é", "a b", "a\u{0}"] {
      expectRefused(commit([.event(event(library: library))]), "\(library)")
    }
    expectSound(commit([.event(event(item: String(repeating: "a", count: 4_096)))]), "4096")
    expectSound(commit([.event(event(item: "a/b \u{A0}é\u{2028}"))]), "no control characters")
    for item in [String(repeating: "a", count: 4_097), "", "\u{1F}", "\u{7F}", "\u{80}", "a\u{9F}", "\n"] {
      expectRefused(commit([.event(event(item: item))]), "\(item)")
    }
    expectSound(
      commit([.event(event(fields: [Field(name: String(repeating: "n", count: 256), value: .null)]))]), "256")
    for name in [String(repeating: "n", count: 257), "", "\u{85}"] {
      expectRefused(commit([.event(event(fields: [Field(name: name, value: .null)]))]), "\(name)")
    }
    expectSound(commit(origin: String(repeating: "o", count: 256)), "256")
    expectRefused(commit(origin: String(repeating: "o", count: 257)), "257")
    expectRefused(commit(origin: ""), "empty")
  }

  @Test("a control character is found wherever it stands")
  func controlCharacters() {
    for scalar in (0...0x1F).map({ UInt8($0) }) + Array(0x7F...0x9F) {
      let character = String(Unicode.Scalar(scalar))
      for length in 0...17 {
        let before = String(repeating: "x", count: length)
        #expect(throws: MalformedError.self) { try NameRules.checkItem(before + character + "~ yyyyyyyyy") }
      }
    }
    for scalar in [0x20, 0x7E, 0xA0, 0xBF, 0xFF, 0x2028] as [UInt32] {
      for length in 0...17 {
        let name = String(repeating: "x", count: length) + String(Unicode.Scalar(scalar)!) + "~ yyyyyyyyy"
        #expect(throws: Never.self) { try NameRules.checkItem(name) }
      }
    }
  }

  @Test("a sentence says what is wrong with a name")
  func sentences() {
    #expect {
      try NameRules.checkItem("")
    } throws: { "\($0)" == "an item id that is empty" }
    #expect {
      try NameRules.checkLibrary(String(repeating: "a", count: 70))
    } throws: { "\($0)" == "a library name of 70 bytes, the most is 64" }
  }

  @Test("values up to their limits are taken, and no others")
  func values() {
    let mebibyte = String(repeating: "x", count: 1 << 20)
    expectSound(commit(value: .string(mebibyte)), "1 MiB")
    expectRefused(commit(value: .string(mebibyte + "x")), "1 MiB and a byte")
    for value in [Double.nan, .infinity, -.infinity, 0, -0.0, 1, -9_223_372_036_854_775_808] {
      expectRefused(commit(value: .double(value)), "\(value)")
    }
    for value in [0.5, 9_223_372_036_854_775_808, -1e300, .leastNonzeroMagnitude] {
      expectSound(commit(value: .double(value)), "\(value)")
    }
    for tag in [7, 63] as [UInt8] { expectSound(commit(value: .unknown(tag: tag, bytes: [1])), "\(tag)") }
    for tag in [0, 6, 64, 128] as [UInt8] {
      expectRefused(commit(value: .unknown(tag: tag, bytes: [1])), "\(tag)")
    }
  }

  @Test("fields and members are sorted and stand once")
  func order() {
    func fields(_ names: [String]) -> Commit {
      commit([.event(event(fields: names.map { Field(name: $0, value: .null) }))])
    }
    // By bytes, é (C3 A9) comes after z, and e with an accent of its own before f.
    expectSound(fields(["e\u{301}", "f", "z", "é"]), "by bytes")
    expectRefused(fields(["b", "a"]), "not sorted")
    expectRefused(fields(["a", "a"]), "twice")
    expectRefused(fields(["é", "z"]), "sorted as letters")
    func members(_ tags: [UInt64]) -> [UnknownMember] { tags.map { UnknownMember(tag: $0, bytes: []) } }
    expectSound(commit(members: members([0, 1, .max])), "sorted")
    expectRefused(commit(members: members([1, 1])), "twice")
    expectRefused(commit([.event(event(members: members([2, 1])))]), "not sorted")
  }

  @Test("heads are sorted, of others, and at most 4,096")
  func heads() {
    func heads(_ range: Range<UInt64>) -> [Head] {
      range.map { Head(replica: ReplicaID(high: 1, low: $0), commit: CommitNumber(rawValue: 1)) }
    }
    expectSound(commit(heads: heads(0..<4_096)), "4096")
    expectRefused(commit(heads: heads(0..<4_097)), "4097")
    expectRefused(commit(heads: heads(0..<2).reversed()), "not sorted")
    expectRefused(commit(heads: heads(0..<1) + heads(0..<1)), "twice")
    let one = CommitNumber(rawValue: 1)
    expectRefused(commit(heads: [Head(replica: CommitGenerator.replica, commit: one)]), "own")
    let other = ReplicaID(high: 1, low: 1)
    expectRefused(commit(heads: [Head(replica: other, commit: CommitNumber(rawValue: 0))]), "commit 0")
  }

  @Test("numbers lie between 1 and 2^53 − 1")
  func numbers() {
    let most = Limits.numberMax
    expectSound(commit(number: most, sequence: most), "the last")
    expectRefused(commit(number: 0), "commit 0")
    expectRefused(commit(number: most + 1), "past the last commit")
    expectRefused(commit(number: .max), "far past the last commit")
    expectRefused(commit(sequence: 0), "sequence 0")
    expectRefused(commit(sequence: .max), "far past the last event")
    expectRefused(
      commit(sequence: most, [.event(event()), .event(event())]), "the second event past the last")
  }

  @Test("times lie within their years")
  func times() {
    let most = Limits.timeMillisecondsMax
    expectSound(commit(stamp: .last, wallTime: most), "the last")
    expectRefused(commit(stamp: HybridTimestamp(rawValue: HybridTimestamp.last.rawValue + 1)), "year 3000")
    expectRefused(commit(stamp: HybridTimestamp(rawValue: .max)), "far away")
    for wallTime in [-1, most + 1, .min, .max] { expectRefused(commit(wallTime: wallTime), "\(wallTime)") }
    for date in [Limits.dateMillisecondsMin, -1, 0, 999, Limits.dateMillisecondsMax] {
      expectSound(commit([.event(event(date: date))]), "\(date)")
      expectSound(commit([.event(event(action: .toggled(on: true), date: date))]), "\(date)")
    }
    // 1,000 is the wall time itself.
    for date in [Limits.dateMillisecondsMin - 1, 1_000, Limits.dateMillisecondsMax + 1, .min, .max] {
      expectRefused(commit([.event(event(date: date))]), "\(date)")
    }
    for action in [Action.removed, .toggled(on: false)] {
      expectRefused(commit([.event(event(action: action, date: 5))]), "\(action)")
    }
    expectRefused(
      commit([.event(event(action: .changed, date: 5, fields: [Field(name: "f", value: .null)]))]), "")
  }

  @Test("a change has fields or members")
  func changes() {
    expectRefused(commit([.event(event(action: .changed))]), "neither")
    expectSound(commit([.event(event(action: .changed, fields: [Field(name: "f", value: .null)]))]), "fields")
    expectSound(
      commit([.event(event(action: .changed, members: [UnknownMember(tag: 1, bytes: [])]))]), "members")
    expectRefused(commit([.unknown(kind: 7, bytes: [])]), "a kind of this version")
    expectSound(commit([.unknown(kind: .max, bytes: [])]), "a kind of a later one")
  }

  @Test("a commit has 1 to 50,000 events and at most 16 MiB")
  func size() throws {
    expectRefused(commit([]), "none")
    let most = Array(repeating: EventRecord.event(event()), count: 50_000)
    expectSound(commit(most), "50,000")
    expectRefused(commit(most + [.event(event())]), "50,001")
    let block = Block(
      replica: CommitGenerator.replica, firstCommit: CommitNumber(rawValue: 1),
      secrets: [
        SegmentSecret(firstCommit: CommitNumber(rawValue: 1), kind: .whole(SHA256Hasher.digest(of: [])))
      ],
      commits: [commit(most)])
    #expect(try Block.decoded(BlockEncoding.encode(block), like: block) == block)

    let large = String(repeating: "x", count: 1 << 20)
    func records(_ lastCount: Int) -> [EventRecord] {
      (0..<15).map { _ in .event(event(fields: [Field(name: "f", value: .string(large))])) }
        + [.event(event(fields: [Field(name: "f", value: .string(String(large.prefix(lastCount))))]))]
    }
    let rest = Limits.commitBytesMax - RowEncoding.byteCount(of: commit(records(1 << 19))) + 1 << 19
    expectSound(commit(records(rest)), "16 MiB")
    expectRefused(commit(records(rest + 1)), "16 MiB and a byte")
  }

  @Test("a block's commits follow each other")
  func following() throws {
    var generator = CommitGenerator(seed: 5)
    let commits = generator.commits(4)
    func encode(_ commits: [Commit], first: CommitNumber? = nil) throws -> [UInt8] {
      try BlockEncoding.encode(
        Block(
          replica: CommitGenerator.replica,
          firstCommit: first ?? commits.first?.number ?? CommitNumber(rawValue: 1),
          secrets: [SegmentSecret(firstCommit: CommitNumber(rawValue: 1), kind: .whole(generator.digest()))],
          commits: commits))
    }
    #expect(throws: Never.self) { try encode(commits) }
    #expect(throws: MalformedError.self) { try encode([]) }
    #expect(throws: MalformedError.self) { try encode([commits[0], commits[2]]) }
    #expect(throws: MalformedError.self) { try encode(commits, first: commits[1].number) }
    let late = Commit(
      replica: CommitGenerator.replica, number: commits[1].number, firstSequence: commits[1].firstSequence,
      stamp: commits[0].stamp, wallTime: 5, records: commits[1].records)
    #expect(throws: MalformedError.self) { try encode([commits[0], late]) }
  }
}
