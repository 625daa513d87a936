#if canImport(Darwin) || HEARTLOG_STAND_INS
  import Compression

  extension LZ4 {
    /// Encodes bytes, which are not empty; returns the size of the block, 0 if there is too little room.
    static func encode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
      guard let source = bytes.octets, let target = output.octets else { return 0 }
      let count = compression_encode_buffer(
        target, output.count, source, bytes.count, nil, COMPRESSION_LZ4_RAW)
      // A block that another platform would refuse is never written.
      let block = UnsafeRawBufferPointer(output)[..<count]
      return isBlock(UnsafeRawBufferPointer(rebasing: block), of: bytes.count) ? count : 0
    }

    /// Decodes a block; returns whether it is well-formed and fills the output.
    static func decode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Bool {
      // The framework fills the output from a block that would fill more, and does not say what it checks.
      guard isBlock(bytes, of: output.count), let source = bytes.octets, let target = output.octets
      else { return false }
      return compression_decode_buffer(
        target, output.count, source, bytes.count, nil, COMPRESSION_LZ4_RAW) == output.count
    }

    /// Compresses one input after the other, for runs and sealed segments. The framework has one level of LZ4, which is the fast one.
    package struct HighCompressor: ~Copyable {
      package init() {}

      /// Encodes bytes, which are not empty; returns the size of the block, 0 if there is too little room.
      func encode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
        LZ4.encode(bytes, into: output)
      }
    }

    /// Matches have at least this many bytes.
    private static let matchBytesMin = 4
    /// A match begins at least this many bytes before the end.
    private static let matchStartBytesMin = 12
    /// The last bytes are literals.
    private static let lastLiteralsMin = 5

    /// Returns whether bytes are one whole block that decodes to `count` bytes: the rules of lz4_Block_format.md, version 2022-07-31.
    private static func isBlock(_ bytes: UnsafeRawBufferPointer, of count: Int) -> Bool {
      var offset = 0
      var decoded = 0
      while offset < bytes.count {
        let token = bytes[offset]
        offset += 1
        guard let literals = length(token >> 4, in: bytes, at: &offset), literals <= bytes.count - offset,
          literals <= count - decoded
        else { return false }
        offset += literals
        decoded += literals
        // The last sequence has no match.
        if offset == bytes.count { return decoded == count }
        guard decoded <= count - matchStartBytesMin, bytes.count - offset >= 2 else { return false }
        let distance = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
        offset += 2
        guard distance > 0, distance <= decoded, let rest = length(token & 15, in: bytes, at: &offset),
          rest <= count - decoded - matchBytesMin - lastLiteralsMin
        else { return false }
        decoded += matchBytesMin + rest
      }
      return false
    }
  }

  extension UnsafeRawBufferPointer {
    fileprivate var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
  }

  extension UnsafeMutableRawBufferPointer {
    fileprivate var octets: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
  }
#endif
