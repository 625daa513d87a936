/// Where in a list the cities of an id are: open addressing over eight bytes a slot, which is one place in memory for a look-up.
///
/// A list may have an id more than once; all its places are found. The ids of real catalogs have 32 bits: then the table knows them whole.
/// Longer ones are asked of the list's owner, where their last 32 bits agree.
struct CityIDTable: Sendable {
  private struct Slot {
    var lastBits: UInt32
    var position: Int32
  }

  /// A power of two of them.
  private var slots: [Slot]
  /// By slot, whether it is taken: a bit each, so that most ids that are not there are told by a few KB.
  private var taken: CityFlags
  private let hasShortIDs: Bool

  /// - Parameters:
  ///   - count: how many cities there are.
  ///   - spread: at most one slot in so many is taken: the more, the sooner an id that is not there is known not to be.
  ///   - id: the id of the city at a place.
  init(count: Int, spread: Int = 2, id: (Int) -> City.ID) {
    var capacity = 16
    while capacity < count * spread { capacity *= 2 }
    var slots = [Slot](repeating: Slot(lastBits: 0, position: 0), count: capacity)
    var taken = CityFlags(count: capacity)
    var hasShortIDs = true
    for position in 0..<count {
      let id = id(position)
      var slot = Self.hash(id) & (capacity - 1)
      while taken[slot] { slot = (slot + 1) & (capacity - 1) }
      slots[slot] = Slot(lastBits: UInt32(truncatingIfNeeded: id), position: Int32(position))
      taken[slot] = true
      hasShortIDs = hasShortIDs && Self.isShort(id)
    }
    self.slots = slots
    self.taken = taken
    self.hasShortIDs = hasShortIDs
  }

  /// False for most ids that are not there, at the cost of one bit.
  @inline(__always)
  func mayContain(_ id: City.ID) -> Bool { taken[Self.hash(id) & (slots.count - 1)] }

  /// Calls `body` with each place of an id.
  ///
  /// - Parameter idAt: the id of the city at a place, as it was when the table was made.
  /// - Returns: whether there is one.
  @discardableResult
  @inline(__always)
  func forEachPosition(of id: City.ID, idAt: (Int) -> City.ID, _ body: (Int) -> Void) -> Bool {
    guard !hasShortIDs || Self.isShort(id) else { return false }
    let mask = slots.count - 1
    let lastBits = UInt32(truncatingIfNeeded: id)
    var slot = Self.hash(id) & mask
    var isFound = false
    while taken[slot] {
      let position = Int(slots[slot].position)
      if slots[slot].lastBits == lastBits, hasShortIDs || idAt(position) == id {
        body(position)
        isFound = true
      }
      slot = (slot + 1) & mask
    }
    return isFound
  }

  private static func isShort(_ id: City.ID) -> Bool { Int32(truncatingIfNeeded: id) == id }

  /// Multiply and fold (Fibonacci hashing, Knuth 6.4): ids are near one another, and their high bits must count.
  @inline(__always)
  private static func hash(_ id: City.ID) -> Int {
    let product = UInt64(truncatingIfNeeded: id).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
    return Int(truncatingIfNeeded: (product.high ^ product.low) >> 1)
  }
}
