import HeartlogFormat
import HeartlogFiles
import TestSupport
import Testing

@testable import HeartlogEngine

@Suite("A batch of commits")
struct CommitBatchTests {
  private static let replica = ReplicaID(high: 1, low: 2)
  private static let segment = SegmentID(words: (3, 4))

  private func commit(_ number: Int, note: String = "") -> Commit {
    Commit(
      replica: Self.replica, number: CommitNumber(rawValue: UInt64(number)),
      firstSequence: SequenceNumber(rawValue: UInt64(number)),
      stamp: HybridTimestamp(milliseconds: Int64(number)), wallTime: Int64(number),
      records: [
        .event(
          Event(
            library: "papers", item: "x", action: .added,
            fields: note.isEmpty ? [] : [Field(name: "note", value: .string(note))]))
      ])
  }

  @Test("frames whose place becomes known later are those that were made in their place")
  func places() throws {
    var frames = CommitFrames()
    var expected: [UInt8] = []
    for number in 1...5 {
      let commit = commit(number, note: String(repeating: "n", count: number * 3))
      var row: [UInt8] = []
      try RowEncoding.append(commit, to: &row)
      Frame.append(
        kind: FrameHeader.Kind.commit, body: Frame.Body(stored: row), firstCommit: commit.number,
        commitCount: 1, durableOffset: 4_096, at: 8_000 + UInt64(expected.count), of: Self.segment,
        to: &expected)
      _ = try frames.append(commit, recordsAreChecked: false)
    }
    frames.place(at: 8_000, of: Self.segment, durableOffset: 4_096)
    #expect(frames.bytes == expected)
  }

  @Test("a short row is stored as it is, a long one compressed where that makes it smaller")
  func compression() throws {
    func isCompressed(_ note: String) throws -> Bool {
      var frames = CommitFrames()
      let count = try frames.append(commit(1, note: note), recordsAreChecked: false)
      frames.place(at: 4_096, of: Self.segment, durableOffset: 4_096)
      #expect(count == frames.bytes.count && count % 8 == 0)
      let header = frames.bytes.withUnsafeBytes { FrameHeader.decode($0, at: 4_096, of: Self.segment) }
      return try #require(header).isCompressed
    }
    #expect(try !isCompressed(String(repeating: "a", count: CommitFrames.compressedBytesMin - 100)))
    #expect(try isCompressed(String(repeating: "a", count: CommitFrames.compressedBytesMin)))
    var generator = SeededGenerator(seed: 1)
    let noise = (0..<600).map { _ in Character(UnicodeScalar(UInt8(33 + generator.next() % 90))) }
    #expect(try !isCompressed(String(noise)))
  }

  @Test("a commit that is refused leaves the batch as it was")
  func refused() throws {
    var queue = CommitBatch()
    try queue.append(.init(commit(1), .durable), batch: 0, recordsAreChecked: false)
    let before = queue.frames.bytes
    let bad = Commit(
      replica: Self.replica, number: CommitNumber(rawValue: 2), firstSequence: SequenceNumber(rawValue: 2),
      stamp: HybridTimestamp(milliseconds: 2), wallTime: 2,
      records: [.event(Event(library: "papers", item: "", action: .added))])
    #expect(throws: MalformedError.self) {
      try queue.append(.init(bad, .durable), batch: 0, recordsAreChecked: false)
    }
    #expect(queue.frames.bytes == before && queue.count == 1 && queue.durableCount == 1)
    try queue.append(.init(commit(2), .durable), batch: 0, recordsAreChecked: false)
    queue.removeLast()
    #expect(queue.frames.bytes == before && queue.count == 1 && queue.durableCount == 1)
  }
}

extension CommitFrames {
  var bytes: [UInt8] { Array(memory[..<byteCount]) }
}
