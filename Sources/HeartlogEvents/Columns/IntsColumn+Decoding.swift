extension IntsColumn {
  /// Reads as many numbers as `output` has room for; the caller has bounded them, for a constant claims any number.
  static func decode(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    switch try reader.u8() {
    case constant: output.initialize(repeating: try reader.zigzag())
    case varint: try decodeVarints(from: &reader, into: output)
    case let encoding: try decodeBits(encoding, from: &reader, into: output)
    }
  }

  /// The number that all values of a column are, where it says so; else nothing is read.
  static func decodeConstant(from reader: inout ByteReader) throws(MalformedError) -> Int64? {
    guard reader.rest.first == constant else { return nil }
    _ = try reader.u8()
    return try reader.zigzag()
  }

  // MARK: - Varints

  private static func decodeVarints(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    guard output.count <= reader.remaining else { throw .endOfBytes }
    var place = 0
    while place < output.count {
      let used = decodeShortVarints(reader.rest, into: output, from: &place)
      _ = try reader.take(used)
      // One that is longer than a word, malformed, or too near to the end.
      if place < output.count {
        output.initializeElement(at: place, to: try reader.zigzag())
        place += 1
      }
    }
  }

  /// Reads varints of up to eight bytes without a branch for each byte, up to the first that is not one of these.
  ///
  /// - Returns: how many bytes were used.
  private static func decodeShortVarints(
    _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<Int64>, from place: inout Int
  ) -> Int {
    let highBits: UInt64 = 0x8080_8080_8080_8080
    var offset = 0
    var next = place
    defer { place = next }
    while next < output.count, offset <= bytes.count - 8 {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let ends = ~word & highBits
      guard ends != 0 else { break }
      let lastBit = ends.trailingZeroBitCount
      // The bytes up to the first end, of which seven bits each are pushed together.
      var value = word & (ends ^ (ends &- 1)) & ~highBits
      // A last byte of 0 after others.
      if lastBit > 7, value >> UInt64(lastBit - 7) == 0 { break }
      value = (value & 0x007F_007F_007F_007F) | (value & 0x7F00_7F00_7F00_7F00) >> 1
      value = (value & 0x0000_3FFF_0000_3FFF) | (value & 0x3FFF_0000_3FFF_0000) >> 2
      value = (value & 0x0000_0000_0FFF_FFFF) | (value & 0x0FFF_FFFF_0000_0000) >> 4
      output.initializeElement(at: next, to: Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1))
      next += 1
      offset += (lastBit + 1) >> 3
    }
    return offset
  }

  // MARK: - Bits

  private static func decodeBits(
    _ encoding: UInt8, from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    let smallest = try reader.zigzag()
    let parameter = Int(try reader.u8())
    // Each value takes at least one bit.
    guard output.count <= 8 * reader.remaining else { throw .endOfBytes }
    var bits = BitReader(reader)
    let largestOffset: UInt64
    switch encoding {
    case packed:
      guard (1...64).contains(parameter) else {
        throw MalformedError("packed numbers \(parameter) bits wide")
      }
      largestOffset = bits.readPacked(width: parameter, over: smallest, into: output)
    case rice:
      guard parameter <= riceShiftMax else { throw MalformedError("Rice numbers shifted by \(parameter)") }
      largestOffset = bits.readRice(shift: parameter, over: smallest, into: output)
    case sized:
      guard (1...7).contains(parameter) else { throw MalformedError("lengths \(parameter) bits wide") }
      largestOffset = try bits.readSized(lengthWidth: parameter, over: smallest, into: output)
    default: throw MalformedError("numbers in encoding \(encoding)")
    }
    try bits.finish(&reader)
    // The distance from `smallest` to the largest Int64 is right as an unsigned number, whatever the sign.
    guard largestOffset <= UInt64(bitPattern: Int64.max &- smallest) else {
      throw MalformedError("a number past 64 bits")
    }
  }
}

// Whole columns of bits. Each returns the largest offset over the smallest value, and has two loops: one over a window in a
// register, as long as words of eight bytes are left, and one for what the window cannot hold and for the end.
extension BitReader {
  fileprivate mutating func readPacked(
    width: Int, over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) -> UInt64 {
    var largest: UInt64 = 0
    var place = 0
    if width <= 56 {
      let mask: UInt64 = ~(~0 << UInt64(width))
      let lastBit = 8 * (bytes.count - 8) + 7
      var bit = position
      while place < output.count, bit <= lastBit {
        let offset = word(at: bit >> 3) &>> UInt64(bit & 7) & mask
        largest = max(largest, offset)
        output.initializeElement(at: place, to: smallest &+ Int64(bitPattern: offset))
        place += 1
        bit += width
      }
      position = bit
    }
    while place < output.count {
      let offset = read(width)
      largest = max(largest, offset)
      output.initializeElement(at: place, to: smallest &+ Int64(bitPattern: offset))
      place += 1
    }
    return largest
  }

  fileprivate mutating func readRice(
    shift: Int, over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) -> UInt64 {
    if shift == 0 { return readUnary(over: smallest, into: output) }
    let mask: UInt64 = ~(~0 << UInt64(shift))
    // With fewer ones than that, a value fits into a window.
    let onesMax = min(IntsColumn.riceEscape, 56 - shift)
    var largest: UInt64 = 0
    var place = 0
    while place < output.count {
      if var window = BitWindow(self) {
        while place < output.count, window.refill() {
          // With a highest bit that is no 1: the count of zeros of nothing would take longer.
          let ones = (~window.bits | 1 << 63).trailingZeroBitCount
          guard ones < onesMax else { break }
          let offset = UInt64(ones) &<< UInt64(shift) | (window.bits &>> UInt64(ones + 1)) & mask
          window.skip(ones + 1 + shift)
          largest = max(largest, offset)
          output.initializeElement(at: place, to: smallest &+ Int64(bitPattern: offset))
          place += 1
        }
        position = window.position
        if place == output.count { break }
      }
      let ones = readOnes(atMost: IntsColumn.riceEscape)
      let offset = ones < IntsColumn.riceEscape ? UInt64(ones) << UInt64(shift) | read(shift) : read(64)
      largest = max(largest, offset)
      output.initializeElement(at: place, to: smallest &+ Int64(bitPattern: offset))
      place += 1
    }
    return largest
  }

  /// Rice numbers of nothing but their 1 bits: each 0 bit ends one, and a word has many of these.
  private mutating func readUnary(
    over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) -> UInt64 {
    var largest: UInt64 = 0
    var place = 0
    while place < output.count {
      if position >> 3 <= bytes.count - 8 {
        // Of these bits, those above the lowest 57 may not be the stream's.
        var ends = ~(word(at: position >> 3) &>> UInt64(position & 7)) & (1 << 57 - 1)
        var start = 0
        while ends != 0, place < output.count {
          let end = ends.trailingZeroBitCount
          let ones = UInt64(truncatingIfNeeded: end - start)
          guard ones < UInt64(IntsColumn.riceEscape) else { break }
          largest = max(largest, ones)
          output.initializeElement(at: place, to: smallest &+ Int64(bitPattern: ones))
          place += 1
          start = end + 1
          ends &= ends &- 1
        }
        position += start
        if start > 0 || place == output.count { continue }
      }
      let ones = readOnes(atMost: IntsColumn.riceEscape)
      let offset = ones < IntsColumn.riceEscape ? UInt64(ones) : read(64)
      largest = max(largest, offset)
      output.initializeElement(at: place, to: smallest &+ Int64(bitPattern: offset))
      place += 1
    }
    return largest
  }

  fileprivate mutating func readSized(
    lengthWidth: Int, over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) -> UInt64 {
    let lengthMask: UInt64 = ~(~0 << UInt64(lengthWidth))
    var largest: UInt64 = 0
    var place = 0
    while place < output.count {
      if var window = BitWindow(self) {
        while place < output.count, window.refill() {
          let length = Int(truncatingIfNeeded: window.bits & lengthMask)
          guard length <= 48 else { break }
          // Of 0 there is no highest bit: what is shifted out twice leaves 0, the bits read and the highest alike.
          let highest = (UInt64(1) &<< UInt64(length)) >> 1
          let width = max(0, length - 1)
          let low = (window.bits &>> UInt64(lengthWidth)) & ~(~0 &<< UInt64(width))
          let offset = low | highest
          window.skip(lengthWidth + width)
          largest = max(largest, offset)
          output.initializeElement(at: place, to: smallest &+ Int64(bitPattern: offset))
          place += 1
        }
        position = window.position
        if place == output.count { break }
      }
      let length = Int(read(lengthWidth))
      guard length <= 64 else { throw MalformedError("a number of \(length) bits") }
      let offset = length == 0 ? 0 : read(length - 1) | 1 << UInt64(length - 1)
      largest = max(largest, offset)
      output.initializeElement(at: place, to: smallest &+ Int64(bitPattern: offset))
      place += 1
    }
    return largest
  }
}
