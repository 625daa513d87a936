/// Reads bits from bytes, starting at the lowest bit of each byte.
///
/// Reads zeros past the end, so that loops need no bounds check per value; `finish` throws in that case.
struct BitReader {
  let bytes: UnsafeRawBufferPointer
  /// The position in bits.
  var position = 0

  /// Reads the rest of `reader`. `finish` advances `reader`.
  init(_ reader: ByteReader) { bytes = reader.rest }

  /// Returns 64 bits from a byte on, with zeros past the end.
  private func window(at byte: Int) -> UInt64 {
    if byte <= bytes.count - 8 { return word(at: byte) }
    var value: UInt64 = 0
    var offset = byte
    while offset < bytes.count {
      value |= UInt64(bytes[offset]) << UInt64(8 * (offset - byte))
      offset += 1
    }
    return value
  }

  /// Reads the next `width` bits, 0 to 64.
  mutating func read(_ width: Int) -> UInt64 {
    assert(width >= 0 && width <= UInt64.bitWidth, "a value fits a word")
    guard width > 56 else { return readNarrow(width) }
    let low = readNarrow(32)
    return low | readNarrow(width - 32) << 32
  }

  @inline(__always)
  private mutating func readNarrow(_ width: Int) -> UInt64 {
    assert(width >= 0 && width <= 56, "a window has at least 57 bits")
    defer { position += width }
    return window(at: position >> 3) >> UInt64(position & 7) & ~(~0 << UInt64(width))
  }

  /// Counts 1 bits up to the next 0 bit and skips that too. Stops after `most` 1 bits; `most` must be below 57.
  mutating func readOnes(atMost most: Int) -> Int {
    assert(most > 0 && most < 57, "a window has at least 57 bits")
    let count = (~(window(at: position >> 3) >> UInt64(position & 7))).trailingZeroBitCount
    guard count < most else {
      position += most
      return most
    }
    position += count + 1
    return count
  }

  /// Advances `reader` past the bytes that were read. Throws if reading went past the end, or if the unused bits of the last byte are not
  /// zero.
  consuming func finish(_ reader: inout ByteReader) throws(MalformedError) {
    guard position <= 8 * bytes.count else { throw .endOfBytes }
    let used = try reader.take((position + 7) / 8)
    if position & 7 != 0, let last = used.last, last >> UInt8(position & 7) != 0 {
      throw MalformedError("bits after the last value")
    }
  }

  /// Returns eight bytes from `byte` on, which must exist.
  @inline(__always)
  func word(at byte: Int) -> UInt64 {
    assert(byte >= 0 && byte <= bytes.count - 8, "a whole word is there")
    return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: byte, as: UInt64.self))
  }

  // Decoders for whole columns of bits. Each returns the largest offset from the smallest value. Each has two loops: a fast one over a window
  // in a register, while words of eight bytes remain, and a slow one for values that the window cannot hold and for the end.

  mutating func readPacked(
    width: Int, over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) -> UInt64 {
    assert(width > 0 && width <= UInt64.bitWidth, "the width was checked")
    var largest: UInt64 = 0
    var index = 0
    if width <= 56 {
      let mask: UInt64 = ~(~0 << UInt64(width))
      let lastBit = 8 * (bytes.count - 8) + 7
      var bit = position
      while index < output.count, bit <= lastBit {
        let offset = word(at: bit >> 3) &>> UInt64(bit & 7) & mask
        largest = max(largest, offset)
        output.initializeElement(at: index, to: smallest &+ Int64(bitPattern: offset))
        index += 1
        bit += width
      }
      position = bit
    }
    while index < output.count {
      let offset = read(width)
      largest = max(largest, offset)
      output.initializeElement(at: index, to: smallest &+ Int64(bitPattern: offset))
      index += 1
    }
    return largest
  }

  mutating func readRice(
    shift: Int, over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) -> UInt64 {
    if shift == 0 { return readUnary(over: smallest, into: output) }
    assert(shift > 0 && shift <= IntsColumn.riceShiftMax, "the shift was checked")
    let mask: UInt64 = ~(~0 << UInt64(shift))
    // A value with fewer 1 bits than this fits into a window.
    let onesMax = min(IntsColumn.riceEscape, 56 - shift)
    var largest: UInt64 = 0
    var index = 0
    while index < output.count {
      if var window = BitWindow(self) {
        while index < output.count, window.refill() {
          // Setting the highest bit keeps the operand from being 0, whose zero count takes longer.
          let ones = (~window.bits | 1 << 63).trailingZeroBitCount
          guard ones < onesMax else { break }
          let offset = UInt64(ones) &<< UInt64(shift) | (window.bits &>> UInt64(ones + 1)) & mask
          window.skip(ones + 1 + shift)
          largest = max(largest, offset)
          output.initializeElement(at: index, to: smallest &+ Int64(bitPattern: offset))
          index += 1
        }
        position = window.position
        if index == output.count { break }
      }
      let ones = readOnes(atMost: IntsColumn.riceEscape)
      let offset = ones < IntsColumn.riceEscape ? UInt64(ones) << UInt64(shift) | read(shift) : read(64)
      largest = max(largest, offset)
      output.initializeElement(at: index, to: smallest &+ Int64(bitPattern: offset))
      index += 1
    }
    return largest
  }

  /// Reads Rice numbers that consist only of their 1 bits. Each 0 bit ends a number, so a word contains many.
  private mutating func readUnary(
    over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) -> UInt64 {
    var largest: UInt64 = 0
    var index = 0
    while index < output.count {
      if position >> 3 <= bytes.count - 8 {
        // Only the lowest 57 bits are certain to belong to the stream.
        var ends = ~(word(at: position >> 3) &>> UInt64(position & 7)) & (1 << 57 - 1)
        var start = 0
        while ends != 0, index < output.count {
          let end = ends.trailingZeroBitCount
          let ones = UInt64(truncatingIfNeeded: end - start)
          guard ones < UInt64(IntsColumn.riceEscape) else { break }
          largest = max(largest, ones)
          output.initializeElement(at: index, to: smallest &+ Int64(bitPattern: ones))
          index += 1
          start = end + 1
          ends &= ends &- 1
        }
        position += start
        if start > 0 || index == output.count { continue }
      }
      let ones = readOnes(atMost: IntsColumn.riceEscape)
      let offset = ones < IntsColumn.riceEscape ? UInt64(ones) : read(64)
      largest = max(largest, offset)
      output.initializeElement(at: index, to: smallest &+ Int64(bitPattern: offset))
      index += 1
    }
    return largest
  }

  mutating func readSized(
    lengthWidth: Int, over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) -> UInt64 {
    assert(lengthWidth > 0 && lengthWidth <= 7, "the width of a length was checked")
    let lengthMask: UInt64 = ~(~0 << UInt64(lengthWidth))
    var largest: UInt64 = 0
    var index = 0
    while index < output.count {
      if var window = BitWindow(self) {
        while index < output.count, window.refill() {
          let length = Int(truncatingIfNeeded: window.bits & lengthMask)
          guard length <= 48 else { break }
          // A length of 0 is the number 0: the two shifts leave no highest bit, and no bits are read.
          let highest = (UInt64(1) &<< UInt64(length)) >> 1
          let width = max(0, length - 1)
          let low = (window.bits &>> UInt64(lengthWidth)) & ~(~0 &<< UInt64(width))
          let offset = low | highest
          window.skip(lengthWidth + width)
          largest = max(largest, offset)
          output.initializeElement(at: index, to: smallest &+ Int64(bitPattern: offset))
          index += 1
        }
        position = window.position
        if index == output.count { break }
      }
      let length = Int(read(lengthWidth))
      guard length <= 64 else { throw MalformedError("a number of \(length) bits") }
      let offset = length == 0 ? 0 : read(length - 1) | 1 << UInt64(length - 1)
      largest = max(largest, offset)
      output.initializeElement(at: index, to: smallest &+ Int64(bitPattern: offset))
      index += 1
    }
    return largest
  }
}

/// The next bits of a `BitReader` in a register, for loops over values of at most 56 bits.
///
/// A refill does not depend on the length of the previous value, because the previous refill chose the bytes that it loads. Source: Fabian
/// Giesen, "Reading bits in far too many ways (part 2)" (2018), variant 4.
struct BitWindow {
  /// The next bits, lowest first. Bits above `count` may be bits of the stream, or zeros.
  private(set) var bits: UInt64
  /// At least 56 after a refill.
  private var count: Int
  /// The offset of the byte that the next refill loads.
  private var next: Int
  private let reader: BitReader
  private let lastWord: Int

  /// Starts at the reader's position; nil if fewer than eight bytes remain.
  @inline(__always)
  init?(_ reader: BitReader) {
    let byte = reader.position >> 3
    guard byte <= reader.bytes.count - 8 else { return nil }
    let used = reader.position & 7
    self.reader = reader
    bits = reader.word(at: byte) >> UInt64(used)
    count = 56 - used
    next = byte + 7
    lastWord = reader.bytes.count - 8
  }

  /// Ensures that at least 56 bits are available; false if the reader does not have enough bytes.
  @inline(__always)
  mutating func refill() -> Bool {
    guard next <= lastWord else { return false }
    bits |= reader.word(at: next) &<< UInt64(count)
    next += (63 &- count) >> 3
    count |= 56
    return true
  }

  /// Skips bits, at most as many as the last refill provided.
  @inline(__always)
  mutating func skip(_ width: Int) {
    assert(width >= 0 && width <= count, "no more bits are skipped than were provided")
    bits &>>= UInt64(width)
    count &-= width
  }

  /// The position of the next bit, as a position of the reader.
  @inline(__always)
  var position: Int { 8 * next - count }
}

/// Appends bits to bytes, starting at the lowest bit of each byte.
struct BitWriter {
  private var bytes: [UInt8] = []
  /// Fewer than 8 bits that do not fill a byte yet.
  private var pending: UInt64 = 0
  private var pendingCount = 0

  init(bitCount: Int) { bytes.reserveCapacity(bitCount / 8 + 1) }

  /// Appends the `width` lowest bits of `value`, 0 to 64.
  mutating func write(_ value: UInt64, width: Int) {
    assert(width >= 0 && width <= UInt64.bitWidth, "a value fits a word")
    // 7 pending bits and 56 new ones fit into a word.
    if width > 56 {
      writeNarrow(value & 0xFFFF_FFFF, width: 32)
      writeNarrow(value >> 32 & ~(~0 << UInt64(width - 32)), width: width - 32)
    } else {
      writeNarrow(value & ~(~0 << UInt64(width)), width: width)
    }
  }

  private mutating func writeNarrow(_ value: UInt64, width: Int) {
    assert(
      pendingCount < 8 && width <= 56 && value >> UInt64(width) == 0,
      "the pending bits and the new ones fit a word")
    pending |= value << UInt64(pendingCount)
    pendingCount += width
    while pendingCount >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: pending))
      pending >>= 8
      pendingCount -= 8
    }
  }

  /// Returns all bytes, the last one padded with zeros.
  consuming func finish() -> [UInt8] {
    assert(pendingCount < 8 && pending >> UInt64(pendingCount) == 0, "the last byte is padded with zeros")
    if pendingCount > 0 { bytes.append(UInt8(truncatingIfNeeded: pending)) }
    return bytes
  }
}
