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
    guard bytes.count >= byteCount, bytes[0] != 0 else { return nil }
    let checksum = bytes.littleEndian(32, as: UInt64.self)
    guard checksum == Checksum.of(bytes.part(0, 32), seed: segment.seedBase &+ offset) else { return nil }
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
      bodyBytes <= Int(FrameHeader.bodyBytesMax) && frame.count >= FrameHeader.byteCount + bodyBytes)
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
    precondition(offset % 8 == 0 && frame.count >= FrameHeader.byteCount)
    let bytes = UnsafeRawBufferPointer(frame)
    let bodyBytes = Int(bytes.littleEndian(4, as: UInt32.self))
    frame.storeBytes(of: durableOffset.littleEndian, toByteOffset: 20, as: UInt32.self)
    let bodyChecksum = Checksum.of(
      bytes.part(FrameHeader.byteCount, bodyBytes),
      seed: segment.seedBase &+ offset &+ UInt64(FrameHeader.byteCount))
    frame.storeBytes(of: bodyChecksum.littleEndian, toByteOffset: 24, as: UInt64.self)
    let checksum = Checksum.of(bytes.part(0, 32), seed: segment.seedBase &+ offset)
    frame.storeBytes(of: checksum.littleEndian, toByteOffset: 32, as: UInt64.self)
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
