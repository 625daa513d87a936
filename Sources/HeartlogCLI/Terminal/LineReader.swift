import HeartlogInterchange

/// Reads a file or a pipe, line by line or at once.
final class LineReader {
  private let descriptor: Int32
  private let path: String?
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  private var isBeginning = true

  /// Longer lines are refused: no operation within the limits of the format needs more, including escapes.
  private static let lineBytesMax = 128 << 20
  /// Larger files are refused if the whole file is needed at once.
  private static let fileBytesMax = 1 << 30
  private static let chunkBytes = 256 << 10

  /// - Parameter path: nil for standard input.
  init(_ path: String?) throws(CommandError) {
    self.path = path
    guard let path else {
      descriptor = STDIN_FILENO
      return
    }
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let reason = Terminal.reason()
      throw CommandError(errno == ENOENT ? .noStore : .inputOutput, "cannot read \(Quoted(path))", at: reason)
    }
  }

  deinit { if path != nil { close(descriptor) } }

  /// The size of the file in bytes; nil if it is not a regular file.
  var byteCount: Int? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// The number of bytes read so far, including incomplete lines.
  private(set) var bytesRead = 0

  /// Whether a complete line is buffered.
  var hasLineAtHand: Bool { buffer[start...].contains(UInt8(ascii: "\n")) }

  /// Reads up to the first characters, and skips a byte order mark. An input in UTF-16 or UTF-32 is read and converted
  /// as a whole.
  private func readMark() throws {
    isBeginning = false
    while !isAtEnd, buffer.count < 4, Self.canBeMark(buffer) { try fill() }
    guard let mark = FileText.mark(of: buffer) else { return }
    if mark.encoding == "UTF-8" {
      start = mark.byteCount
      return
    }
    let bytes = try rest()
    do {
      buffer = try FileText(bytes).bytes
    } catch {
      throw CommandError(.badInput, "cannot read the input", at: error.description)
    }
  }

  /// Whether more bytes may make a mark of these.
  private static func canBeMark(_ bytes: [UInt8]) -> Bool {
    guard let first = bytes.first else { return true }
    return [0, 0xEF, 0xFE, 0xFF].contains(first) || bytes.count < 2 || bytes[1] == 0
  }

  /// Calls `body` with the next line, without its line feed or a byte order mark. Returns nil at the end of the input.
  func next<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
    if isBeginning { try readMark() }
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
      }
      searched = buffer.count
      if isAtEnd {
        guard start < buffer.count else { return nil }
        defer { start = buffer.count }
        return try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
      }
      guard buffer.count - start <= Self.lineBytesMax else {
        throw CommandError(
          .badInput, "a line is longer than \(Quantity.size(bytes: UInt64(Self.lineBytesMax)))")
      }
      searched -= start
      buffer.removeFirst(start)
      start = 0
      try fill()
    }
  }

  /// The rest of the input.
  func rest() throws(CommandError) -> [UInt8] {
    while !isAtEnd {
      guard buffer.count - start <= Self.fileBytesMax else {
        throw CommandError(
          .badInput, "the file is larger than \(Quantity.size(bytes: UInt64(Self.fileBytesMax)))")
      }
      try fill()
    }
    defer {
      buffer = []
      start = 0
    }
    return Array(buffer[start...])
  }

  private func fill() throws(CommandError) {
    let count = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: Self.chunkBytes))
    var received = 0
    repeat {
      received = buffer.withUnsafeMutableBytes { bytes in
        read(descriptor, bytes.baseAddress.map { $0 + count }, Self.chunkBytes)
      }
    } while received < 0 && errno == EINTR
    buffer.removeLast(Self.chunkBytes - max(0, received))
    guard received >= 0 else {
      throw CommandError(.inputOutput, "cannot read the input", at: Terminal.reason())
    }
    bytesRead += received
    isAtEnd = received == 0
  }
}
