import HeartlogFormat

/// The frames of consecutive commits, before their position is known. They are complete except for offsets and checksums.
struct CommitFrames {
  /// The frames, followed by the remains of earlier ones.
  private(set) var memory: [UInt8] = []
  private(set) var byteCount = 0

  /// A shorter row is stored uncompressed. Measured on papers and cities, one per row: below this size, LZ4 saves 0 to 5% of a frame and
  /// takes 0.4 to 1.1 µs, as much as the write itself. Above it, LZ4 saves 11% and more.
  static let compressedBytesMin = 512

  /// Memory beyond this size is released after a batch.
  private static let keptBytesMax = 1 << 20

  /// Appends a commit's frame.
  ///
  /// - Returns: the size of the frame in bytes.
  /// - Throws: if the commit breaks a rule. Nothing is appended in that case.
  mutating func append(_ commit: Commit, recordsAreChecked: Bool) throws(MalformedError) -> Int {
    assert(byteCount % 8 == 0 && byteCount <= memory.count, "whole frames lie in the memory")
    try commit.validateParts(recordsAreChecked: recordsAreChecked)
    // The memory of earlier batches usually has room for the row, so it is encoded only once.
    var rowBytes = encode(commit)
    if byteCount + FrameHeader.frameBytes(body: rowBytes) > memory.count {
      try Commit.checkByteCount(rowBytes)
      makeRoom(FrameHeader.frameBytes(body: rowBytes))
      rowBytes = encode(commit)
    }
    try Commit.checkByteCount(rowBytes)
    let start = byteCount
    let frameBytes = memory.withUnsafeMutableBytes { buffer in
      let row = UnsafeMutableRawBufferPointer(
        rebasing: buffer[(start + FrameHeader.byteCount)...][..<(start + FrameHeader.byteCount + rowBytes)])
      let compressedBytes = Self.compress(row)
      let bodyBytes = compressedBytes ?? rowBytes
      let frame = UnsafeMutableRawBufferPointer(
        rebasing: buffer[start..<start + FrameHeader.frameBytes(body: bodyBytes)])
      for index in FrameHeader.byteCount + bodyBytes..<frame.count { frame[index] = 0 }
      Frame.begin(
        frame, kind: FrameHeader.Kind.commit, flags: compressedBytes != nil ? FrameHeader.Flag.compressed : 0,
        bodyBytes: bodyBytes, firstCommit: commit.number, commitCount: 1)
      return frame.count
    }
    byteCount += frameBytes
    assert(frameBytes % 8 == 0 && byteCount <= memory.count, "a frame is whole and lies in the memory")
    return frameBytes
  }

  /// Encodes a commit at the position of the next frame's body.
  ///
  /// - Returns: the size of its row in bytes, which may exceed the available room.
  private mutating func encode(_ commit: Commit) -> Int {
    let start = min(byteCount + FrameHeader.byteCount, memory.count)
    return memory.withUnsafeMutableBytes {
      RowEncoding.write(commit, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
    }
  }

  private mutating func makeRoom(_ count: Int) {
    let missing = byteCount + count - memory.count
    if missing > 0 { memory += [UInt8](repeating: 0, count: max(missing, memory.count)) }
    assert(byteCount + count <= memory.count, "there is room for what was asked for")
  }

  /// Compresses a row in place if that makes it smaller.
  ///
  /// - Returns: the compressed size in bytes, including its length, or nil if the row was left unchanged.
  private static func compress(_ row: UnsafeMutableRawBufferPointer) -> Int? {
    guard row.count >= compressedBytesMin else { return nil }
    assert(row.count <= Limits.commitBytesMax, "the size of a row was checked")
    guard let compressed = LZ4.compress(UnsafeRawBufferPointer(row)), compressed.count + 4 < row.count else {
      return nil
    }
    row.storeBytes(of: UInt32(row.count).littleEndian, as: UInt32.self)
    UnsafeMutableRawBufferPointer(rebasing: row[4...]).copyBytes(from: compressed)
    return compressed.count + 4
  }

  /// Sets the position of the first frame, and thereby of the others.
  mutating func place(at offset: UInt64, of segment: SegmentID, durableOffset: UInt32) {
    let count = byteCount
    memory.withUnsafeMutableBytes { buffer in
      var start = 0
      while start < count {
        start += Frame.end(
          UnsafeMutableRawBufferPointer(rebasing: buffer[start..<count]), durableOffset: durableOffset,
          at: offset + UInt64(start), of: segment)
      }
      assert(start == count, "the frames lie one behind the other")
    }
  }

  /// Passes the frames to `body`, followed by `zeroCount` zeros.
  mutating func withBytes<R, E: Error>(
    zerosBehind zeroCount: Int = 0, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    makeRoom(zeroCount)
    let count = byteCount
    return try memory.withUnsafeMutableBufferPointer { (buffer) throws(E) in
      buffer[count..<count + zeroCount].update(repeating: 0)
      return try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: buffer[..<(count + zeroCount)])))
    }
  }

  /// Removes the frame that was appended last.
  mutating func removeLast(_ frameBytes: Int) {
    assert(
      frameBytes > 0 && frameBytes % 8 == 0 && frameBytes <= byteCount, "a frame that was appended is removed"
    )
    byteCount -= frameBytes
  }

  /// Removes all frames. Keeps the memory unless it is large.
  mutating func removeAll() {
    byteCount = 0
    if memory.count > Self.keptBytesMax { memory = [] }
  }
}
