/// Texts in the first encoding that suits them all: see "strings" in docs/format.md.
enum StringsColumn {
  static let plain: UInt8 = 0
  static let nibbles: UInt8 = 1
  static let lowerUUIDs: UInt8 = 2
  static let upperUUIDs: UInt8 = 3
  static let seconds: UInt8 = 4
  static let milliseconds: UInt8 = 5
  static let repeated: UInt8 = 6

  /// So few values are not worth a table of the distinct ones.
  private static let repeatedCountMin = 8
  private static let repeatedShare = 4

  /// - Parameter texts: at least one.
  static func encode(_ texts: Texts, mayRepeat: Bool = true, to writer: inout ByteWriter) {
    if let isUpper = uuidCase(texts) {
      writer.u8(isUpper ? upperUUIDs : lowerUUIDs)
      _ = texts.allSatisfy {
        UUIDText.append($0, to: &writer)
        return true
      }
    } else if let times = times(texts, length: CivilTime.secondsLength) {
      writer.u8(seconds)
      IntsColumn.encode(times.map { $0 / 1_000 }, to: &writer)
    } else if let times = times(texts, length: CivilTime.millisecondsLength) {
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
      IntsColumn.encode(distinct.places, to: &writer)
    } else {
      writer.u8(plain)
      var lengths = ByteWriter()
      IntsColumn.encode(texts.lengths.map(Int64.init), to: &lengths)
      writer.lengthAndBytes(lengths.bytes)
      writer.raw(texts.bytes)
    }
  }

  /// Reads `count` texts; the caller has bounded `count`.
  static func decode(
    from reader: inout ByteReader, count: Int, mayRepeat: Bool = true
  ) throws(MalformedError) -> [String] {
    switch try reader.u8() {
    case plain: return try decodePlain(from: &reader, count: count)
    case nibbles: return try NibbleText.decode(from: &reader, count: count)
    case lowerUUIDs: return try decodeUUIDs(from: &reader, count: count, isUpper: false)
    case upperUUIDs: return try decodeUUIDs(from: &reader, count: count, isUpper: true)
    case seconds: return try decodeTimes(from: &reader, count: count, unit: 1_000)
    case milliseconds: return try decodeTimes(from: &reader, count: count, unit: 1)
    case repeated where mayRepeat && count >= repeatedCountMin:
      let distinctCount = try reader.count(atMost: count / repeatedShare, "distinct texts")
      let distinct = try decode(from: &reader, count: distinctCount, mayRepeat: false)
      var texts: [String] = []
      let places = try IntsColumn.decode(from: &reader, count: count)
      texts.reserveCapacity(count)
      for place in places {
        guard place >= 0, place < distinct.count else { throw MalformedError("the distinct text \(place)") }
        texts.append(distinct[Int(place)])
      }
      return texts
    case let encoding: throw MalformedError("texts in encoding \(encoding)")
    }
  }

  // MARK: - What suits

  /// True for upper case, false for lower, nil where the texts are not all UUIDs of one case.
  private static func uuidCase(_ texts: Texts) -> Bool? {
    for isUpper in [false, true] where texts.allSatisfy({ UUIDText.suits($0, isUpper: isUpper) }) {
      return isUpper
    }
    return nil
  }

  private static func times(_ texts: Texts, length: Int) -> [Int64]? {
    var times: [Int64] = []
    let suits = texts.allSatisfy { text in
      guard text.count == length, let time = CivilTime.milliseconds(text) else { return false }
      times.append(time)
      return true
    }
    return suits ? times : nil
  }

  // MARK: - Decoding

  private static func decodePlain(
    from reader: inout ByteReader, count: Int
  ) throws(MalformedError) -> [String] {
    var lengthsReader = ByteReader(try reader.lengthAndBytes())
    let lengths = try IntsColumn.decode(from: &lengthsReader, count: count)
    try lengthsReader.end()
    var texts: [String] = []
    texts.reserveCapacity(count)
    for length in lengths {
      guard length >= 0, length <= Int64(reader.remaining) else { throw .endOfBytes }
      texts.append(try String(wellFormed: try reader.take(Int(length))))
    }
    return texts
  }

  private static func decodeUUIDs(
    from reader: inout ByteReader, count: Int, isUpper: Bool
  ) throws(MalformedError) -> [String] {
    guard count <= reader.remaining / 16 else { throw .endOfBytes }
    var texts: [String] = []
    texts.reserveCapacity(count)
    for _ in 0..<count { texts.append(UUIDText.text(try reader.take(16), isUpper: isUpper)) }
    return texts
  }

  private static func decodeTimes(
    from reader: inout ByteReader, count: Int, unit: Int64
  ) throws(MalformedError) -> [String] {
    var texts: [String] = []
    let times = try IntsColumn.decode(from: &reader, count: count)
    texts.reserveCapacity(count)
    for time in times {
      let (milliseconds, overflow) = time.multipliedReportingOverflow(by: unit)
      guard !overflow, let text = CivilTime.text(milliseconds: milliseconds, withFraction: unit == 1) else {
        throw MalformedError("a time outside the years 0000 to 9999")
      }
      texts.append(text)
    }
    return texts
  }
}
