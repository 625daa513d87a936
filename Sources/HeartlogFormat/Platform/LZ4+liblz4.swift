#if !canImport(Darwin)
  import CLZ4

  extension LZ4 {
    /// Encodes bytes, which are not empty; returns the size of the block, 0 if there is too little room.
    static func encode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
      guard let source = bytes.characters, let target = output.characters else { return 0 }
      return Int(LZ4_compress_default(source, target, Int32(bytes.count), Int32(output.count)))
    }

    /// Decodes a block; returns whether it is well-formed and fills the output.
    static func decode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Bool {
      guard let source = bytes.characters, let target = output.characters else { return false }
      // Never reads or writes outside the two buffers, even for malformed input.
      return LZ4_decompress_safe(source, target, Int32(bytes.count), Int32(output.count)) == output.count
    }

    /// Compresses one input after the other well but slowly, for runs and sealed segments: LZ4-HC, level 9. Measured: level 12 makes a log
    /// 2 % smaller, for several times the work.
    ///
    /// Its tables have 256 KiB. To make them for each input would take longer than most inputs take.
    package struct HighCompressor: ~Copyable {
      /// Nil if there is no memory for it: then nothing becomes smaller.
      private let stream = LZ4_createStreamHC()

      package init() {}

      deinit { LZ4_freeStreamHC(stream) }

      /// Encodes bytes, which are not empty; returns the size of the block, 0 if there is too little room.
      func encode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
        guard let stream, let source = bytes.characters, let target = output.characters else { return 0 }
        LZ4_resetStreamHC_fast(stream, 9)
        return Int(
          LZ4_compress_HC_continue(stream, source, target, Int32(bytes.count), Int32(output.count)))
      }
    }
  }

  extension UnsafeRawBufferPointer {
    fileprivate var characters: UnsafePointer<CChar>? { baseAddress?.assumingMemoryBound(to: CChar.self) }
  }

  extension UnsafeMutableRawBufferPointer {
    fileprivate var characters: UnsafeMutablePointer<CChar>? {
      baseAddress?.assumingMemoryBound(to: CChar.self)
    }
  }
#endif
