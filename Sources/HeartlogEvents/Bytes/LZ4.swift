import CLZ4

/// Raw LZ4 blocks, without a frame or a length.
package enum LZ4 {
  /// Compresses fast, for the tail of a log; nil if the result would not be smaller.
  package static func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    compress(bytes) { source, target, count, capacity in
      LZ4_compress_default(source, target, count, capacity)
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

  /// Compresses one input after the other well but slowly (LZ4-HC, level 9), for runs and sealed segments. Measured: level 12 makes a log
  /// 2 % smaller, for several times the work.
  ///
  /// Its tables have 256 KiB. To make them for each input would take longer than most inputs take.
  package struct HighCompressor: ~Copyable {
    /// Nil if there is no memory for it: then nothing becomes smaller.
    private let stream = LZ4_createStreamHC()

    package init() {}

    deinit { LZ4_freeStreamHC(stream) }

    /// Compresses an input, whatever was compressed before; nil if the result would not be smaller.
    package func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
      guard let stream else { return nil }
      return LZ4.compress(bytes) { source, target, count, capacity in
        LZ4_resetStreamHC_fast(stream, 9)
        return LZ4_compress_HC_continue(stream, source, target, count, capacity)
      }
    }
  }

  /// LZ4 makes no shorter input smaller: a match may not begin within the last 12 bytes.
  private static let compressibleBytesMin = 13

  private static func compress(
    _ bytes: UnsafeRawBufferPointer,
    with function: (UnsafePointer<CChar>, UnsafeMutablePointer<CChar>, Int32, Int32) -> Int32
  ) -> [UInt8]? {
    // LZ4 returns 0 if the capacity is too small, so a capacity of one byte less than the input rejects results that are not smaller.
    guard bytes.count >= compressibleBytesMin, bytes.count <= LZ4_MAX_INPUT_SIZE,
      let source = bytes.baseAddress
    else { return nil }
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
