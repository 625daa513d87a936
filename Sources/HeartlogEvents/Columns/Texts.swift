/// Texts one after the other: what a column of strings is made from.
struct Texts {
  private(set) var bytes: [UInt8] = []
  private(set) var lengths: [Int] = []

  var count: Int { lengths.count }
  var isEmpty: Bool { lengths.isEmpty }

  mutating func append(_ text: String) {
    text.withUTF8Bytes { append($0) }
  }

  mutating func append(_ text: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: text)
    lengths.append(text.count)
  }

  /// Calls `body` with each text's bytes, until it answers false. True where it never did.
  func allSatisfy(_ body: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for length in lengths {
        // The lengths add up to the bytes: both grow in `append` alone.
        guard body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])) else { return false }
        start += length
      }
      return true
    }
  }

  /// The distinct texts by first use and the place of each text among them; nil as soon as there are more than
  /// `most`.
  func distinct(atMost most: Int) -> (texts: Texts, places: [Int64])? {
    var known: [UTF8Key: Int64] = [:]
    var distinct = Texts()
    var places: [Int64] = []
    places.reserveCapacity(count)
    let isWithin = allSatisfy { bytes in
      let key = UTF8Key(String(decoding: bytes, as: UTF8.self))
      if let place = known[key] {
        places.append(place)
        return true
      }
      guard distinct.count < most else { return false }
      places.append(Int64(distinct.count))
      known[key] = Int64(distinct.count)
      distinct.append(bytes)
      return true
    }
    return isWithin ? (distinct, places) : nil
  }
}
