import TestSupport
import Testing

@testable import HeartlogFormat

@Suite("Row encoding")
struct RowEncodingTests {
  @Test("what was encoded decodes to the same commit and encodes to the same bytes", arguments: 0..<200)
  func roundTrip(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed))
    for commit in generator.commits(10, eventsMax: 8) {
      let row = try commit.row()
      #expect(row.count == RowEncoding.byteCount(of: commit))
      let decoded = try Commit.decoded(row: row, number: commit.number)
      #expect(decoded == commit)
      #expect(try decoded.row() == row)
    }
  }

  @Test("a block with a wall time that no row can hold is refused")
  func extremeWallTime() {
    let commit = Commit(
      replica: ReplicaID(high: 1, low: 2), number: CommitNumber(rawValue: 1),
      firstSequence: SequenceNumber(rawValue: 1), stamp: HybridTimestamp(milliseconds: 1), wallTime: .min,
      records: [.event(Event(library: "papers", item: "a", action: .added))])
    let block = Block(
      replica: commit.replica, firstCommit: commit.number, headsAtStart: [],
      secrets: [
        SegmentSecret(firstCommit: commit.number, kind: .whole(Digest([UInt8](repeating: 1, count: 32))))
      ],
      commits: [commit])
    #expect(throws: MalformedError.self) { try BlockEncoding.encode(block) }
  }

  @Test("appending leaves the bytes before alone")
  func appending() throws {
    var generator = CommitGenerator(seed: 1)
    let commit = generator.commit()
    var bytes: [UInt8] = [1, 2, 3]
    try RowEncoding.append(commit, to: &bytes)
    #expect(bytes == [1, 2, 3] + (try commit.row()))
  }

  @Test(
    "every cut and every change of a byte is refused or decodes to exactly these bytes", arguments: 0..<12)
  func mutations(seed: Int) throws {
    var generator = CommitGenerator(seed: UInt64(seed), longNames: false)
    let commit = generator.commits(8, eventsMax: 2).min { a, b in
      RowEncoding.byteCount(of: a) < RowEncoding.byteCount(of: b)
    }!
    let row = try commit.row()
    let taken = row.indices.filter {
      (try? Commit.decoded(row: Array(row[..<$0]), number: commit.number)) != nil
    }
    #expect(taken.isEmpty)
    for place in row.indices.prefix(250) {
      for value in 0...UInt8.max where value != row[place] {
        var changed = row
        changed[place] = value
        guard let decoded = try? Commit.decoded(row: changed, number: commit.number) else { continue }
        if try decoded.row() != changed { Issue.record("byte \(place) as \(value)") }
      }
    }
  }

  @Test("garbage never decodes to what is not its own encoding", arguments: 0..<20)
  func garbage(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<500 {
      var bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
        // Small numbers come further into the decoder than large ones.
        UInt8(truncatingIfNeeded: random.next()) >> (random.next() % 8)
      }
      if bytes.count > 8 { bytes.replaceSubrange(5..<9, with: [0, 0, 0, 0]) }
      guard let commit = try? Commit.decoded(row: bytes, number: CommitNumber(rawValue: 1)) else { continue }
      if try commit.row() != bytes { Issue.record("\(bytes)") }
    }
  }

  @Test("a byte after the last event is refused")
  func trailing() throws {
    var generator = CommitGenerator(seed: 3)
    let commit = generator.commit()
    #expect(throws: MalformedError.self) {
      try Commit.decoded(row: try commit.row() + [0], number: commit.number)
    }
  }
}
