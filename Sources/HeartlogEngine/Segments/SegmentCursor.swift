import HeartlogFiles
import HeartlogFormat

/// Reads the frames of one segment file in order.
final class SegmentCursor {
  /// Nil while the file is closed, between `rest` and `wake`.
  private(set) var file: (any OpenFile)?
  let path: String
  let header: SegmentHeader
  /// The offset of the next frame.
  private(set) var offset: UInt64
  /// The offset of the last frame passed.
  private(set) var passedOffset: UInt64 = 0
  /// The last frame passed that contains commits, and its offset.
  private(set) var passedCommits: (frame: FrameHeader, offset: UInt64)?

  // A window of the file. Frames are returned from it without copying.
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var windowBytes = 0
  private var windowOffset: UInt64 = 0
  /// Whether the file ended at the end of the window when it was read.
  private var windowReachesEnd = false
  /// A tail with its zeros is small. A larger window would cost more page faults than it saves calls.
  private static let windowBytesMin = 64 << 10
  /// The last row that was decompressed.
  private var expanded = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  /// The bytes read from `windowOffset` on.
  private var window: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[..<windowBytes])
  }

  init(
    file: any OpenFile, path: String, header: SegmentHeader, offset: UInt64 = UInt64(SegmentHeader.byteCount)
  ) {
    assert(
      offset >= UInt64(SegmentHeader.byteCount) && offset % 8 == 0,
      "frames follow the header, at multiples of 8")
    self.file = file
    self.path = path
    self.header = header
    self.offset = offset
  }

  deinit {
    memory.deallocate()
    expanded.deallocate()
  }

  /// Closes the file; `wake` opens it again.
  func rest() {
    file = nil
    forget()
  }

  /// Opens the file again if it is closed.
  ///
  /// - Returns: false if the name now refers to another file or no longer exists.
  func wake(in directory: StoreDirectory) throws(HeartlogError) -> Bool {
    guard file == nil else { return true }
    assert(windowBytes == 0, "a closed file has no window")
    guard let opened = try ifPresent(directory.fileSystem.open(path, .read)),
      try directory.isSegment(header.id, opened, path: path)
    else { return false }
    file = opened
    return true
  }

  private var openFile: any OpenFile {
    guard let file else { preconditionFailure("a cursor that rests is woken before it is read") }
    return file
  }

  enum Step {
    /// A frame with valid checksums. `withBody` returns its body until the next step.
    case frame(FrameHeader)
    /// No more frames: the end of a sealed file, or zeros up to the end of an open one.
    case end
    /// Bytes that are not a valid frame.
    case bad(String)
  }

  /// Reads the frame at `offset` without moving.
  func look() throws(HeartlogError) -> Step {
    assert(
      offset >= UInt64(SegmentHeader.byteCount) && offset % 8 == 0,
      "frames follow the header, at multiples of 8")
    if header.kind == .sealed, offset >= header.totals.fileBytes { return try endOfSealed() }
    let available = try fill(FrameHeader.byteCount)
    if available == 0 { return header.kind == .sealed ? .bad("the file is cut short") : .end }
    let start = Int(offset - windowOffset)
    assert(start + available <= windowBytes, "what is available is in the window")
    if window[start] == 0, header.kind == .open {
      return try isZeroToTheEnd() ? .end : .bad("bytes that are not a frame")
    }
    let frame = FrameHeader.decode(
      window.part(start, min(available, FrameHeader.byteCount)), at: offset, of: header.id)
    guard let frame else { return .bad("bytes that are not a frame") }
    guard try fill(Int(frame.frameBytes)) >= Int(frame.frameBytes) else {
      return .bad("a frame that is cut short")
    }
    let bytes = window.part(Int(offset - windowOffset), Int(frame.frameBytes))
    assert(bytes.count % 8 == 0, "a frame is padded to a multiple of 8 bytes")
    return problem(of: frame, bytes, at: offset).map(Step.bad) ?? .frame(frame)
  }

  /// Returns what is wrong with the body or the padding of a frame; nil if both are valid.
  private func problem(
    of frame: FrameHeader, _ bytes: UnsafeRawBufferPointer, at offset: UInt64
  ) -> String? {
    assert(bytes.count == Int(frame.frameBytes) && offset % 8 == 0, "a whole frame is checked")
    let body = bytes.part(FrameHeader.byteCount, Int(frame.bodyBytes))
    let seed = header.id.seedBase &+ offset &+ UInt64(FrameHeader.byteCount)
    guard XXH3.hash(body, seed: seed) == frame.bodyChecksum else {
      return "a frame with a wrong checksum"
    }
    let bodyEnd = FrameHeader.byteCount + body.count
    guard bytes.part(bodyEnd, bytes.count - bodyEnd).isAllZero else {
      return "bytes other than zero in a frame's padding"
    }
    return nil
  }

  /// Returns the header of the frame at an offset of the segment; nil if no frame starts there. Does not change the window.
  func header(at offset: UInt64) throws(HeartlogError) -> FrameHeader? {
    let bytes = try openFile.bytes(FrameHeader.byteCount, at: offset)
    return bytes.withUnsafeBytes { FrameHeader.decode($0, at: offset, of: header.id) }
  }

  /// Calls `body` with the stored body of the frame that `look` found.
  func withBody<R, E: Error>(
    of frame: FrameHeader, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    assert(contains(frame), "the frame that was found is still in the window")
    return try body(window.part(Int(offset - windowOffset) + FrameHeader.byteCount, Int(frame.bodyBytes)))
  }

  /// The stored body of the last frame passed that contains commits; nil if the window no longer contains it.
  var passedBody: [UInt8]? {
    guard let (frame, offset) = passedCommits, offset >= windowOffset else { return nil }
    assert(offset < self.offset, "a frame that was passed is before the next one")
    let start = Int(offset - windowOffset) + FrameHeader.byteCount
    guard start + Int(frame.bodyBytes) <= windowBytes else { return nil }
    return Array(window.part(start, Int(frame.bodyBytes)))
  }

  /// Returns the single commit in the frame that `look` found, valid until the next step; nil if the frame is of another kind.
  func commitRow(of frame: FrameHeader) throws(MalformedError) -> CommitRow? {
    guard frame.kind == FrameHeader.Kind.commit else { return nil }
    guard header.kind == .open else { throw MalformedError("a single commit in a sealed segment") }
    assert(contains(frame), "the frame that was found is still in the window")
    return try CommitRow(try row(of: frame), replica: header.replica, number: frame.firstCommit)
  }

  /// Passes the frames of single commits that start here, while they are in the window and continue `tail`: `rowsMax` rows at most,
  /// including `first`. Stops at anything else, which is left to `look`, and after commit `end`.
  ///
  /// - Parameter first: The commit before them.
  /// - Returns: `first` and the rows that were passed, valid until the next step.
  func passRows(behind first: CommitRow, extending tail: inout StreamTail, upTo end: UInt64) -> [CommitRow] {
    assert(first.header.number.next == tail.next, "the tail ends with the row before")
    assert(offset >= windowOffset, "the window goes back to the next frame")
    let bytes = window
    var index = Int(offset - windowOffset)
    var last: (frame: FrameHeader, index: Int)?
    var rows = [first]
    rows.reserveCapacity(Self.rowsMax)
    while rows.count < Self.rowsMax, tail.next.rawValue <= end, index + FrameHeader.byteCount <= bytes.count {
      let at = windowOffset + UInt64(index)
      guard
        let frame = FrameHeader.decode(bytes.part(index, FrameHeader.byteCount), at: at, of: header.id),
        frame.kind == FrameHeader.Kind.commit, !frame.isCompressed,
        index + Int(frame.frameBytes) <= bytes.count,
        problem(of: frame, bytes.part(index, Int(frame.frameBytes)), at: at) == nil,
        let row = try? CommitRow(
          bytes.part(index + FrameHeader.byteCount, Int(frame.bodyBytes)), replica: header.replica,
          number: frame.firstCommit)
      else { break }
      do throws(MalformedError) { try tail.extend(by: row) } catch { break }
      rows.append(row)
      last = (frame, index)
      index += Int(frame.frameBytes)
    }
    if let last {
      offset = windowOffset + UInt64(last.index)
      pass(last.frame)
    }
    assert(rows.last?.header.number.next == tail.next, "the tail ends with the last row")
    assert(offset - windowOffset <= UInt64(windowBytes), "only frames in the window are passed")
    return rows
  }

  /// Few enough that they take little memory, and enough that the cost of passing them on is negligible.
  private static let rowsMax = 256

  /// Returns the row in the body of the frame that `look` found.
  private func row(of frame: FrameHeader) throws(MalformedError) -> UnsafeRawBufferPointer {
    let body = window.part(Int(offset - windowOffset) + FrameHeader.byteCount, Int(frame.bodyBytes))
    guard frame.isCompressed else { return body }
    let count = try Frame.expandedByteCount(of: body, limit: Limits.commitBytesMax)
    if expanded.count < count {
      expanded.deallocate()
      expanded = .allocate(byteCount: max(count, 4_096), alignment: 16)
    }
    let output = UnsafeMutableRawBufferPointer(rebasing: expanded[..<count])
    assert(output.count == count, "there is room for the whole row")
    try LZ4.decompress(body.part(4, body.count - 4), into: output)
    return UnsafeRawBufferPointer(output)
  }

  /// Moves past the frame that `look` found.
  func pass(_ frame: FrameHeader) {
    passedOffset = offset
    if frame.commitCount > 0 { passedCommits = (frame, offset) }
    offset += frame.frameBytes
    assert(offset % 8 == 0 && passedOffset < offset, "frames rise, at multiples of 8")
  }

  /// Moves to `offset`, which a writer has just made the end of the frames.
  func move(to offset: UInt64) {
    assert(
      offset >= UInt64(SegmentHeader.byteCount) && offset % 8 == 0,
      "frames follow the header, at multiples of 8")
    self.offset = offset
  }

  /// Whether the window has the whole frame at `offset`.
  private func contains(_ frame: FrameHeader) -> Bool {
    offset >= windowOffset && offset - windowOffset + frame.frameBytes <= UInt64(windowBytes)
  }

  /// Discards the window, so that the next look reads the file again.
  func forget() {
    assert(windowBytes <= memory.count, "the window lies in its memory")
    windowOffset = offset
    // A writer moves its own cursor at each commit without reading anything.
    guard memory.count + expanded.count > 0 else { return }
    // Frees the memory too: an idle store at the end of its log should be small.
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    windowBytes = 0
    expanded.deallocate()
    expanded = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  /// Makes at least `count` bytes from `offset` available, fewer at the end of the file.
  private func fill(_ count: Int) throws(HeartlogError) -> Int {
    let available = Int(windowOffset) + windowBytes - Int(offset)
    if offset >= windowOffset, available >= count { return available }
    let wanted = max(count, Self.windowBytesMin)
    windowBytes = 0
    windowOffset = offset
    if memory.count < wanted {
      memory.deallocate()
      memory = .allocate(byteCount: wanted, alignment: 16)
    }
    let read = try openFile.read(into: UnsafeMutableRawBufferPointer(rebasing: memory[..<wanted]), at: offset)
    windowBytes = read
    windowReachesEnd = read < wanted
    assert(
      windowBytes <= memory.count && windowOffset == offset,
      "the window begins at the next frame and lies in its memory")
    return read
  }

  private func isZeroToTheEnd() throws(HeartlogError) -> Bool {
    let start = offset
    defer { move(to: start) }
    while true {
      let available = try fill(1)
      if available == 0 { return true }
      guard window.part(Int(offset - windowOffset), available).isAllZero else { return false }
      if windowReachesEnd { return true }
      offset += UInt64(available)
    }
  }

  private func endOfSealed() throws(HeartlogError) -> Step {
    assert(header.kind == .sealed, "an open segment has no end")
    let size = try openFile.size()
    if offset == header.totals.fileBytes, size == header.totals.fileBytes { return .end }
    return .bad(size < header.totals.fileBytes ? "the file is cut short" : "bytes after the end of the file")
  }

  /// The valid frames after bad bytes at `start`.
  struct Aftermath {
    /// The highest durable offset in a valid frame.
    var namedDurable: UInt64 = 0
    /// The first commit of the first valid frame.
    var firstCommit: CommitNumber?
  }

  /// Searches for valid frames after `start`, at every possible frame offset. Discards the window.
  func aftermath(of start: UInt64) throws(HeartlogError) -> Aftermath {
    assert(start % 8 == 0, "bad bytes were found where a frame should begin")
    let here = offset
    defer {
      move(to: here)
      forget()
    }
    forget()
    var aftermath = Aftermath()
    offset = start
    while let frame = try skipBadBytes() {
      aftermath.namedDurable = max(aftermath.namedDurable, UInt64(frame.durableOffset))
      if aftermath.firstCommit == nil { aftermath.firstCommit = frame.firstCommit }
      assert(contains(frame), "a frame is searched behind only where it was found")
      // The frame is valid, so the bytes behind it are searched; those in it are not.
      offset += frame.frameBytes - UInt64(FrameHeader.alignment)
    }
    return aftermath
  }

  /// Moves to the next valid frame behind the bytes at `offset`; to the end of the file if there is none.
  func skipBadBytes() throws(HeartlogError) -> FrameHeader? {
    let alignment = UInt64(FrameHeader.alignment)
    offset = (offset + alignment) / alignment * alignment
    assert(offset >= UInt64(SegmentHeader.byteCount), "frames follow the header")
    while try fill(FrameHeader.byteCount) >= FrameHeader.byteCount {
      guard let candidate = nextHeader() else { continue }
      offset = candidate
      if case .frame(let frame) = try look() { return frame }
      offset += alignment
    }
    return nil
  }

  /// Returns the offset of the next valid frame header in the window. If there is none, moves to the first offset that the window
  /// cannot decide.
  private func nextHeader() -> UInt64? {
    assert(offset >= windowOffset && offset % 8 == 0, "candidates are at multiples of 8 in the window")
    let bytes = window
    var index = Int(offset - windowOffset)
    while index + FrameHeader.byteCount <= bytes.count {
      let at = windowOffset + UInt64(index)
      if bytes[index] != 0,
        FrameHeader.decode(bytes.part(index, FrameHeader.byteCount), at: at, of: header.id) != nil
      {
        return at
      }
      index += FrameHeader.alignment
    }
    offset = windowOffset + UInt64(index)
    return nil
  }
}
