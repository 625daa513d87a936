/// Raw LZ4 blocks, without a frame or a length. What encodes and decodes them is the platform's: liblz4, or the Compression framework.
package enum LZ4 {
  /// The largest input of liblz4, and of every LZ4 block.
  private static let byteCountMax = 0x7E00_0000
  /// LZ4 makes no shorter input smaller: a match may not begin within the last 12 bytes.
  private static let compressibleBytesMin = 13

  /// Compresses fast, for the tail of a log; nil if the result would not be smaller.
  package static func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    compress(bytes) { encode($0, into: $1) }
  }

  /// Decompresses a block into `output`, which it must fill exactly.
  package static func decompress(
    _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(MalformedError) {
    guard bytes.count <= byteCountMax, output.count <= byteCountMax, !bytes.isEmpty, !output.isEmpty
    else { throw MalformedError("an LZ4 block of \(bytes.count) bytes for \(output.count)") }
    guard decode(bytes, into: output) else { throw MalformedError("an LZ4 block that does not decompress") }
  }

  /// Returns the length that a half of a token begins, and moves the offset behind the bytes that continue it; nil if the block ends before.
  static func length(_ half: UInt8, in bytes: UnsafeRawBufferPointer, at offset: inout Int) -> Int? {
    var length = Int(half)
    guard half == 15 else { return length }
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      length += Int(byte)
      if byte != 255 { return length }
    }
    return nil
  }

  fileprivate static func compress(
    _ bytes: UnsafeRawBufferPointer,
    with encode: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Int
  ) -> [UInt8]? {
    guard bytes.count >= compressibleBytesMin, bytes.count <= byteCountMax else { return nil }
    // An encoder returns 0 if there is too little room, so one byte less than the input rejects results that are not smaller.
    let output = [UInt8](unsafeUninitializedCapacity: bytes.count - 1) { buffer, count in
      count = encode(bytes, UnsafeMutableRawBufferPointer(buffer))
    }
    return output.isEmpty ? nil : output
  }
}

extension LZ4.HighCompressor {
  /// Compresses an input, whatever was compressed before; nil if the result would not be smaller.
  package func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    LZ4.compress(bytes) { encode($0, into: $1) }
  }
}
