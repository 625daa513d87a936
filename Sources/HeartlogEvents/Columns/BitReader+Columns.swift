// Decoders for whole columns of bits. Each returns the largest offset from the smallest value. Each has two loops: a fast one over a window
// in a register, while words of eight bytes remain, and a slow one for values that the window cannot hold and for the end.
extension BitReader {
  mutating func readPacked(
    width: Int, over smallest: Int64, into output: UnsafeMutableBufferPointer<Int64>
  ) -> UInt64 {
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
