import Heartlog
import HeartlogFiles

/// What is written with one write: a header, then records. "The directory engine" in docs/hub.md.
///
/// A frame is whole or it is not there: the next one is only written once it is durable.
enum LogFrame {
  static let magic: UInt32 = 0x3148_4C48
  static let headerBytes = 16
  /// A batch of small records grows up to this, and a large one stands alone.
  static let batchBytes = 8 << 20
  /// Everything that a frame can be: a batch that is almost full, and the largest object with its record after it.
  static let bytesMax = batchBytes + (144 << 20)

  /// Fills in the header, for which the first bytes of `frame` are kept.
  static func seal(_ frame: inout [UInt8], at offset: UInt64) {
    precondition(frame.count > headerBytes && frame.count <= bytesMax, "a frame's size")
    let count = UInt32(frame.count - headerBytes)
    frame.withUnsafeMutableBytes { frame in
      let checksum = XXH3.hash(UnsafeRawBufferPointer(rebasing: frame[headerBytes...]), seed: offset)
      frame.storeBytes(of: magic.littleEndian, as: UInt32.self)
      frame.storeBytes(of: count.littleEndian, toByteOffset: 4, as: UInt32.self)
      frame.storeBytes(of: checksum.littleEndian, toByteOffset: 8, as: UInt64.self)
    }
  }

  /// Reads the records of the frame at an offset; `nil` if there is no whole one.
  static func body(
    in file: any OpenFile, at offset: UInt64, fileBytes: UInt64
  ) throws(FileError) -> [UInt8]? {
    guard fileBytes - offset > UInt64(headerBytes) else { return nil }
    let header = try file.bytes(headerBytes, at: offset)
    guard header.count == headerBytes else { return nil }
    func word(_ start: Int, _ count: Int) -> UInt64 {
      header[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    let count = word(4, 4)
    guard word(0, 4) == UInt64(magic), count > 0, count <= UInt64(bytesMax - headerBytes),
      count <= fileBytes - offset - UInt64(headerBytes)
    else { return nil }
    let body = try file.bytes(Int(count), at: offset + UInt64(headerBytes))
    guard body.count == Int(count) else { return nil }
    let checksum = body.withUnsafeBytes { XXH3.hash($0, seed: offset) }
    return checksum == word(8, 8) ? body : nil
  }

  /// Whether a whole frame begins anywhere after an offset: then what stands at the offset was durable once.
  static func hasWholeFrame(
    in file: any OpenFile, after offset: UInt64, fileBytes: UInt64
  ) throws(FileError) -> Bool {
    let first = UInt8(truncatingIfNeeded: magic)
    var start = offset + 1
    while start < fileBytes {
      let chunk = try file.bytes(1 << 20, at: start)
      if chunk.isEmpty { return false }
      for (index, byte) in chunk.enumerated() where byte == first {
        if try body(in: file, at: start + UInt64(index), fileBytes: fileBytes) != nil { return true }
      }
      start += UInt64(chunk.count)
    }
    return false
  }
}
