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
      guard text.count == length, let time = CivilTime.milliseconds(text) else { return false }
      times.append(time)
      return true
    }
    return suits ? times : nil
  }
}
