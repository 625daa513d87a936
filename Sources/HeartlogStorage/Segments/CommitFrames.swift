import HeartlogEvents

/// Frames of commits, one after the other, before it is known where they will stand: all is in place but offsets and checksums.
struct CommitFrames {
  private(set) var bytes: [UInt8] = []

  /// A shorter row is stored as it is. Measured on papers and cities, one to a row: below this LZ4 takes 0 to 5% away from a frame, for
  /// 0.4 to 1.1 µs, as much as the write itself; above it 11% and more.
  static let compressedBytesMin = 512

  /// Memory beyond this is given back after a batch.
  private static let keptBytesMax = 1 << 20

  /// Appends a commit's frame.
  ///
  /// - Returns: how many bytes it takes.
  mutating func append(_ commit: Commit, recordsAreChecked: Bool) throws(MalformedError) -> Int {
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: FrameHeader.byteCount))
    do throws(MalformedError) {
      try RowEncoding.append(commit, to: &bytes, recordsAreChecked: recordsAreChecked)
    } catch {
      bytes.removeLast(bytes.count - start)
      throw error
    }
    let isCompressed = compressBody(at: start + FrameHeader.byteCount)
    let bodyBytes = bytes.count - start - FrameHeader.byteCount
    let frameBytes = Int(FrameHeader.frameBytes(body: bodyBytes))
    for _ in FrameHeader.byteCount + bodyBytes..<frameBytes { bytes.append(0) }
    bytes.withUnsafeMutableBytes { buffer in
      // The frame was just made that long.
      let frame = UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
      Frame.begin(
        frame, kind: FrameHeader.Kind.commit, isCompressed: isCompressed, bodyBytes: bodyBytes,
        firstCommit: commit.number, commitCount: 1)
    }
    return frameBytes
  }

  /// Compresses the row that begins at `start`, where that makes it smaller.
  private mutating func compressBody(at start: Int) -> Bool {
    let count = bytes.count - start
    guard count >= Self.compressedBytesMin else { return false }
    let compressed = bytes.withUnsafeBytes { LZ4.compress(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    guard let compressed, compressed.count + 4 < count else { return false }
    bytes.removeLast(count)
    withUnsafeBytes(of: UInt32(count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: compressed)
    return true
  }

  /// Says where the first frame will stand, and so where the others.
  mutating func place(at offset: UInt64, of segment: SegmentID, durableOffset: UInt32) {
    bytes.withUnsafeMutableBytes { buffer in
      var start = 0
      while start < buffer.count {
        start += Frame.end(
          UnsafeMutableRawBufferPointer(rebasing: buffer[start...]), durableOffset: durableOffset,
          at: offset + UInt64(start), of: segment)
      }
    }
  }

  /// Appends zeros that are written behind the frames.
  mutating func appendZeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

  /// Takes out everything from `place` on.
  mutating func split(at place: Int) -> CommitFrames {
    var rest = CommitFrames()
    rest.bytes = Array(bytes[place...])
    bytes.removeLast(rest.bytes.count)
    return rest
  }

  mutating func removeAll() { bytes.removeAll(keepingCapacity: bytes.count <= Self.keptBytesMax) }
}
