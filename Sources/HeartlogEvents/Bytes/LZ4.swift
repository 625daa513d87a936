import CLZ4

/// Raw LZ4 blocks, without a frame or a length.
package enum LZ4 {
  /// Compresses fast, for the tail of a log; nil if the result would not be smaller.
  package static func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    compress(bytes) { source, target, count, capacity in
      LZ4_compress_default(source, target, count, capacity)
    }
  }

  /// Compresses well but slowly (LZ4-HC, level 9), for sealed segments; nil if the result would not be smaller. Measured: level 12 makes a
  /// log 2 % smaller, for several times the work.
  package static func compressHigh(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    compress(bytes) { source, target, count, capacity in
      LZ4_compress_HC(source, target, count, capacity, 9)
    }
  }

  /// Decompresses a block into `output`, which it must fill exactly.
  package static func decompress(
    _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(MalformedError) {
    guard bytes.count <= LZ4_MAX_INPUT_SIZE, output.count <= LZ4_MAX_INPUT_SIZE,
      let source = bytes.baseAddress,
      let target = output.baseAddress
    else { throw MalformedError("an LZ4 block of \(bytes.count) bytes for \(output.count)") }
    // LZ4_decompress_safe never reads or writes outside the two buffers, even for malformed input.
    let count = LZ4_decompress_safe(
      source.assumingMemoryBound(to: CChar.self), target.assumingMemoryBound(to: CChar.self),
      Int32(bytes.count), Int32(output.count))
    guard count == output.count else { throw MalformedError("an LZ4 block that does not decompress") }
  }

  /// Returns the first byte of a decompressed block.
  static func firstByte(of bytes: UnsafeRawBufferPointer) throws(MalformedError) -> UInt8 {
    var byte: UInt8 = 0
    let count = withUnsafeMutableBytes(of: &byte) { output -> Int32 in
      guard bytes.count <= LZ4_MAX_INPUT_SIZE, let source = bytes.baseAddress, let target = output.baseAddress
      else { return 0 }
      // Never reads outside the input or writes more than one byte, even for malformed input.
      return LZ4_decompress_safe_partial(
        source.assumingMemoryBound(to: CChar.self), target.assumingMemoryBound(to: CChar.self),
        Int32(bytes.count), 1, 1)
    }
    guard count == 1 else { throw MalformedError("an LZ4 block that does not decompress") }
    return byte
  }

  private static func compress(
    _ bytes: UnsafeRawBufferPointer,
    with function: (UnsafePointer<CChar>, UnsafeMutablePointer<CChar>, Int32, Int32) -> Int32
  ) -> [UInt8]? {
    // LZ4 returns 0 if the capacity is too small, so a capacity of one byte less than the input rejects results that are not smaller.
    guard bytes.count > 1, bytes.count <= LZ4_MAX_INPUT_SIZE, let source = bytes.baseAddress else {
      return nil
    }
    let output = [UInt8](unsafeUninitializedCapacity: bytes.count - 1) { buffer, count in
      guard let target = buffer.baseAddress else { return }
      count = Int(
        target.withMemoryRebound(to: CChar.self, capacity: buffer.count) {
          function(source.assumingMemoryBound(to: CChar.self), $0, Int32(bytes.count), Int32(bytes.count - 1))
        })
    }
    return output.isEmpty ? nil : output
  }
}
