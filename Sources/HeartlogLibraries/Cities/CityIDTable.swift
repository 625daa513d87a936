/// Where in a catalog the cities of an id are: open addressing over places, four bytes each.
///
/// A catalog may list an id more than once; all its places are found.
struct CityIDTable: Sendable {
  /// A power of two of them, at most half of them taken. -1 is free.
  private var slots: [Int32]

  init(_ cities: [City]) {
    var capacity = 16
    while capacity < cities.count * 2 { capacity *= 2 }
    slots = [Int32](repeating: -1, count: capacity)
    for position in cities.indices {
      var slot = Self.hash(cities[position].id) & (capacity - 1)
      while slots[slot] >= 0 { slot = (slot + 1) & (capacity - 1) }
      slots[slot] = Int32(position)
    }
  }

  /// Calls `body` with each place of an id in `cities`, which are those that the table was made of.
  ///
  /// - Returns: whether there is one.
  @discardableResult
  func forEachPosition(of id: City.ID, in cities: [City], _ body: (Int) -> Void) -> Bool {
    let mask = slots.count - 1
    var slot = Self.hash(id) & mask
    var isFound = false
    while slots[slot] >= 0 {
      let position = Int(slots[slot])
      if cities[position].id == id {
        body(position)
        isFound = true
      }
      slot = (slot + 1) & mask
    }
    return isFound
  }

  /// Multiply and fold (Fibonacci hashing, Knuth 6.4): ids are near one another, and their high bits must count.
  private static func hash(_ id: City.ID) -> Int {
    let product = UInt64(truncatingIfNeeded: id).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
    return Int(truncatingIfNeeded: (product.high ^ product.low) >> 1)
  }
}
