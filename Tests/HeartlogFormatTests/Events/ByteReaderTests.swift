import Testing

@testable import HeartlogFormat

@Suite("Integers")
struct ByteReaderTests {
  @Test("varints come back in their shortest form")
  func varints() throws {
    for shift in 0..<64 {
      for value in [UInt64(1) << UInt64(shift), (UInt64(1) << UInt64(shift)) - 1, .max >> UInt64(shift)] {
        var writer = ByteWriter()
        writer.varint(value)
        #expect(writer.count == ByteWriter.varintByteCount(value))
        let read = try writer.bytes.withUnsafeBytes { bytes in
          var reader = ByteReader(bytes)
          let read = try reader.varint()
          try reader.end()
          return read
        }
        #expect(read == value)
      }
    }
  }

  @Test(
    "varints in another form are refused",
    arguments: [
      [], [0x80], [0x80, 0], [0xFF, 0x80, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x81, 0],
    ] as [[UInt8]])
  func malformedVarints(bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      #expect(throws: MalformedError.self) { _ = try reader.varint() }
    }
  }

  @Test("signed numbers come back", arguments: [0, -1, 1, .min, .max, .min + 1] as [Int64])
  func zigzag(value: Int64) throws {
    var writer = ByteWriter()
    writer.zigzag(value)
    let read = try writer.bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      return try reader.zigzag()
    }
    #expect(read == value)
  }
}
