import HeartlogFormat

/// A file as an input: most files of a store are zeros, and a fuzzer should not try these one by one.
enum WithoutZeros {
  /// `(varint zeros, varint count, count × byte)*`
  static func shortened(_ bytes: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    var index = 0
    while index < bytes.count {
      let start = bytes[index...].firstIndex { $0 != 0 } ?? bytes.count
      // A few zeros cost less than two numbers.
      var end = start
      while end < bytes.count, bytes[end..<min(end + 4, bytes.count)].contains(where: { $0 != 0 }) {
        end += 1
      }
      writer.varint(start - index)
      writer.lengthAndBytes(Array(bytes[start..<end]))
      index = end
    }
    return writer.bytes
  }

  /// The file of an input; nil if it is too large.
  static func expanded(_ reader: inout ByteReader, byteCountMax: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    while !reader.isAtEnd {
      guard let zeros = try? reader.varint(), let part = try? reader.lengthAndBytes(),
        zeros <= UInt64(byteCountMax), bytes.count + Int(zeros) + part.count <= byteCountMax
      else { return nil }
      bytes.append(contentsOf: repeatElement(0, count: Int(zeros)))
      bytes.append(contentsOf: part)
    }
    return bytes
  }
}

/// Integers and checksums of files, by docs/format.md alone.
extension [UInt8] {
  func number<T: FixedWidthInteger>(at offset: Int, as type: T.Type) -> T {
    withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
  }

  mutating func set<T: FixedWidthInteger>(_ number: T, at offset: Int) {
    Swift.withUnsafeBytes(of: number.littleEndian) { replaceSubrange(offset..<offset + $0.count, with: $0) }
  }

  /// XXH3-64.
  func checksum(_ range: Range<Int>, seed: UInt64) -> UInt64 {
    withUnsafeBytes { XXH3.hash(UnsafeRawBufferPointer(rebasing: $0[range]), seed: seed) }
  }
}
