import HeartlogEvents

/// Frames of commits, one after the other, before it is known where they will stand: all is in place but offsets and checksums.
struct CommitFrames {
  /// Frames, and behind them what is left of earlier ones.
  private(set) var memory: [UInt8] = []
  private(set) var byteCount = 0

  /// A shorter row is stored as it is. Measured on papers and cities, one to a row: below this LZ4 takes 0 to 5% away from a frame, for
  /// 0.4 to 1.1 µs, as much as the write itself; above it 11% and more.
  static let compressedBytesMin = 512

  /// Memory beyond this is given back after a batch.
  private static let keptBytesMax = 1 << 20

  /// Appends a commit's frame.
  ///
  /// - Returns: how many bytes it takes.
  /// - Throws: if the commit breaks a rule; nothing is appended then.
  mutating func append(_ commit: Commit, recordsAreChecked: Bool) throws(MalformedError) -> Int {
    try commit.validateParts(recordsAreChecked: recordsAreChecked)
    // Mostly the memory of earlier batches has room for the row, and it is encoded once.
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
    return frameBytes
  }

  /// Encodes a commit where the body of the next frame begins.
  ///
  /// - Returns: the bytes of its row, which may be more than there is room for.
  private mutating func encode(_ commit: Commit) -> Int {
    let start = min(byteCount + FrameHeader.byteCount, memory.count)
    return memory.withUnsafeMutableBytes {
      RowEncoding.write(commit, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
    }
  }

  private mutating func makeRoom(_ count: Int) {
    let missing = byteCount + count - memory.count
    if missing > 0 { memory.append(contentsOf: repeatElement(0, count: max(missing, memory.count))) }
  }

  /// Compresses a row in its place, where that makes it smaller.
  ///
  /// - Returns: how many bytes it takes then, its length included; nil where it was left as it was.
  private static func compress(_ row: UnsafeMutableRawBufferPointer) -> Int? {
    guard row.count >= compressedBytesMin else { return nil }
    guard let compressed = LZ4.compress(UnsafeRawBufferPointer(row)), compressed.count + 4 < row.count else {
      return nil
    }
    row.storeBytes(of: UInt32(row.count).littleEndian, as: UInt32.self)
    UnsafeMutableRawBufferPointer(rebasing: row[4...]).copyBytes(from: compressed)
    return compressed.count + 4
  }

  /// Says where the first frame will stand, and so where the others.
  mutating func place(at offset: UInt64, of segment: SegmentID, durableOffset: UInt32) {
    let count = byteCount
    memory.withUnsafeMutableBytes { buffer in
      var start = 0
      while start < count {
        start += Frame.end(
          UnsafeMutableRawBufferPointer(rebasing: buffer[start..<count]), durableOffset: durableOffset,
          at: offset + UInt64(start), of: segment)
      }
    }
  }

  /// The frames, and `zeroCount` zeros behind them.
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

  /// Takes back the frame that was appended last.
  mutating func removeLast(_ frameBytes: Int) { byteCount -= frameBytes }

  /// Takes out everything from `offset` on.
  mutating func split(at offset: Int) -> CommitFrames {
    var rest = CommitFrames()
    rest.memory = Array(memory[offset..<byteCount])
    rest.byteCount = rest.memory.count
    byteCount = offset
    return rest
  }

  /// Forgets all, and keeps the memory, unless it is much.
  mutating func removeAll() {
    byteCount = 0
    if memory.count > Self.keptBytesMax { memory = [] }
  }
}
