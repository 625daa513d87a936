import HeartlogFiles
import Testing

@testable import HeartlogFormat
@testable import HeartlogEngine

@Suite("The worked examples of docs/format.md")
struct WorkedExampleTests {
  private static let replica = ReplicaID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)
  private static let segment = SegmentID(words: (0xA7A6_A5A4_A3A2_A1A0, 0xAFAE_ADAC_ABAA_A9A8))

  @Test("the file store")
  func store() throws {
    let text = try FormatPage().text("store")
    let identity = try StoreIdentity.decode(text, file: "store")
    #expect(identity.replica == Self.replica && identity.name == "Anna's phone")
    #expect(identity.location.inode == 1_234_567 && identity.location.birthTime == 1_772_438_400_123_456_789)
    #expect(
      identity.location.machine == SHA256Hasher.digest(of: Array("0123456789abcdef0123456789abcdef".utf8)))
    #expect(identity.encoded() == text)
  }

  @Test("a segment header")
  func segmentHeader() throws {
    let page = try FormatPage()
    let header = SegmentHeader(
      kind: .open, id: Self.segment, replica: Self.replica, replicaName: "Anna's phone",
      firstCommit: CommitNumber(rawValue: 7), firstSequence: SequenceNumber(rawValue: 300),
      secret: Digest(Array(0..<32)))
    let encoded = header.encoded()
    let start = try page.bytes("segment-header")
    let checksums = try page.bytes("segment-header-checksums")
    #expect(encoded.count == 4_096 && start.count == 128)
    #expect(Array(encoded[..<128]) == start, "\(hex(encoded[..<128]))")
    #expect(
      Array(encoded[2_040..<2_048] + encoded[4_088...]) == checksums,
      "\(hex(encoded[2_040..<2_048])) \(hex(encoded[4_088...]))")
    // And back, from the page's bytes alone.
    var copy = start + [UInt8](repeating: 0, count: 2_048 - 128)
    copy.put(Array("Anna's phone".utf8), at: 1_824)
    var bytes = copy + copy
    bytes.put(checksums[..<8], at: 2_040)
    bytes.put(checksums[8...], at: 4_088)
    let found = try bytes.withUnsafeBytes { try SegmentHeader.decode($0, file: "example") }
    #expect(found.header == header && found.damagedCopy == nil)
  }

  @Test("a frame")
  func frame() throws {
    let page = try FormatPage()
    let row = try page.bytes("row")
    let commit = try row.withUnsafeBytes {
      try RowEncoding.decode($0, replica: Self.replica, number: CommitNumber(rawValue: 7))
    }
    var frames = CommitFrames()
    let frameBytes = try frames.append(commit, recordsAreChecked: false)
    frames.place(at: 4_096, of: Self.segment, durableOffset: 4_096)
    let bytes = frames.bytes
    #expect(bytes.count == frameBytes)
    let header = try page.bytes("frame-header")
    #expect(Array(bytes[..<40]) == header, "\(hex(bytes[..<40]))")
    #expect(Array(bytes[40..<40 + row.count]) == row && bytes.count % 8 == 0)
    let decoded = header.withUnsafeBytes { FrameHeader.decode($0, at: 4_096, of: Self.segment) }
    #expect(decoded?.frameBytes == UInt64(bytes.count) && decoded?.firstCommit == commit.number)
    #expect(header.withUnsafeBytes { FrameHeader.decode($0, at: 4_104, of: Self.segment) } == nil)
  }

  @Test("the end of a forked stream, and a branch of it")
  func fork() throws {
    let page = try FormatPage()
    let end = StreamEnd(commit: 3)
    let encoded = String(decoding: end.encoded(), as: UTF8.self)
    let text = String(decoding: try page.text("ended"), as: UTF8.self)
    #expect(encoded == text)
    let leaves = try page.bytes("leaf-hashes")
    let branch = StreamBranch(
      of: Self.replica, firstCommit: CommitNumber(rawValue: 3), firstSequence: SequenceNumber(rawValue: 3),
      leaf: Digest(Array(leaves[64...])))
    #expect(branch.replica.bytes == (try page.bytes("branch")))
  }

  private func hex(_ bytes: some Sequence<UInt8>) -> String { Hexadecimal.text(Array(bytes)) }
}
