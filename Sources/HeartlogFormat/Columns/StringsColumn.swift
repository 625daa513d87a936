/// Texts in the first encoding that suits all of them: see "strings" in docs/format.md.
enum StringsColumn {
  static let plain: UInt8 = 0
  static let nibbles: UInt8 = 1
  static let lowerUUIDs: UInt8 = 2
  static let upperUUIDs: UInt8 = 3
  static let seconds: UInt8 = 4
  static let milliseconds: UInt8 = 5
  static let repeated: UInt8 = 6

  /// With fewer values, a table of the distinct ones is not worth it.
  static let repeatedCountMin = 8
  static let repeatedShare = 4

  /// - Parameter texts: at least one text.
  static func encode(_ texts: Texts, mayRepeat: Bool = true, to writer: inout ByteWriter) {
    assert(!texts.isEmpty, "a column without a value is left out")
    if let isUpper = uuidCase(texts) {
      writer.u8(isUpper ? upperUUIDs : lowerUUIDs)
      _ = texts.allSatisfy {
        UUIDText.append($0, to: &writer)
        return true
      }
    } else if let times = times(texts, length: RFC3339.secondsLength) {
      writer.u8(seconds)
      IntsColumn.encode(times.map { $0 / 1_000 }, to: &writer)
    } else if let times = times(texts, length: RFC3339.millisecondsLength) {
      writer.u8(milliseconds)
      IntsColumn.encode(times, to: &writer)
    } else if NibbleText.suits(texts) {
      writer.u8(nibbles)
      NibbleText.encode(texts, to: &writer)
    } else if mayRepeat, texts.count >= repeatedCountMin,
      let distinct = texts.distinct(atMost: texts.count / repeatedShare)
    {
      writer.u8(repeated)
      writer.varint(distinct.texts.count)
      encode(distinct.texts, mayRepeat: false, to: &writer)
      IntsColumn.encode(distinct.indices, to: &writer)
    } else {
      writer.u8(plain)
      var lengths = ByteWriter()
      IntsColumn.encode(texts.lengths.map(Int64.init), to: &lengths)
      writer.lengthAndBytes(lengths.bytes)
      writer.raw(texts.bytes)
    }
  }

  // MARK: - Choosing an encoding

  /// Returns true for upper case, false for lower case, nil unless all texts are UUIDs of one case.
  private static func uuidCase(_ texts: Texts) -> Bool? {
    for isUpper in [false, true] where texts.allSatisfy({ UUIDText.suits($0, isUpper: isUpper) }) {
      return isUpper
    }
    return nil
  }

  private static func times(_ texts: Texts, length: Int) -> [Int64]? {
    var times: [Int64] = []
    let suits = texts.allSatisfy { text in
      guard text.count == length, let time = RFC3339.milliseconds(text) else { return false }
      times.append(time)
      return true
    }
    return suits ? times : nil
  }

  /// Fills `output` with texts, as slices. The caller must limit the count.
  static func decode(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>,
    texts: inout TextBuilder, mayRepeat: Bool = true
  ) throws(MalformedError) -> TextTraits {
    switch try reader.u8() {
    case plain: return try decodePlain(from: &reader, into: output, texts: &texts)
    case nibbles: return try NibbleText.decode(from: &reader, into: output, texts: &texts)
    case lowerUUIDs: return try decodeUUIDs(from: &reader, into: output, texts: &texts, isUpper: false)
    case upperUUIDs: return try decodeUUIDs(from: &reader, into: output, texts: &texts, isUpper: true)
    case seconds: return try decodeTimes(from: &reader, into: output, texts: &texts, unit: 1_000)
    case milliseconds: return try decodeTimes(from: &reader, into: output, texts: &texts, unit: 1)
    case repeated where mayRepeat && output.count >= repeatedCountMin:
      return try decodeRepeated(from: &reader, into: output, texts: &texts)
    case let encoding: throw MalformedError("texts in encoding \(encoding)")
    }
  }

  private static func decodeRepeated(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder
  ) throws(MalformedError) -> TextTraits {
    let distinctCount = try reader.count(atMost: output.count / repeatedShare, "distinct texts")
    let distinct = UnsafeMutableBufferPointer<Int64>.allocate(capacity: distinctCount)
    defer { distinct.deallocate() }
    let all = try decode(from: &reader, into: distinct, texts: &texts, mayRepeat: false)
    try IntsColumn.decode(from: &reader, into: output)
    // Lengths are noted for texts that are used; unused ones are not part of the column.
    var traits = TextTraits(isPrintable: all.isPrintable, isRepeated: true)
    for index in output.indices {
      let number = output[index]
      guard number >= 0, number < distinctCount else { throw MalformedError("the distinct text \(number)") }
      let slice = TextSlice(word: distinct[Int(number)])
      output[index] = slice.word
      traits.note(slice.count)
    }
    return traits
  }

  private static func decodePlain(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder
  ) throws(MalformedError) -> TextTraits {
    var lengthsReader = ByteReader(try reader.lengthAndBytes())
    try IntsColumn.decode(from: &lengthsReader, into: output)
    try lengthsReader.end()
    var traits = TextTraits(isPrintable: false)
    var left = reader.remaining
    for length in output {
      guard length >= 0, length <= left else { throw .endOfBytes }
      left -= Int(length)
      traits.note(Int(length))
    }
    let bytes = try reader.take(traits.byteCount)
    try bytes.checkUTF8()
    try texts.reserve(bytes.count)
    let offset = texts.place(bytes)
    var start = 0
    for index in output.indices {
      let length = Int(output[index])
      // The concatenation is well-formed. Each text is too, unless one begins inside a character.
      if length > 0, bytes[start] & 0xC0 == 0x80 {
        throw MalformedError("text that is not well-formed UTF-8")
      }
      output[index] = TextSlice(offset: offset + start, count: length).word
      start += length
    }
    return traits
  }

  private static func decodeUUIDs(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder,
    isUpper: Bool
  ) throws(MalformedError) -> TextTraits {
    guard output.count <= reader.remaining / 16 else { throw .endOfBytes }
    let bytes = try reader.take(16 * output.count)
    return try fill(output, length: UUIDText.length, texts: &texts) { (index, text) throws(MalformedError) in
      let uuid = UnsafeRawBufferPointer(rebasing: bytes[16 * index..<16 * index + 16])
      UUIDText.write(uuid, isUpper: isUpper, to: text)
    }
  }

  private static func decodeTimes(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder,
    unit: Int64
  ) throws(MalformedError) -> TextTraits {
    try IntsColumn.decode(from: &reader, into: output)
    let withFraction = unit == 1
    let length = withFraction ? RFC3339.millisecondsLength : RFC3339.secondsLength
    return try fill(output, length: length, texts: &texts) { (index, text) throws(MalformedError) in
      let (milliseconds, overflow) = output[index].multipliedReportingOverflow(by: unit)
      guard !overflow, RFC3339.write(milliseconds: milliseconds, withFraction: withFraction, to: text)
      else { throw MalformedError("a time outside the years 0000 to 9999") }
    }
  }

  /// Fills `output` with texts of one length, each of which `write` writes.
  @inline(__always)
  private static func fill(
    _ output: UnsafeMutableBufferPointer<Int64>, length: Int, texts: inout TextBuilder,
    _ write: (_ index: Int, _ text: UnsafeMutableRawBufferPointer) throws(MalformedError) -> Void
  ) throws(MalformedError) -> TextTraits {
    try texts.reserve(length * output.count)
    let room = texts.room
    let offset = texts.take(length * output.count)
    for index in output.indices {
      try write(index, UnsafeMutableRawBufferPointer(rebasing: room[length * index..<length * (index + 1)]))
      let slice = TextSlice(offset: offset + length * index, count: length)
      output.initializeElement(at: index, to: slice.word)
    }
    return TextTraits(
      isPrintable: true, shortest: length, longest: length, byteCount: output.count * length)
  }
}
