import CLZ4

// What Heartlog uses of Apple's Compression framework, declared as its SDK does and done by liblz4.

// swift-format-ignore: AlwaysUseLowerCamelCase
public struct compression_algorithm: Equatable, Sendable {
  public let rawValue: UInt32

  public init(_ rawValue: UInt32) { self.rawValue = rawValue }
}

/// A plain LZ4 block.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let COMPRESSION_LZ4_RAW = compression_algorithm(0x101)

/// Returns the number of bytes written; 0 if the block does not fit.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func compression_encode_buffer(
  _ target: UnsafeMutablePointer<UInt8>, _ targetBytes: Int, _ source: UnsafePointer<UInt8>,
  _ sourceBytes: Int,
  _ scratch: UnsafeMutableRawPointer?, _ algorithm: compression_algorithm
) -> Int {
  precondition(algorithm == COMPRESSION_LZ4_RAW)
  return source.withMemoryRebound(to: CChar.self, capacity: sourceBytes) { source in
    target.withMemoryRebound(to: CChar.self, capacity: targetBytes) { target in
      Int(LZ4_compress_default(source, target, Int32(sourceBytes), Int32(targetBytes)))
    }
  }
}

/// Returns the number of bytes written, which is that of the target if the block has more; 0 for a malformed block.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func compression_decode_buffer(
  _ target: UnsafeMutablePointer<UInt8>, _ targetBytes: Int, _ source: UnsafePointer<UInt8>,
  _ sourceBytes: Int,
  _ scratch: UnsafeMutableRawPointer?, _ algorithm: compression_algorithm
) -> Int {
  precondition(algorithm == COMPRESSION_LZ4_RAW)
  return source.withMemoryRebound(to: CChar.self, capacity: sourceBytes) { source in
    target.withMemoryRebound(to: CChar.self, capacity: targetBytes) { target in
      let count = LZ4_decompress_safe_partial(
        source, target, Int32(sourceBytes), Int32(targetBytes), Int32(targetBytes))
      return max(0, Int(count))
    }
  }
}
