extension City {
  /// Whether this city stands before another in the catalog: by name, then country, both by the bytes of their UTF-8, then id.
  public func precedes(_ other: City) -> Bool {
    if !name.utf8.elementsEqual(other.name.utf8) {
      return name.utf8.lexicographicallyPrecedes(other.name.utf8)
    }
    if !country.utf8.elementsEqual(other.country.utf8) {
      return country.utf8.lexicographicallyPrecedes(other.country.utf8)
    }
    return id < other.id
  }

  /// The first eight bytes of the name, filled up with zeros: cities whose prefixes differ are in the order of these.
  fileprivate var namePrefix: UInt64 { name.utf8.sortingPrefix }
}

extension [City] {
  /// The cities in the order of the catalog: name, country, id. Those that share all three keep the order in which they came.
  public func sortedAsCatalog() -> [City] {
    var keys = indices.map { (prefix: self[$0].namePrefix, index: $0) }
    keys.sort { a, b in
      if a.prefix != b.prefix { return a.prefix < b.prefix }
      return self[a.index].precedes(self[b.index])
    }
    return keys.map { self[$0.index] }
  }
}

extension Sequence<UInt8> {
  /// The first eight bytes as a big-endian number, filled up with zeros: comparing two of these is most of comparing two names.
  var sortingPrefix: UInt64 {
    var prefix: UInt64 = 0
    var count = 0
    for byte in self.prefix(8) {
      prefix = prefix << 8 | UInt64(byte)
      count += 1
    }
    return count == 0 ? 0 : prefix << UInt64(8 * (8 - count))
  }
}
