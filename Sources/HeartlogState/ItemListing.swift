import HeartlogEvents

/// Some items of a library in order, found before any of them is made into an `ItemState`.
struct ItemListing {
  let slots: [ItemSlot]

  private struct Key {
    /// What sorts first: the favorited date, or the first bytes of the id.
    let rank: UInt64
    let slot: Int32
  }

  /// - Parameter limit: the most to keep, nil for all. Negative is none.
  init(
    of table: ItemTable, order: ListOrder, limit: Int? = nil, where isIncluded: (Int, ItemTable.Item) -> Bool
  ) {
    let limit = max(0, limit ?? .max)
    let ids = table.ids
    func rank(_ slot: Int32) -> UInt64 {
      // Flipping the sign bit orders signed numbers as unsigned ones.
      let date = UInt64(bitPattern: table.items[Int(slot)].favoritedDate) ^ 1 << 63
      return switch order {
      case .newestFirst: ~date
      case .oldestFirst: date
      case .byID: ids.withBytes(of: slot) { $0.prefix }
      }
    }
    func precedes(_ a: Key, _ b: Key) -> Bool {
      a.rank != b.rank ? a.rank < b.rank : ids.precedes(a.slot, b.slot)
    }

    var keys: [Key] = []
    // The last that can still be among the first `limit`, once as many were seen.
    var bound: Key?
    for slot in table.items.indices where isIncluded(slot, table.items[slot]) {
      let key = Key(rank: rank(Int32(slot)), slot: Int32(slot))
      if let bound, !precedes(key, bound) { continue }
      keys.append(key)
      // Cutting at twice the limit keeps the cost at a few comparisons an item.
      if limit < keys.count / 2 {
        keys.sort(by: precedes)
        keys.removeSubrange(limit...)
        bound = keys.last
      }
    }
    keys.sort(by: precedes)
    slots = keys.prefix(limit).map { ItemSlot(index: $0.slot) }
  }
}
