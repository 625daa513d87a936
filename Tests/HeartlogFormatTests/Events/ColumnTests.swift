import TestSupport
import Testing

@testable import HeartlogFormat

@Suite("Columns")
struct ColumnTests {
  private func roundTrip<Value: Equatable>(
    _ values: [Value], encode: ([Value], inout ByteWriter) -> Void,
    decode: (inout ByteReader, Int) throws -> [Value]
  ) throws -> UInt8 {
    var writer = ByteWriter()
    encode(values, &writer)
    try writer.bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let decoded = try decode(&reader, values.count)
      #expect(decoded == values)
      #expect(reader.isAtEnd)
      for length in 0..<bytes.count where length < 200 {
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
        #expect(throws: MalformedError.self) { _ = try decode(&reader, values.count) }
      }
    }
    return writer.bytes[0]
  }

  private func ints(_ values: [Int64]) throws -> UInt8 {
    try roundTrip(
      values, encode: { IntsColumn.encode($0, to: &$1) },
      decode: { try IntsColumn.decode(from: &$0, count: $1) })
  }

  private func strings(_ values: [String]) throws -> UInt8 {
    try roundTrip(
      values, encode: { StringsColumn.encode(Texts($0), to: &$1) },
      decode: { try StringsColumn.decode(from: &$0, count: $1) })
  }

  private func doubles(_ values: [Double]) throws -> UInt8 {
    try roundTrip(
      values, encode: { DoublesColumn.encode($0, to: &$1) },
      decode: { try DoublesColumn.decode(from: &$0, count: $1) })
  }

  @Test("a column of varints has the numbers that a reader reads one by one", arguments: 0..<20)
  func varintsOneByOne(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let values = (0..<300).map { _ in
      Int64.random(in: .min ... .max, using: &generator) >> Int64.random(in: 0...63, using: &generator)
    }
    var writer = ByteWriter()
    writer.u8(IntsColumn.varint)
    for value in values { writer.zigzag(value) }
    try writer.bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let column = try [Int64](unsafeUninitializedCapacity: values.count) { output, count in
        try IntsColumn.decode(
          from: &reader, into: UnsafeMutableBufferPointer(rebasing: output[..<values.count]))
        count = values.count
      }
      #expect(reader.isAtEnd)
      #expect(column == values)
      var oneByOne = ByteReader(bytes)
      _ = try oneByOne.u8()
      for value in values { #expect(try oneByOne.zigzag() == value) }
    }
  }

  @Test("numbers at their edges come back")
  func intEdges() throws {
    #expect(try ints([0]) == IntsColumn.constant)
    #expect(try ints([.min, .min]) == IntsColumn.constant)
    #expect(try ints([.min, .max]) == IntsColumn.varint)
    var random = SeededGenerator(seed: 64)
    let wide = [.min, .max] + (0..<100).map { _ in Int64(bitPattern: random.next()) }
    #expect(try ints(wide) == IntsColumn.packed)
    // One far outlier among small numbers: an escape in Rice coding.
    let escaped = (0..<200).map { Int64($0 % 3) } + [1 << 40]
    _ = try ints(escaped)
    #expect(try ints((0..<4_000).map { Int64($0 % 7 == 0 ? $0 : 0) }) != IntsColumn.constant)
  }

  @Test("every encoding of numbers is taken by some generated column", arguments: 0..<60)
  func intsOfAllSizes(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let bits = UInt64(1 + seed)
    let count = Int.random(in: 1...300, using: &random)
    // Widths that vary from value to value favour varints and sized numbers, one width favours packed ones,
    // and halving chances favour Rice.
    _ = try ints((0..<count).map { _ in Int64(bitPattern: random.next() >> (64 - bits)) })
    _ = try ints((0..<count).map { _ in Int64(bitPattern: random.next() >> (random.next() % 64)) })
    _ = try ints(
      (0..<count).map { _ in
        Int64(
          bitPattern: UInt64(random.next().trailingZeroBitCount) << (bits % 50) | random.next()
            >> (64 - bits % 50 - 1))
      })
  }

  @Test("numbers are stored in the smallest encoding")
  func smallestEncoding() throws {
    // Sized numbers take a quarter of a bit more than the three bits of packed ones.
    #expect(try ints((0..<512).map { $0 % 8 }) == IntsColumn.packed)
    // Here they take more than a bit less.
    #expect(try ints((0..<512).map { Int64(1) << ($0 % 8) }) == IntsColumn.sized)
  }

  @Test("columns that claim more bytes together than a block may have are refused")
  func sizeTogether() {
    // LZ4 expands a byte to at most 255.
    let claimed = Limits.blockColumnsBytesMax / 2 + 1
    func read(_ keys: [ColumnKey]) throws {
      var writer = ByteWriter()
      writer.varint(keys.count)
      for key in keys {
        writer.varint(key.id)
        writer.varint(key.index)
        writer.u8(1)
        writer.varint(claimed)
        writer.lengthAndBytes([UInt8](repeating: 0, count: claimed / 255 + 1))
      }
      try writer.bytes.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        _ = try ColumnReader(&reader)
      }
    }
    #expect(throws: Never.self) { try read([.kinds]) }
    #expect(throws: MalformedError.self) { try read([.kinds, .shapes]) }
  }

  @Test("the columns of a block are sorted, and stand once")
  func order() {
    func read(_ keys: [ColumnKey]) throws {
      var writer = ByteWriter()
      writer.varint(keys.count)
      for key in keys {
        writer.varint(key.id)
        writer.varint(key.index)
        writer.u8(0)
        writer.lengthAndBytes([7])
      }
      try writer.bytes.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        _ = try ColumnReader(&reader)
      }
    }
    #expect(throws: Never.self) { try read([.kinds, .items(library: 0), .items(library: 1), .shapes]) }
    for keys in [[.shapes, .kinds], [.kinds, .kinds], [.items(library: 1), .items(library: 0)]]
      as [[ColumnKey]]
    {
      #expect(throws: MalformedError.self, "\(keys)") { try read(keys) }
    }
  }

  @Test("Rice numbers with an escape, exactly")
  func riceEscape() throws {
    // Smallest 0, k = 0: 24 1 bits and 64 bits of 24, then 23 1 bits and a 0 bit, then 0.
    let payload: [UInt8] =
      [3, 0, 0, 0xFF, 0xFF, 0xFF, 24, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0x7F, 0]
    let values = try payload.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let values = try IntsColumn.decode(from: &reader, count: 3)
      try reader.end()
      return values
    }
    #expect(values == [24, 23, 0])
  }

  @Test(
    "numbers that no column holds are refused",
    arguments: [
      [9, 0, 0], [2, 0, 0, 0], [2, 0, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0], [3, 0, 57, 0, 0, 0, 0, 0, 0, 0, 0],
      [4, 0, 0, 0], [4, 0, 8, 0, 0, 0], [4, 0, 7, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      // A smallest value of Int64.max, and 1 above it.
      [2, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 1, 1],
      // A 1 among the bits that fill up the last byte.
      [2, 0, 1, 2],
    ] as [[UInt8]])
  func malformedInts(payload: [UInt8]) throws {
    payload.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      #expect(throws: MalformedError.self) { _ = try IntsColumn.decode(from: &reader, count: 1) }
    }
  }

  @Test("texts take the first encoding that suits them all")
  func stringEncodings() throws {
    let lower = "00112233-4455-6677-8899-aabbccddeeff"
    let upper = "00112233-4455-6677-8899-AABBCCDDEEFF"
    #expect(try strings([lower, lower]) == StringsColumn.lowerUUIDs)
    #expect(try strings([upper]) == StringsColumn.upperUUIDs)
    #expect(try strings([lower, upper]) == StringsColumn.plain)
    #expect(try strings(["00000000-0000-0000-0000-000000000000", upper]) == StringsColumn.upperUUIDs)
    #expect(try strings(["00000000-0000-0000-0000-000000000000"]) == StringsColumn.lowerUUIDs)
    #expect(try strings(["00112233-4455-6677-8899-aAbbccddeeff"]) == StringsColumn.plain)
    #expect(try strings(["", "1", "0123456789.v-/:"]) == StringsColumn.nibbles)
    #expect(try strings(["", "", ""]) == StringsColumn.nibbles)
    #expect(try strings(["a", ""]) == StringsColumn.plain)
    #expect(try strings(["é", "e\u{301}", "𝕏"]) == StringsColumn.plain)
    #expect(try strings(Array(repeating: "ab", count: 8)) == StringsColumn.repeated)
    #expect(try strings(Array(repeating: "ab", count: 7)) == StringsColumn.plain)
    #expect(try strings(Array(repeating: "é", count: 8) + ["e\u{301}"]) == StringsColumn.repeated)
    #expect(try strings((0..<8).map { "t\($0 % 3)" }) == StringsColumn.plain)
  }

  @Test("texts that spell é in two ways stay apart")
  func spellings() throws {
    let texts = Array(repeating: ["é", "e\u{301}"], count: 8).flatMap { $0 }
    var writer = ByteWriter()
    StringsColumn.encode(Texts(texts), to: &writer)
    let decoded = try writer.bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      return try StringsColumn.decode(from: &reader, count: texts.count)
    }
    #expect(zip(texts, decoded).allSatisfy { $0.hasSameBytes(as: $1) })
  }

  @Test("dates are numbers where they are real and in exactly one form")
  func dates() throws {
    let seconds = [
      "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2000-02-29T23:59:59Z", "1970-01-01T00:00:00Z",
    ]
    #expect(try strings(seconds) == StringsColumn.seconds)
    for date in seconds { #expect(try strings([date]) == StringsColumn.seconds) }
    #expect(
      try strings(["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]) == StringsColumn.milliseconds)
    for text in [
      "1900-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z",
      "2024-04-31T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2016-12-31T23:59:60Z",
      "2024-01-01T00:00:00z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00.00Z", "+024-01-01T00:00:00Z",
    ] {
      #expect(try strings([text]) == StringsColumn.plain, "\(text)")
    }
  }

  @Test("each day of four centuries has its own text, and comes back", arguments: [0, 1_600, 9_600])
  func days(year: Int) throws {
    let start = try #require(
      Array("\(String(repeating: "0", count: 4 - "\(year)".count))\(year)-01-01T00:00:00Z".utf8)
        .withUnsafeBytes { RFC3339.milliseconds($0) })
    var before = ""
    for day in 0..<146_097 {
      let time = start + Int64(day) * 86_400_000
      let text = try #require(RFC3339.text(milliseconds: time, withFraction: false))
      guard before < text, text.withUTF8Bytes({ RFC3339.milliseconds($0) }) == time else {
        Issue.record("\(before), then \(text)")
        return
      }
      before = text
    }
    #expect(before.hasSuffix("-12-31T00:00:00Z"))
  }

  @Test(
    "a time with another byte in any place is another time or none",
    arguments: ["2024-02-29T23:59:58Z", "1999-10-31T00:00:00.000Z", "0000-01-01T19:38:07.659Z"])
  func bytesOfATime(text: String) throws {
    let separators = text.utf8.map { (0x30...0x39).contains($0) ? nil : $0 }
    var found = 0
    for (place, separator) in separators.enumerated() {
      for byte in UInt8.min...UInt8.max {
        var bytes = Array(text.utf8)
        bytes[place] = byte
        let time = bytes.withUnsafeBytes { RFC3339.milliseconds($0) }
        guard separator.map({ $0 == byte }) ?? (0x30...0x39).contains(byte) else {
          #expect(time == nil, "\(bytes)")
          continue
        }
        let changed = String(decoding: bytes, as: UTF8.self)
        // The parser of all forms also reads a leap second.
        let isLeapSecond = changed.dropFirst(17).hasPrefix("60")
        #expect(time == (isLeapSecond ? nil : try? RFC3339.parse(changed)), "\(changed)")
        if time != nil { found += 1 }
      }
    }
    #expect(found > text.utf8.count)
    for count in 0..<30 where count != 20 && count != 24 {
      let bytes = Array((text + text).utf8.prefix(count))
      #expect(bytes.withUnsafeBytes { RFC3339.milliseconds($0) } == nil, "\(count) bytes")
    }
  }

  @Test("doubles are decimal fractions where all of them are")
  func doubleEncodings() throws {
    #expect(try doubles([0.1, -0.25, 1234.5]) == DoublesColumn.decimal)
    #expect(try doubles([0.1, 1e300]) == DoublesColumn.plain)
    #expect(try doubles([.leastNonzeroMagnitude]) == DoublesColumn.plain)
    #expect(try doubles([.greatestFiniteMagnitude, -.greatestFiniteMagnitude]) == DoublesColumn.plain)
    #expect(try doubles([1e-17]) == DoublesColumn.decimal)
    #expect(try doubles([1e-18]) == DoublesColumn.plain)
    #expect(try doubles([4_503_599_627_370_495.5]) == DoublesColumn.plain)
    #expect(try doubles([90_071_992_547_409.9]) == DoublesColumn.decimal)
  }

  @Test(
    "doubles that no value is are refused",
    arguments: [
      [0, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F], [0, 1, 0, 0, 0, 0, 0, 0xF0, 0x7F], [0, 0, 0, 0, 0, 0, 0, 0, 0x80],
      [0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F], [1, 0, 0, 2], [1, 18, 0, 2], [1, 1, 0, 20], [2, 0],
    ] as [[UInt8]])
  func malformedDoubles(payload: [UInt8]) throws {
    payload.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      #expect(throws: MalformedError.self) { _ = try DoublesColumn.decode(from: &reader, count: 1) }
    }
  }

  @Test("a table of texts within a table of texts is refused")
  func nestedRepeats() {
    let payload: [UInt8] = [6, 8, 6, 1, 1, 0x10, 0, 0, 0, 0]
    payload.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      #expect(throws: MalformedError.self) { _ = try StringsColumn.decode(from: &reader, count: 32) }
    }
  }

  @Test(
    "an input is compressed alike, whatever was compressed before it", arguments: 1...8 as ClosedRange<UInt64>
  )
  func compressor(seed: UInt64) throws {
    print("compressor: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let used = LZ4.HighCompressor()
    for _ in 0..<120 {
      let count = Int.random(in: 0...(Bool.random(using: &random) ? 40 : 3_000), using: &random)
      // From one value, which repeats, to 256, which cannot be compressed.
      let highest = UInt8.random(in: 0...255, using: &random)
      let input = (0..<count).map { _ in UInt8.random(in: 0...highest, using: &random) }
      let output = input.withUnsafeBytes { used.compress($0) }
      #expect(output == input.withUnsafeBytes { LZ4.HighCompressor().compress($0) })
      guard let output else { continue }
      #expect(output.count < count)
      var read = [UInt8](repeating: 0, count: count)
      try output.withUnsafeBytes { output in
        try read.withUnsafeMutableBytes { try LZ4.decompress(output, into: $0) }
      }
      #expect(read == input)
    }
  }
}
