#if canImport(Darwin) || HEARTLOG_STAND_INS
  /// XXH3-64 (xxHash, https://xxhash.com): a fast checksum of any number of bytes.
  ///
  /// After the specification doc/xxhash_spec.md, version 0.2.0, for which no Apple SDK has a library.
  package enum XXH3 {
    /// Returns the checksum of bytes, with the default secret.
    package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
      secret.withUnsafeBytes { secret in
        guard let secret = secret.baseAddress else { preconditionFailure("the secret has 192 bytes") }
        guard let input = bytes.baseAddress else { return ofNothing(secret, seed) }
        switch bytes.count {
        case 0: return ofNothing(secret, seed)
        case ...3: return ofAtMost3(input, bytes.count, secret, seed)
        case ...8: return ofAtMost8(input, bytes.count, secret, seed)
        case ...16: return ofAtMost16(input, bytes.count, secret, seed)
        case ...128: return ofAtMost128(input, bytes.count, secret, seed)
        case ...240: return ofAtMost240(input, bytes.count, secret, seed)
        default:
          return seed == 0 ? ofMore(input, bytes.count, secret) : ofMore(input, bytes.count, secret, seed)
        }
      }
    }

    private static let prime32v1: UInt64 = 0x9E37_79B1
    private static let prime32v2: UInt64 = 0x85EB_CA77
    private static let prime32v3: UInt64 = 0xC2B2_AE3D
    private static let prime64v1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime64v2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime64v3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime64v4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime64v5: UInt64 = 0x27D4_EB2F_1656_67C5
    private static let primeMX1: UInt64 = 0x1656_6791_9E37_79F9
    private static let primeMX2: UInt64 = 0x9FB2_1C65_1E98_DF25

    private static let secret: [UInt8] = [
      0xB8, 0xFE, 0x6C, 0x39, 0x23, 0xA4, 0x4B, 0xBE, 0x7C, 0x01, 0x81, 0x2C, 0xF7, 0x21, 0xAD, 0x1C,
      0xDE, 0xD4, 0x6D, 0xE9, 0x83, 0x90, 0x97, 0xDB, 0x72, 0x40, 0xA4, 0xA4, 0xB7, 0xB3, 0x67, 0x1F,
      0xCB, 0x79, 0xE6, 0x4E, 0xCC, 0xC0, 0xE5, 0x78, 0x82, 0x5A, 0xD0, 0x7D, 0xCC, 0xFF, 0x72, 0x21,
      0xB8, 0x08, 0x46, 0x74, 0xF7, 0x43, 0x24, 0x8E, 0xE0, 0x35, 0x90, 0xE6, 0x81, 0x3A, 0x26, 0x4C,
      0x3C, 0x28, 0x52, 0xBB, 0x91, 0xC3, 0x00, 0xCB, 0x88, 0xD0, 0x65, 0x8B, 0x1B, 0x53, 0x2E, 0xA3,
      0x71, 0x64, 0x48, 0x97, 0xA2, 0x0D, 0xF9, 0x4E, 0x38, 0x19, 0xEF, 0x46, 0xA9, 0xDE, 0xAC, 0xD8,
      0xA8, 0xFA, 0x76, 0x3F, 0xE3, 0x9C, 0x34, 0x3F, 0xF9, 0xDC, 0xBB, 0xC7, 0xC7, 0x0B, 0x4F, 0x1D,
      0x8A, 0x51, 0xE0, 0x4B, 0xCD, 0xB4, 0x59, 0x31, 0xC8, 0x9F, 0x7E, 0xC9, 0xD9, 0x78, 0x73, 0x64,
      0xEA, 0xC5, 0xAC, 0x83, 0x34, 0xD3, 0xEB, 0xC3, 0xC5, 0x81, 0xA0, 0xFF, 0xFA, 0x13, 0x63, 0xEB,
      0x17, 0x0D, 0xDD, 0x51, 0xB7, 0xF0, 0xDA, 0x49, 0xD3, 0x16, 0x55, 0x26, 0x29, 0xD4, 0x68, 0x9E,
      0x2B, 0x16, 0xBE, 0x58, 0x7D, 0x47, 0xA1, 0xFC, 0x8F, 0xF8, 0xB8, 0xD1, 0x7A, 0xD0, 0x31, 0xCE,
      0x45, 0xCB, 0x3A, 0x8F, 0x95, 0x16, 0x04, 0x28, 0xAF, 0xD7, 0xFB, 0xCA, 0xBB, 0x4B, 0x40, 0x7E,
    ]
  }

  // Inputs of up to 240 bytes. Every function reads within its input, which has at least as many bytes as the one before takes.
  extension XXH3 {
    private static func ofNothing(_ secret: UnsafeRawPointer, _ seed: UInt64) -> UInt64 {
      avalanche64(seed ^ secret.word(56) ^ secret.word(64))
    }

    private static func ofAtMost3(
      _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
    ) -> UInt64 {
      let first = UInt64(input.byte(0))
      let middle = UInt64(input.byte(count / 2))
      let last = UInt64(input.byte(count - 1))
      let combined = first << 16 | middle << 24 | last | UInt64(count) << 8
      return avalanche64(combined ^ ((secret.halfWord(0) ^ secret.halfWord(4)) &+ seed))
    }

    private static func ofAtMost8(
      _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
    ) -> UInt64 {
      let modifiedSeed = seed ^ UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) << 32
      let combined = input.halfWord(count - 4) | input.halfWord(0) << 32
      var hash = combined ^ ((secret.word(8) ^ secret.word(16)) &- modifiedSeed)
      hash ^= hash.rotated(49) ^ hash.rotated(24)
      hash &*= primeMX2
      hash ^= (hash >> 35) &+ UInt64(count)
      hash &*= primeMX2
      return hash ^ hash >> 28
    }

    private static func ofAtMost16(
      _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
    ) -> UInt64 {
      let low = input.word(0) ^ ((secret.word(24) ^ secret.word(32)) &+ seed)
      let high = input.word(count - 8) ^ ((secret.word(40) ^ secret.word(48)) &- seed)
      return avalanche(UInt64(count) &+ low.byteSwapped &+ high &+ folded(low, high))
    }

    private static func ofAtMost128(
      _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
    ) -> UInt64 {
      var hash = UInt64(count) &* prime64v1
      for pair in 0...(count - 1) / 32 {
        hash &+= mixed(input + 16 * pair, secret + 32 * pair, seed)
        hash &+= mixed(input + (count - 16 * (pair + 1)), secret + (32 * pair + 16), seed)
      }
      return avalanche(hash)
    }

    private static func ofAtMost240(
      _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
    ) -> UInt64 {
      var hash = UInt64(count) &* prime64v1
      for chunk in 0..<8 { hash &+= mixed(input + 16 * chunk, secret + 16 * chunk, seed) }
      hash = avalanche(hash)
      for chunk in 8..<count / 16 {
        hash &+= mixed(input + 16 * chunk, secret + (16 * (chunk - 8) + 3), seed)
      }
      return avalanche(hash &+ mixed(input + (count - 16), secret + 119, seed))
    }

    private static func mixed(_ input: UnsafeRawPointer, _ secret: UnsafeRawPointer, _ seed: UInt64) -> UInt64
    {
      folded(input.word(0) ^ (secret.word(0) &+ seed), input.word(8) ^ (secret.word(8) &- seed))
    }

    private static func folded(_ a: UInt64, _ b: UInt64) -> UInt64 {
      let product = a.multipliedFullWidth(by: b)
      return product.high ^ product.low
    }

    private static func avalanche(_ hash: UInt64) -> UInt64 {
      let product = (hash ^ hash >> 37) &* primeMX1
      return product ^ product >> 32
    }

    private static func avalanche64(_ hash: UInt64) -> UInt64 {
      var hash = (hash ^ hash >> 33) &* prime64v2
      hash = (hash ^ hash >> 29) &* prime64v3
      return hash ^ hash >> 32
    }
  }

  // Longer inputs: stripes of 64 bytes, each added to eight accumulators, which are scrambled after 16 stripes.
  extension XXH3 {
    private static let stripeBytes = 64
    private static let stripesPerBlock = 16
    private static let secretBytes = 192

    private static func ofMore(
      _ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ seed: UInt64
    ) -> UInt64 {
      withUnsafeTemporaryAllocation(byteCount: secretBytes, alignment: 8) { seeded in
        for offset in stride(from: 0, to: secretBytes, by: 16) {
          let low = secret.word(offset) &+ seed
          let high = secret.word(offset + 8) &- seed
          seeded.storeBytes(of: low.littleEndian, toByteOffset: offset, as: UInt64.self)
          seeded.storeBytes(of: high.littleEndian, toByteOffset: offset + 8, as: UInt64.self)
        }
        guard let seeded = seeded.baseAddress else { preconditionFailure("the secret has 192 bytes") }
        return ofMore(input, count, UnsafeRawPointer(seeded))
      }
    }

    private static func ofMore(_ input: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer) -> UInt64
    {
      var sums = SIMD8<UInt64>(
        prime32v3, prime64v1, prime64v2, prime64v3, prime64v4, prime32v2, prime64v5, prime32v1)
      // Of a block; swapped where they are added to the sums, so that this is not done for each stripe.
      var words = SIMD8<UInt64>()
      for stripe in 0..<(count - 1) / stripeBytes {
        let inBlock = stripe % stripesPerBlock
        accumulate(input.words(stripe * stripeBytes), secret.words(inBlock * 8), &sums, &words)
        if inBlock == stripesPerBlock - 1 {
          sums &+= swapped(words)
          words = SIMD8()
          sums = (sums ^ sums &>> 47 ^ secret.words(secretBytes - stripeBytes)) &* prime32v1
        }
      }
      // The last stripe ends with the input, and so it may overlap the one before.
      accumulate(input.words(count - stripeBytes), secret.words(secretBytes - stripeBytes - 7), &sums, &words)
      sums &+= swapped(words)
      var hash = UInt64(count) &* prime64v1
      let keys = secret.words(11)
      for pair in stride(from: 0, to: 8, by: 2) {
        hash &+= folded(sums[pair] ^ keys[pair], sums[pair + 1] ^ keys[pair + 1])
      }
      return avalanche(hash)
    }

    @inline(__always)
    private static func accumulate(
      _ stripe: SIMD8<UInt64>, _ key: SIMD8<UInt64>, _ sums: inout SIMD8<UInt64>,
      _ words: inout SIMD8<UInt64>
    ) {
      let keyed = stripe ^ key
      sums &+= (keyed & 0xFFFF_FFFF) &* (keyed &>> 32)
      words &+= stripe
    }

    /// The lanes of each pair swapped.
    private static func swapped(_ lanes: SIMD8<UInt64>) -> SIMD8<UInt64> {
      SIMD8(lanes[1], lanes[0], lanes[3], lanes[2], lanes[5], lanes[4], lanes[7], lanes[6])
    }
  }

  extension UInt64 {
    fileprivate func rotated(_ count: UInt64) -> UInt64 { self << count | self >> (64 - count) }
  }

  extension UnsafeRawPointer {
    @inline(__always)
    fileprivate func byte(_ offset: Int) -> UInt8 { load(fromByteOffset: offset, as: UInt8.self) }

    @inline(__always)
    fileprivate func halfWord(_ offset: Int) -> UInt64 {
      UInt64(UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }

    @inline(__always)
    fileprivate func word(_ offset: Int) -> UInt64 {
      UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Eight words, on a little-endian machine, as all of Apple's are.
    @inline(__always)
    fileprivate func words(_ offset: Int) -> SIMD8<UInt64> {
      loadUnaligned(fromByteOffset: offset, as: SIMD8<UInt64>.self)
    }
  }
#endif
