import TestSupport
import Testing

@testable import HeartlogFormat

@Suite("Numbers are read as their bits say, wherever they stand")
struct NumberDecodingTests {
  private func decode(_ payload: [UInt8], count: Int) throws -> [Int64] {
    try payload.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let values = try IntsColumn.decode(from: &reader, count: count)
      try reader.end()
      return values
    }
  }

  /// A column of that encoding and parameter over the smallest value 0, whichever the encoder would take.
  private func payload(
    _ encoding: UInt8, _ parameter: Int, _ offsets: [UInt64], _ write: (UInt64, inout BitWriter) -> Void
  ) -> [UInt8] {
    var writer = BitWriter(bitCount: 0)
    for offset in offsets { write(offset, &writer) }
    return [encoding, 0, UInt8(parameter)] + writer.finish()
  }

  private func rice(_ offsets: [UInt64], shift: Int) -> [UInt8] {
    payload(IntsColumn.rice, shift, offsets) { offset, bits in
      let ones = offset >> UInt64(shift)
      if ones < UInt64(IntsColumn.riceEscape) {
        bits.write(~(~0 << ones), width: Int(ones) + 1)
        bits.write(offset, width: shift)
      } else {
        bits.write(~0, width: IntsColumn.riceEscape)
        bits.write(offset, width: 64)
      }
    }
  }

  private func sized(_ offsets: [UInt64], lengthWidth: Int) -> [UInt8] {
    payload(IntsColumn.sized, lengthWidth, offsets) { offset, bits in
      let length = IntsColumn.bitCount(offset)
      bits.write(UInt64(length), width: lengthWidth)
      bits.write(offset, width: max(0, length - 1))
    }
  }

  /// Every prefix that lacks a byte is refused.
  private func expect(_ payload: [UInt8], _ offsets: [UInt64], _ context: String) throws {
    #expect(try decode(payload, count: offsets.count).map { UInt64(bitPattern: $0) } == offsets, "\(context)")
    #expect(throws: MalformedError.self, "\(context)") {
      try decode(payload.dropLast(), count: offsets.count)
    }
    #expect(throws: MalformedError.self, "\(context)") { try decode(payload + [0], count: offsets.count) }
  }

  private static let counts = [1, 2, 7, 8, 9, 63, 64, 65, 200]

  @Test("packed numbers of every width", arguments: 1...64)
  func packed(width: Int) throws {
    var random = SeededGenerator(seed: UInt64(width))
    for count in Self.counts {
      // Offsets over 0 fit a signed number.
      let offsets = (0..<count).map { _ in (random.next() >> 1) >> UInt64(max(0, 63 - width)) }
      let payload = payload(IntsColumn.packed, width, offsets) { $1.write($0, width: width) }
      try expect(payload, offsets, "\(count) of \(width) bits")
    }
  }

  @Test("Rice numbers of every shift, with escapes and without", arguments: 0...56)
  func rice(shift: Int) throws {
    var random = SeededGenerator(seed: UInt64(shift) + 100)
    for count in Self.counts {
      for onesMax in [1, 3, 23, 24, 60] as [UInt64] {
        let offsets = (0..<count).map { _ -> UInt64 in
          let ones = random.next() % (onesMax + 1)
          return ones << UInt64(shift) | random.next() & ~(~0 << UInt64(shift))
        }
        try expect(
          rice(offsets, shift: shift), offsets, "\(count) of up to \(onesMax) ones above \(shift) bits")
      }
    }
  }

  @Test("sized numbers of every length", arguments: 1...7)
  func sized(lengthWidth: Int) throws {
    var random = SeededGenerator(seed: UInt64(lengthWidth) + 200)
    let longest = min(63, (1 << lengthWidth) - 1)
    for count in Self.counts {
      for most in Set([0, 1, longest / 2, longest]) {
        let offsets = (0..<count).map { _ -> UInt64 in
          let length = Int.random(in: 0...most, using: &random)
          return length == 0 ? 0 : (random.next() | 1 << 63) >> UInt64(64 - length)
        }
        try expect(
          sized(offsets, lengthWidth: lengthWidth), offsets, "\(count) of up to \(most) bits, \(lengthWidth)")
      }
    }
  }

  @Test("varints of every length, beside each other", arguments: 0..<40)
  func varints(seed: Int) throws {
    print("varints: seed \(seed)")
    var random = SeededGenerator(seed: UInt64(seed))
    let values = (0..<Int.random(in: 1...60, using: &random)).map { _ in
      Int64(bitPattern: random.next() >> (seed % 3 == 0 ? 64 - 1 - random.next() % 20 : random.next() % 64))
    }
    var writer = ByteWriter()
    writer.u8(IntsColumn.varint)
    for value in values { writer.zigzag(value) }
    #expect(try decode(writer.bytes, count: values.count) == values)
    #expect(throws: MalformedError.self) { try decode(writer.bytes.dropLast(), count: values.count) }
  }

  @Test("a varint that is not in its shortest form is refused at every place", arguments: 2...10)
  func longForms(length: Int) throws {
    let long = [0x81] + [UInt8](repeating: 0x80, count: length - 2) + [0]
    for before in 0...10 {
      for after in 0...10 {
        let payload =
          [IntsColumn.varint] + [UInt8](repeating: 2, count: before) + long
          + [UInt8](repeating: 2, count: after)
        #expect(throws: MalformedError.self, "\(before), \(after)") {
          try decode(payload, count: before + 1 + after)
        }
      }
    }
  }

  @Test("a varint past 64 bits is refused")
  func pastTheEnd() {
    let bits = [UInt8](repeating: 0xFF, count: 9)
    #expect(throws: Never.self) { try decode([IntsColumn.varint] + bits + [1], count: 1) }
    #expect(throws: MalformedError.self) { try decode([IntsColumn.varint] + bits + [2], count: 1) }
    #expect(throws: MalformedError.self) { try decode([IntsColumn.varint] + bits + [0x81, 0], count: 1) }
  }

  @Test("a constant is told without its values")
  func constants() throws {
    func constant(_ payload: [UInt8]) throws -> Int64? {
      try payload.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        let constant = try IntsColumn.decodeConstant(from: &reader)
        #expect(reader.isAtEnd == (constant != nil))
        return constant
      }
    }
    #expect(try constant([0, 5]) == -3)
    #expect(try constant([1, 5]) == nil)
    #expect(throws: MalformedError.self) { try constant([0]) }
  }
}
