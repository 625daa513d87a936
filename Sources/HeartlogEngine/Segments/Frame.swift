import HeartlogFormat

/// The 40-byte header of a frame.
struct FrameHeader: Equatable, Sendable {
  enum Kind {
    static let commit: UInt8 = 1
    static let block: UInt8 = 2
  }

  var kind: UInt8
  /// As stored in the file. Flags of kinds from later versions are kept.
  var flags: UInt8
  var bodyBytes: UInt32
  var firstCommit: CommitNumber
  var commitCount: UInt32
  /// Everything before this file offset was known to be durable when the frame was written.
  var durableOffset: UInt32
  var bodyChecksum: UInt64

  static let byteCount = 40
  static let alignment = 8

  /// The maximum size of a body: 64 MiB of columns and the block header before them.
  static let bodyBytesMax: UInt32 = 80 << 20

  /// The size of header, body and padding.
  var frameBytes: UInt64 { UInt64(Self.frameBytes(body: Int(bodyBytes))) }

  static func frameBytes(body: Int) -> Int { (byteCount + body + alignment - 1) / alignment * alignment }

  /// Decodes the header at `offset` of a segment.
  ///
  /// - Returns: nil if the checksum does not match or a field is invalid, so that no frame starts here.
  static func decode(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, of segment: SegmentID)
    -> FrameHeader?
  {
    assert(offset % UInt64(alignment) == 0, "frames are at multiples of 8")
    guard bytes.count >= byteCount, bytes[0] != 0 else { return nil }
    let checksum = bytes.littleEndian(32, as: UInt64.self)
    guard checksum == XXH3.hash(bytes.part(0, 32), seed: segment.seedBase &+ offset) else { return nil }
    let header = FrameHeader(
      kind: bytes[0], flags: bytes[1], bodyBytes: bytes.littleEndian(4, as: UInt32.self),
      firstCommit: CommitNumber(rawValue: bytes.littleEndian(8, as: UInt64.self)),
      commitCount: bytes.littleEndian(16, as: UInt32.self),
      durableOffset: bytes.littleEndian(20, as: UInt32.self),
      bodyChecksum: bytes.littleEndian(24, as: UInt64.self))
    guard header.areFlagsSound, bytes[2] == 0, bytes[3] == 0, header.bodyBytes <= bodyBytesMax,
      header.firstCommit.rawValue >= 1, header.firstCommit.rawValue <= Limits.numberMax,
      header.isCommitCountSound
    else { return nil }
    return header
  }

  var isCompressed: Bool { flags & Flag.compressed != 0 }

  enum Flag {
    static let compressed: UInt8 = 1
  }

  private var areFlagsSound: Bool {
    switch kind {
    case Kind.commit, Kind.block: flags <= Flag.compressed
    default: true
    }
  }

  private var isCommitCountSound: Bool {
    switch kind {
    case Kind.commit: commitCount == 1
    case Kind.block: commitCount >= 1 && commitCount <= Limits.commitEventsMax
    default: commitCount == 0
    }
  }
}

/// Builds frames in a buffer.
enum Frame {
  /// Appends a frame whose first byte will be at `offset` of `segment`.
  static func append(
    kind: UInt8, body: Body, firstCommit: CommitNumber, commitCount: UInt32, durableOffset: UInt32,
    at offset: UInt64, of segment: SegmentID, to buffer: inout [UInt8]
  ) {
    let start = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: FrameHeader.byteCount))
    buffer.append(contentsOf: body.bytes)
    let frameBytes = FrameHeader.frameBytes(body: body.bytes.count)
    buffer.append(contentsOf: repeatElement(0, count: start + frameBytes - buffer.count))
    assert((buffer.count - start) % FrameHeader.alignment == 0, "a frame is padded to a multiple of 8 bytes")
    buffer.withUnsafeMutableBytes { bytes in
      // The buffer was just extended to the end of the frame.
      let frame = UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
      begin(
        frame, kind: kind, flags: body.flags, bodyBytes: body.bytes.count,
        firstCommit: firstCommit, commitCount: commitCount)
      _ = end(frame, durableOffset: durableOffset, at: offset, of: segment)
    }
  }

  /// Fills in the fields that do not depend on the frame's offset. `frame` starts with 40 bytes for the header,
  /// followed by the body.
  static func begin(
    _ frame: UnsafeMutableRawBufferPointer, kind: UInt8, flags: UInt8, bodyBytes: Int,
    firstCommit: CommitNumber, commitCount: UInt32
  ) {
    precondition(
      bodyBytes <= Int(FrameHeader.bodyBytesMax) && frame.count >= FrameHeader.byteCount + bodyBytes,
      "a body lies in its frame")
    assert(kind != 0 && (1...Limits.numberMax).contains(firstCommit.rawValue), "a reader accepts the header")
    assert(
      kind == FrameHeader.Kind.commit ? commitCount == 1 : kind != FrameHeader.Kind.block || commitCount > 0,
      "frames of commits have some")
    frame.storeBytes(of: kind, toByteOffset: 0, as: UInt8.self)
    frame.storeBytes(of: flags, toByteOffset: 1, as: UInt8.self)
    frame.storeBytes(of: 0, toByteOffset: 2, as: UInt16.self)
    frame.storeBytes(of: UInt32(bodyBytes).littleEndian, toByteOffset: 4, as: UInt32.self)
    frame.storeBytes(of: firstCommit.rawValue.littleEndian, toByteOffset: 8, as: UInt64.self)
    frame.storeBytes(of: commitCount.littleEndian, toByteOffset: 16, as: UInt32.self)
  }

  /// Fills in the remaining fields of a frame prepared by `begin`, whose first byte will be at `offset` of
  /// `segment`.
  ///
  /// - Returns: The size of the frame in bytes.
  static func end(
    _ frame: UnsafeMutableRawBufferPointer, durableOffset: UInt32, at offset: UInt64, of segment: SegmentID
  ) -> Int {
    precondition(offset % 8 == 0 && frame.count >= FrameHeader.byteCount, "frames are at multiples of 8")
    let bytes = UnsafeRawBufferPointer(frame)
    let bodyBytes = Int(bytes.littleEndian(4, as: UInt32.self))
    assert(
      FrameHeader.frameBytes(body: bodyBytes) <= frame.count, "a frame has room for its body and the padding")
    assert(UInt64(durableOffset) <= offset, "no more is durable than is written")
    frame.storeBytes(of: durableOffset.littleEndian, toByteOffset: 20, as: UInt32.self)
    let bodyChecksum = XXH3.hash(
      bytes.part(FrameHeader.byteCount, bodyBytes),
      seed: segment.seedBase &+ offset &+ UInt64(FrameHeader.byteCount))
    frame.storeBytes(of: bodyChecksum.littleEndian, toByteOffset: 24, as: UInt64.self)
    let checksum = XXH3.hash(bytes.part(0, 32), seed: segment.seedBase &+ offset)
    frame.storeBytes(of: checksum.littleEndian, toByteOffset: 32, as: UInt64.self)
    assert(
      FrameHeader.decode(bytes.part(0, FrameHeader.byteCount), at: offset, of: segment) != nil,
      "a reader accepts the header")
    return FrameHeader.frameBytes(body: bodyBytes)
  }

  /// A frame body as stored, possibly compressed.
  struct Body: Sendable {
    let bytes: [UInt8]
    let flags: UInt8

    init(stored bytes: [UInt8], flags: UInt8 = 0) {
      self.bytes = bytes
      self.flags = flags
    }
  }

  /// Returns the number of bytes of a compressed body before compression.
  static func expandedByteCount(
    of body: UnsafeRawBufferPointer, limit: Int
  ) throws(MalformedError) -> Int {
    guard body.count >= 4 else { throw MalformedError("a compressed body without its length") }
    let count = Int(body.littleEndian(0, as: UInt32.self))
    guard count <= limit else { throw MalformedError("a body of \(count) bytes, the most is \(limit)") }
    return count
  }
}

/// A decoded frame of a stream. The value is kept small because it is passed through many calls.
enum StoredFrame {
  /// One commit and the segment secret from which its salts are derived.
  indirect case row(Commit, secret: SegmentSecret)
  /// One or more consecutive commits, not copied out of the window, and valid until the reader's next step. Only from
  /// `StreamReader.forEachPiece`.
  indirect case rows([CommitRow], from: SegmentCursor)
  /// Consecutive commits.
  indirect case block(ColumnBlock)
  /// A record without commits. It is kept, although this version does not know its kind.
  case record(kind: UInt8, body: Frame.Body)

  /// The consecutive commits of the frame and the segment secrets from which their salts are derived; nil if it contains
  /// none.
  var commits: (commits: [Commit], secrets: [SegmentSecret])? {
    switch self {
    case .row(let commit, let secret): ([commit], [secret])
    case .rows(let rows, let cursor):
      (rows.map { $0.commit() }, [Self.secret(of: cursor.header)])
    case .block(let block): (block.commits(), block.secrets)
    case .record: nil
    }
  }

  /// The secret from which the salts of an open segment's commits are derived.
  private static func secret(of header: SegmentHeader) -> SegmentSecret {
    SegmentSecret(firstCommit: header.firstCommit, kind: .whole(header.secret))
  }

  /// Decodes the frame that `cursor` looks at.
  ///
  /// - Parameter headsBefore: The expected heads at the start of a block, if known.
  static func decode(
    _ frame: FrameHeader, at cursor: SegmentCursor, headsBefore: [Head]?
  ) throws(MalformedError) -> StoredFrame {
    let header = cursor.header
    return try cursor.withBody(of: frame) { (body) throws(MalformedError) in
      switch frame.kind {
      case FrameHeader.Kind.commit:
        guard let row = try cursor.commitRow(of: frame) else {
          preconditionFailure("a frame with a commit")
        }
        let commit = row.commit()
        return .row(commit, secret: secret(of: header))
      case FrameHeader.Kind.block:
        guard !frame.isCompressed else { throw MalformedError("a block compressed as a whole") }
        let block = try BlockEncoding.decodeColumns(
          body, replica: header.replica, firstCommit: frame.firstCommit, commitCount: Int(frame.commitCount)
        )
        guard headsBefore == nil || block.headsAtStart == headsBefore else {
          throw MalformedError("a block whose heads are not those of the commits before it")
        }
        return .block(block)
      default:
        return .record(
          kind: frame.kind, body: Frame.Body(stored: Array(body), flags: frame.flags))
      }
    }
  }
}

// Fixed-size integers of headers and frames. Offsets are constants within buffers of known size.

extension UnsafeRawBufferPointer {
  func littleEndian<T: FixedWidthInteger>(_ offset: Int, as type: T.Type) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }

  /// Returns the `count` bytes that start at `offset`.
  func part(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<offset + count])
  }

  /// Checked word by word, because readers check 64 KiB of zeros at the end of a tail.
  var isAllZero: Bool {
    var offset = 0
    while offset + 8 <= count {
      if loadUnaligned(fromByteOffset: offset, as: UInt64.self) != 0 { return false }
      offset += 8
    }
    while offset < count {
      if self[offset] != 0 { return false }
      offset += 1
    }
    return true
  }
}

extension [UInt8] {
  mutating func put<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    Swift.withUnsafeBytes(of: value.littleEndian) { bytes in
      for (index, byte) in bytes.enumerated() { self[offset + index] = byte }
    }
  }

  mutating func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
    for (index, byte) in bytes.enumerated() { self[offset + index] = byte }
  }
}
