/// A flag for each city of a catalog, by its place there: a bit each, so that all the hearts of the whole world are 26 KB.
struct CityFlags: Sendable, Equatable {
  private var words: [UInt64]

  /// - Parameter count: how many cities there are; none is flagged.
  init(count: Int) { words = [UInt64](repeating: 0, count: (count + 63) / 64) }

  subscript(position: Int) -> Bool {
    get { words[position >> 6] >> UInt64(position & 63) & 1 == 1 }
    set {
      let bit = UInt64(1) << UInt64(position & 63)
      if newValue { words[position >> 6] |= bit } else { words[position >> 6] &= ~bit }
    }
  }

  /// Leaves only those that are flagged in `other` too.
  mutating func formIntersection(_ other: CityFlags) {
    for index in words.indices { words[index] &= other.words[index] }
  }

  /// Leaves only those that are not flagged in `other`.
  mutating func subtract(_ other: CityFlags) {
    for index in words.indices { words[index] &= ~other.words[index] }
  }

  var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// The places of the flagged, ascending.
  var positions: [Int32] {
    var positions: [Int32] = []
    positions.reserveCapacity(count)
    for index in words.indices {
      var word = words[index]
      while word != 0 {
        positions.append(Int32(index << 6 + word.trailingZeroBitCount))
        word &= word - 1
      }
    }
    return positions
  }
}
