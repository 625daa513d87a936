import TestSupport

@testable import HeartlogFormat

/// Makes streams of commits that use every part of the format.
struct CommitGenerator {
  static let replica = ReplicaID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)

  private let longNames: Bool
  private var random: SeededGenerator
  private var number: UInt64 = 1
  private var sequence: UInt64 = 1
  private var stamp: UInt64

  /// - Parameter longNames: false for streams whose every byte is to be tried.
  init(seed: UInt64, longNames: Bool = true) {
    self.longNames = longNames
    random = SeededGenerator(seed: seed)
    number = [1, 255, 1_000_000, Limits.numberMax - 1_000].randomElement(using: &random)!
    sequence = [1, 77, Limits.numberMax - 100_000].randomElement(using: &random)!
    stamp = UInt64.random(in: 0...1_800_000_000_000, using: &random) << 16
  }

  mutating func commits(_ count: Int, eventsMax: Int = 5) -> [Commit] {
    (0..<count).map { _ in commit(eventsMax: eventsMax) }
  }

  mutating func block(_ count: Int, eventsMax: Int = 5) -> Block {
    let commits = commits(count, eventsMax: eventsMax)
    var secrets = [
      secret(firstCommit: commits[0].number.rawValue - random.next() % min(600, commits[0].number.rawValue))
    ]
    if count > 2, random.chance(50) {
      secrets.append(secret(firstCommit: commits[count / 2].number.rawValue))
    }
    return Block(
      replica: Self.replica, firstCommit: commits[0].number,
      headsAtStart: random.chance(50) ? heads() : [], secrets: secrets, commits: commits)
  }

  private mutating func secret(firstCommit: UInt64) -> SegmentSecret {
    SegmentSecret(firstCommit: CommitNumber(rawValue: firstCommit), kind: .whole(digest()))
  }

  mutating func commit(eventsMax: Int = 5) -> Commit {
    switch random.next() % 4 {
    case 0: stamp += 1
    case 1: stamp += random.next() % 100_000
    default: stamp += (1 + random.next() % 1_000_000) << 16 + random.next() % 3
    }
    stamp += 1
    let stamp = HybridTimestamp(rawValue: stamp)
    let wallTime =
      random.chance(80)
      ? stamp.milliseconds
      : [0, Limits.timeMillisecondsMax, stamp.milliseconds &- 5].map { max(0, $0) }.randomElement(
        using: &random)!
    let count = Int.random(in: 1...eventsMax, using: &random)
    let commit = Commit(
      replica: Self.replica, number: CommitNumber(rawValue: number),
      firstSequence: SequenceNumber(rawValue: sequence), stamp: stamp, wallTime: wallTime,
      origin: random.chance(30)
        ? ["cli", "import:bibtex", "é app", String(repeating: "o", count: longNames ? 256 : 9)]
          .randomElement(using: &random) : nil,
      heads: random.chance(20) ? heads() : [], unknownMembers: random.chance(10) ? members() : [],
      records: (0..<count).map { _ in record(wallTime: wallTime) })
    number += 1
    sequence += UInt64(count)
    return commit
  }

  private mutating func heads() -> [Head] {
    var replicas: Set<ReplicaID> = []
    for _ in 0..<Int.random(in: 1...4, using: &random) { replicas.insert(.random(using: &random)) }
    return replicas.sorted().map {
      Head(replica: $0, commit: CommitNumber(rawValue: 1 + random.next() % Limits.numberMax))
    }
  }

  private mutating func members() -> [UnknownMember] {
    var tags: Set<UInt64> = [random.next()]
    for _ in 0..<Int.random(in: 0...2, using: &random) { tags.insert(random.next() % 300) }
    return tags.sorted().map { UnknownMember(tag: $0, bytes: bytes(atMost: 5)) }
  }

  private mutating func bytes(atMost most: Int) -> [UInt8] {
    (0..<Int.random(in: 0...most, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  mutating func digest() -> Digest { Digest((0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) }) }

  private mutating func record(wallTime: Milliseconds) -> EventRecord {
    switch random.next() % 20 {
    case 0: return .withheld(digest())
    case 1: return .unknown(kind: 8 + random.next() % 1_000, bytes: bytes(atMost: 9))
    default: return .event(event(wallTime: wallTime))
    }
  }

  private mutating func event(wallTime: Milliseconds) -> Event {
    let action: Action = [
      .added, .removed, .toggled(on: true), .toggled(on: false), .changed,
    ].randomElement(using: &random)!
    let library = ["papers", "books", "a", "x-y_z.0", String(repeating: "l", count: longNames ? 64 : 8)]
      .randomElement(using: &random)!
    let item: String =
      switch random.next() % 6 {
      case 0: "2403.\(random.next() % 30)v1"
      case 1: "e\u{301}"
      case 2: "é"
      case 3: String(repeating: "i", count: longNames ? 4_096 : 20)
      case 4: "hound/afghan"
      default: "𝕏\(random.next() % 100)"
      }
    var date: Milliseconds?
    if action.isFavorite == true, random.chance(40) {
      date = [Limits.dateMillisecondsMin, Limits.dateMillisecondsMax, -1, 0, wallTime &+ 1].randomElement(
        using: &random)
      if date == wallTime { date = nil }
    }
    let fields = action == .changed || random.chance(50) ? fields() : []
    return Event(
      library: library, item: item, action: action, favoritedDate: date, fields: fields,
      unknownMembers: random.chance(10) ? members() : [])
  }

  private mutating func fields() -> [Field] {
    let names = ["@note", "title", "e\u{301}", "é", "currentPosition", "z"]
    var chosen = names.filter { _ in random.chance(40) }
    if chosen.isEmpty { chosen = ["title"] }
    chosen.sort { $0.bytesPrecede($1) }
    return chosen.map { Field(name: $0, value: value(), isQuiet: random.chance(20)) }
  }

  private mutating func value() -> FieldValue {
    switch random.next() % 12 {
    case 0: .null
    case 1: .bool(random.chance(50))
    case 2: .int64([0, -1, .min, .max, Int64(random.next() % 100)].randomElement(using: &random)!)
    case 3: .double([0.1, -0.25, 1e300, -.leastNonzeroMagnitude, 0.123456].randomElement(using: &random)!)
    case 4, 5: .string(["", "a title", "\u{0}\n", "2024-02-29T12:00:00Z"].randomElement(using: &random)!)
    case 6: .string("tag \(random.next() % 3)")
    case 7: json()
    case 8: .unknown(tag: 7 + UInt8(random.next() % 57), bytes: bytes(atMost: 20))
    default: .string(String(random.next() % 1_000))
    }
  }

  private mutating func json() -> FieldValue {
    let text = ["{}", "[]", #"{"a":[1,2,{"b":null}]}"#, #"["é"]"#].randomElement(using: &random)!
    return (try? CanonicalJSON(canonical: text)).map { .json($0) } ?? .null
  }
}

extension Commit {
  /// The first commits of a stream with one event each, minutes apart: papers that are added and toggled, and positions in books.
  static func taps(_ count: UInt64) -> [Commit] {
    (1...count).map { number in
      let wallTime = 1_700_000_000_000 + Milliseconds(number) * 90_001
      let event =
        number % 5 == 0
        ? Event(
          library: "books", item: "b\(number % 3)", action: .changed,
          fields: [Field(name: "currentPosition", value: .int64(Int64(number)), isQuiet: true)])
        : number < 90
          ? Event(
            library: "papers", item: "p\(number)", action: .added,
            fields: [Field(name: "title", value: .string("Paper \(number)"))])
          : Event(library: "papers", item: "p\(number % 90)", action: .toggled(on: number / 90 % 2 == 0))
      return Commit(
        replica: CommitGenerator.replica, number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number),
        stamp: HybridTimestamp(rawValue: UInt64(wallTime) << 16), wallTime: wallTime, origin: "app",
        records: [.event(event)])
    }
  }
}
