/// A hash table from ids to positions in a list of cities. It uses open addressing with eight bytes per slot,
/// so that most look-ups touch one place in memory.
///
/// A list may contain an id more than once; all positions are found. The ids of real catalogs have 32 bits,
/// and then the table contains them whole. If ids are longer, an equal match of the last 32 bits is checked
/// against the list.
struct CityIDTable: Sendable {
  private struct Slot {
    var lastBits: UInt32
    var position: Int32
  }

  /// The slots; their number is a power of two.
  private var slots: [Slot]
  /// Whether each slot is taken, one bit each: this rules out most missing ids with a few KB of memory.
  private var taken: CityFlags
  private let hasShortIDs: Bool

  /// - Parameters:
  ///   - count: the number of cities.
  ///   - spread: at most one in this many slots is taken. The larger it is, the faster a missing id is ruled
  ///     out.
  ///   - id: returns the id of the city at a position.
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

  /// Returns false for most missing ids, at the cost of one bit.
  @inline(__always)
  func mayContain(_ id: City.ID) -> Bool { taken[Self.hash(id) & (slots.count - 1)] }

  /// Calls `body` with each position of an id.
  ///
  /// - Parameters:
  ///   - id: the id to look up.
  ///   - idAt: returns the id of the city at a position, as it was when the table was created.
  ///   - body: called with each position.
  /// - Returns: Whether there is one.
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

  /// Multiplies and folds (Fibonacci hashing, Knuth 6.4): ids are close together, and their high bits must
  /// affect the slot too.
  @inline(__always)
  private static func hash(_ id: City.ID) -> Int {
    let product = UInt64(truncatingIfNeeded: id).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
    return Int(truncatingIfNeeded: (product.high ^ product.low) >> 1)
  }
}
