/// Concatenated texts, from which a column of strings is encoded.
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

  /// Calls `body` with the bytes of each text until it returns false. Returns whether it never did.
  func allSatisfy(_ body: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for length in lengths {
        // In bounds: the lengths add up to the number of bytes, because only `append` changes both.
        guard body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])) else { return false }
        start += length
      }
      return true
    }
  }

  /// Returns the distinct texts in order of first use, and the index of each text among them; nil if there are more than `most`.
  func distinct(atMost most: Int) -> (texts: Texts, indices: [Int64])? {
    var known: [UTF8Key: Int64] = [:]
    var distinct = Texts()
    var indices: [Int64] = []
    indices.reserveCapacity(count)
    let isWithin = allSatisfy { bytes in
      let key = UTF8Key(String(decoding: bytes, as: UTF8.self))
      if let index = known[key] {
        indices.append(index)
        return true
      }
      guard distinct.count < most else { return false }
      indices.append(Int64(distinct.count))
      known[key] = Int64(distinct.count)
      distinct.append(bytes)
      return true
    }
    return isWithin ? (distinct, indices) : nil
  }
}
