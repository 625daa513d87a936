/// One flag for each city of a catalog, by position. Each takes a bit, so the flags for all 209,579 cities
/// take 26 KB.
struct CityFlags: Sendable, Equatable {
  private var words: [UInt64]

  /// Creates cleared flags.
  ///
  /// - Parameter count: the number of cities.
  init(count: Int) { words = [UInt64](repeating: 0, count: (count + 63) / 64) }

  subscript(position: Int) -> Bool {
    get { words[position >> 6] >> UInt64(position & 63) & 1 == 1 }
    set {
      let bit = UInt64(1) << UInt64(position & 63)
      if newValue { words[position >> 6] |= bit } else { words[position >> 6] &= ~bit }
    }
  }

  /// Keeps only the flags that are also set in `other`.
  mutating func formIntersection(_ other: CityFlags) {
    for index in words.indices { words[index] &= other.words[index] }
  }

  /// Clears the flags that are set in `other`.
  mutating func subtract(_ other: CityFlags) {
    for index in words.indices { words[index] &= ~other.words[index] }
  }

  var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// The positions of the set flags, ascending.
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
