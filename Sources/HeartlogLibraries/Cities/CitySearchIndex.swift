/// The names of a catalog, sorted for prefix search.
///
/// A search takes two binary searches and one pass over the results. The names that are not plain, about one
/// in two thousand in the real catalog, are compared one by one.
struct CitySearchIndex: Sendable {
  /// The folded plain names, concatenated in the order of the catalog.
  private var bytes: [UInt8] = []
  /// By position in the catalog: the offset of its folded name in `bytes`; one more at the end.
  private var starts: [Int32] = []
  /// The positions of the plain names, sorted by the bytes of their folded names.
  private var sorted: [Int32] = []
  /// The positions and names of the others.
  private var others: [(position: Int32, name: FoldedName)] = []

  init(_ cities: [City]) {
    bytes.reserveCapacity(cities.count * 12)
    starts.reserveCapacity(cities.count + 1)
    var keys: [(prefix: UInt64, position: Int32)] = []
    keys.reserveCapacity(cities.count)
    for (position, city) in cities.enumerated() {
      starts.append(Int32(bytes.count))
      let name = FoldedName(city.name)
      guard name.isPlain else {
        others.append((Int32(position), name))
        continue
      }
      bytes.append(contentsOf: name.text.utf8)
      keys.append((bytes[Int(starts[position])...].sortingPrefix, Int32(position)))
    }
    starts.append(Int32(bytes.count))
    keys.sort { a, b in
      if a.prefix != b.prefix { return a.prefix < b.prefix }
      return folded(Int(a.position)).lexicographicallyPrecedes(folded(Int(b.position)))
    }
    sorted = keys.map(\.position)
  }

  /// Flags the cities whose folded names begin with `query`. O(log n + number of results).
  func find(_ query: FoldedName, in flags: inout CityFlags) {
    let prefix = Array(query.plainPrefix.utf8)
    // Names are sorted by bytes, so those with the prefix are adjacent.
    let first = partition { precedes(folded($0), prefix) }
    let last = partition {
      precedes(folded($0).prefix(prefix.count), prefix) || folded($0).starts(with: prefix)
    }
    for index in first..<max(first, last) {
      let position = Int(sorted[index])
      if !query.isPlain, !FoldedName(String(decoding: folded(position), as: UTF8.self)).begins(with: query) {
        continue
      }
      flags[position] = true
    }
    for (position, name) in others where name.begins(with: query) { flags[Int(position)] = true }
  }

  private func folded(_ position: Int) -> ArraySlice<UInt8> {
    bytes[Int(starts[position])..<Int(starts[position + 1])]
  }

  private func precedes(_ a: ArraySlice<UInt8>, _ b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }

  /// The number of leading elements of `sorted` for which `isBefore` holds.
  private func partition(_ isBefore: (Int) -> Bool) -> Int {
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(Int(sorted[middle])) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// A name in the form in which the search compares it: in lower case, with its diacritics.
///
/// Canonically equivalent spellings are equal. Most names are *plain*: their bytes are those of their
/// composed normal form, and none of their characters combines with the one before it, so that comparing
/// bytes is sufficient. The others are compared character by character.
struct FoldedName {
  let text: String
  let isPlain: Bool

  init(_ name: String) {
    text = name.lowercased()
    isPlain = text.utf8.allSatisfy { $0 < 0x80 } || text.unicodeScalars.allSatisfy(Self.isPlain)
  }

  /// The characters before the first that is not plain.
  var plainPrefix: Substring {
    isPlain ? text[...] : text.prefix { $0.unicodeScalars.allSatisfy(Self.isPlain) }
  }

  /// Whether the name begins with another, character by character. "e" does not match an "e" followed by a
  /// combining diacritic.
  func begins(with other: FoldedName) -> Bool { text.starts(with: other.text) }

  /// Whether a scalar is its own composed form in any context: no mark, no second half of a Hangul syllable,
  /// no composition exclusion (Unicode Standard Annex 15, a strict form of NFC_Quick_Check).
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    // No scalar below the first combining mark combines with the one before it.
    if scalar.value < 0x300 { return true }
    if (0x1160...0x11FF).contains(scalar.value) { return false }
    let properties = scalar.properties
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: return false
    default:
      return properties.canonicalCombiningClass == .notReordered && !properties.isFullCompositionExclusion
    }
  }
}
