import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles

/// A frame of a kind that this version does not know, built as docs/format.md says, without the code that is tested.
enum LaterFrame {
  /// What no other part of a store contains.
  static let body = Array("what a later version wrote".utf8)

  private static let kind: UInt8 = 200
  private static let headerBytes = 40
  private static let segmentHeaderBytes = 4_096

  /// Writes the frame behind the last one of an open segment that nobody has open, and in front of a commit.
  static func append(to path: String, before commit: UInt64, on files: MemoryFileSystem) throws {
    var segment = try files.contents(of: path)
    let seed = segment.word(16) ^ segment.word(24)
    var offset = segmentHeaderBytes
    while offset + headerBytes <= segment.count, segment[offset] != 0 {
      offset += bytes(of: Int(segment.word(offset) >> 32))
    }
    let end = offset + bytes(of: body.count)
    segment += [UInt8](repeating: 0, count: max(0, end - segment.count))
    segment[offset] = kind
    segment.put(UInt64(kind) | UInt64(body.count) << 32, at: offset)
    segment.put(commit, at: offset + 8)
    segment.put(checksum(of: body, seed: seed &+ UInt64(offset + headerBytes)), at: offset + 24)
    let start = Array(segment[offset..<offset + 32])
    segment.put(checksum(of: start, seed: seed &+ UInt64(offset)), at: offset + 32)
    segment.replaceSubrange(offset + headerBytes..<offset + headerBytes + body.count, with: body)
    try files.replaceContents(of: path, with: segment)
  }

  private static func bytes(of body: Int) -> Int { (headerBytes + body + 7) / 8 * 8 }

  private static func checksum(of bytes: [UInt8], seed: UInt64) -> UInt64 {
    bytes.withUnsafeBytes { XXH3.hash($0, seed: seed) }
  }
}

extension [UInt8] {
  /// The eight bytes at an index, which is in bounds.
  func word(_ index: Int) -> UInt64 {
    self[index..<index + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  fileprivate mutating func put(_ word: UInt64, at index: Int) {
    for byte in 0..<8 { self[index + byte] = UInt8(truncatingIfNeeded: word >> UInt64(8 * byte)) }
  }
}
