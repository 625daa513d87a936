import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("The header of a segment, and the frames behind it")
struct SegmentHeaderTests {
  private func sealed(from first: UInt64, commits: UInt64) -> SegmentHeader {
    SegmentHeader(
      kind: .sealed, id: SegmentID(words: (1, 2)), replica: ReplicaID(high: 3, low: 4), replicaName: "Test",
      firstCommit: CommitNumber(rawValue: first), firstSequence: SequenceNumber(rawValue: first),
      totals: SegmentHeader.Totals(commits: commits, events: commits, fileBytes: 8_192),
      secret: SegmentHeader.noSecret, treeSize: first - 1,
      frontier: Array(repeating: SegmentHeader.noSecret, count: (first - 1).nonzeroBitCount))
  }

  private func decoded(_ header: SegmentHeader) throws -> SegmentHeader {
    try header.encoded().withUnsafeBytes { try SegmentHeader.decode($0, file: "segment").header }
  }

  @Test("a sealed segment ends at the last number at most")
  func lastNumber() throws {
    for count in 1...3 as ClosedRange<UInt64> {
      let first = Limits.numberMax - count + 1
      let whole = sealed(from: first, commits: count)
      #expect(try decoded(whole) == whole && whole.lastCommit?.rawValue == Limits.numberMax)
      let longer = sealed(from: first, commits: count + 1)
      #expect(storageFailure { _ = try decoded(longer) }?.code == .corrupt, "\(count)")
    }
  }

  @Test("the body of the frame that was passed last is there as long as the window has it")
  func passedBody() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    for index in 0..<2 { try open.write(index) }
    let path = "\(store.path)/replicas/\(open.replica)/0000000000000001.open"
    let bytes = try files.contents(of: path)
    let file = try files.open(path, .read)
    let header = try StoreDirectory(fileSystem: files, path: store.path).header(of: file, path: path).header
    let cursor = SegmentCursor(file: file, path: path, header: header)
    #expect(cursor.passedBody == nil)
    for _ in 0..<2 {
      guard case .frame(let frame) = try cursor.look() else {
        Issue.record("a commit is missing")
        return
      }
      let start = Int(cursor.offset) + FrameHeader.byteCount
      cursor.pass(frame)
      #expect(cursor.passedBody == Array(bytes[start..<start + Int(frame.bodyBytes)]))
    }
    cursor.forget()
    #expect(cursor.passedBody == nil)
  }
}
