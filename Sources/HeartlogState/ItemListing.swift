import HeartlogFormat

/// Items of a library in order, found without creating an `ItemState` for each.
///
/// The items of a snapshot are already in order. The others are sorted, and both are merged.
struct ItemListing {
  private(set) var slots: [ItemSlot] = []

  private struct SortKey {
    /// The favorited date, or the first eight bytes of the id.
    let rank: UInt64
    /// In the order by id: the next four bytes of the id, which decide most ties without reading the items. Otherwise 0.
    let tie: UInt32
    let slot: Int32
  }

  /// - Parameters:
  ///   - order: an order by favorited date lists favorites only.
  ///   - replicas: the replicas that wrote the items. Which one wrote later decides between favorites of the same date.
  ///   - limit: the maximum number of items; all if nil, none if negative.
  init(
    of table: ItemTable, order: ListOrder, replicas: ReplicaTable, limit: Int? = nil,
    where isIncluded: (Int, UnsafePointer<ItemRecord>) -> Bool
  ) {
    let limit = max(0, limit ?? .max)
    guard limit > 0 else { return }
    let ranking = Ranking(table: table, order: order, replicas: replicas)
    func isListed(_ slot: Int, _ record: UnsafePointer<ItemRecord>) -> Bool {
      (order == .byID || record.pointee.isFavorite) && isIncluded(slot, record)
    }
    let others =
      Self.hasUnordered(table, order)
      ? ranking.first(limit, where: isListed) : []
    guard let base = table.base else {
      slots = others.map { ItemSlot(index: $0.slot) }
      return
    }
    var rest = others[...]
    func take(_ slot: Int32) -> Bool {
      let record = table.items.read(Int(slot))
      guard order == .byID || !record.pointee.isMoved, isListed(Int(slot), record) else { return true }
      while let other = rest.first, ranking.precedes(other, ranking.key(slot, record)) {
        slots.append(ItemSlot(index: other.slot))
        rest.removeFirst()
        if slots.count == limit { return false }
      }
      slots.append(ItemSlot(index: slot))
      return slots.count < limit
    }
    if Self.walk(table, base, order, take) {
      slots += rest.prefix(limit - slots.count).map { ItemSlot(index: $0.slot) }
    }
    assert(slots.count <= limit, "no more items are listed than are wanted")
  }

  private static func hasUnordered(_ table: ItemTable, _ order: ListOrder) -> Bool {
    order == .byID ? table.items.count > table.base?.itemCount ?? 0 : !table.favorited.isEmpty
  }

  /// Visits the items of the snapshot in order, including those that have moved.
  ///
  /// - Returns: false if `visit` returned false and ended the walk.
  private static func walk(
    _ table: ItemTable, _ base: ItemTable.Base, _ order: ListOrder, _ visit: (Int32) -> Bool
  ) -> Bool {
    switch order {
    case .newestFirst:
      let count = Int32(clamping: base.favoriteCount)
      for slot in min(table.movedFirst, count)..<count where !visit(slot) { return false }
    case .byID:
      for index in 0..<base.byID.count {
        let slot = base.byID[index]
        // Only a malformed snapshot refers to items that it does not have.
        if slot >= 0, Int(slot) < base.itemCount, !visit(slot) { return false }
      }
    case .oldestFirst:
      let count = max(0, Int32(clamping: base.favoriteCount) - table.movedLast)
      for slot in (0..<count).reversed() where !visit(slot) { return false }
    }
    return true
  }

  /// Compares items in an order.
  private struct Ranking {
    let table: ItemTable
    let order: ListOrder
    let replicas: ReplicaTable

    func key(_ slot: Int32, _ record: UnsafePointer<ItemRecord>) -> SortKey {
      guard order == .byID else {
        return SortKey(rank: rank(of: record.pointee.favoritedDate), tie: 0, slot: slot)
      }
      var id = record.pointee.key.words
      if !record.pointee.key.isInline {
        table.ids.withBytes(of: slot) {
          id = Key(UnsafeRawBufferPointer(rebasing: $0.prefix(Key.inlineBytesMax))).words
        }
      }
      return SortKey(
        rank: id.0.bigEndian, tie: UInt32(truncatingIfNeeded: id.1.bigEndian >> 32), slot: slot)
    }

    /// Returns the rank of a date, for an order by date.
    func rank(of date: Milliseconds) -> UInt64 {
      // Flipping the sign bit sorts signed numbers as unsigned ones.
      let rising = UInt64(bitPattern: date) ^ 1 << 63
      return order == .newestFirst ? ~rising : rising
    }

    func precedes(_ a: SortKey, _ b: SortKey) -> Bool {
      if a.rank != b.rank { return a.rank < b.rank }
      switch order {
      case .newestFirst: return wasWritten(a, after: b)
      case .oldestFirst: return wasWritten(b, after: a)
      case .byID: return a.tie != b.tie ? a.tie < b.tie : table.ids.precedes(a.slot, b.slot)
      }
    }

    private func wasWritten(_ a: SortKey, after b: SortKey) -> Bool {
      replicas.isLater(
        table.items.read(Int(a.slot)).pointee.membership,
        than: table.items.read(Int(b.slot)).pointee.membership)
    }

    /// Returns the first `limit` keys, sorted, of the items that the snapshot does not have in order: new items, and for an order by date
    /// those that became favorites since.
    func first(_ limit: Int, where isIncluded: (Int, UnsafePointer<ItemRecord>) -> Bool) -> [SortKey] {
      var keys: [SortKey] = []
      let newCount = table.items.count - (table.base?.itemCount ?? 0)
      // An array that doubles holds up to three times as much while it grows.
      if limit == .max { keys.reserveCapacity(order == .byID ? newCount : table.favorited.slots.count) }
      // The last key that can still be among the first `limit`, once that many were seen.
      var bound: SortKey?
      func sort() {
        keys.sort(by: precedes)
        // An item that became a favorite twice occurs twice.
        var count = 0
        for key in keys where count == 0 || keys[count - 1].slot != key.slot {
          keys[count] = key
          count += 1
        }
        keys.removeSubrange(min(count, limit)...)
      }
      func consider(_ slot: Int32) {
        let record = table.items.read(Int(slot))
        guard isIncluded(Int(slot), record) else { return }
        let key = key(slot, record)
        if let bound, key.rank > bound.rank || !precedes(key, bound) { return }
        keys.append(key)
        // Cutting at a multiple of the limit costs only a few comparisons per item.
        guard keys.count > Self.roomMin, limit < keys.count / 2 else { return }
        sort()
        if keys.count == limit { bound = keys.last }
      }
      func consider(_ slots: some Sequence<Int32>, earliest rank: UInt64) {
        if let bound, rank > bound.rank { return }
        for slot in slots { consider(slot) }
      }
      let favorited = table.favorited
      switch order {
      // The last written items are usually the newest, so the other runs are skipped by their dates, and little is left to sort.
      case .newestFirst:
        for run in favorited.dates.indices.reversed() {
          consider(favorited.run(run).reversed(), earliest: rank(of: favorited.dates[run].upperBound))
        }
      case .oldestFirst:
        for run in favorited.dates.indices {
          consider(favorited.run(run), earliest: rank(of: favorited.dates[run].lowerBound))
        }
      case .byID:
        for slot in Int32(table.base?.itemCount ?? 0)..<Int32(table.items.count) { consider(slot) }
      }
      sort()
      return keys
    }

    private static let roomMin = 128
  }
}

/// The items of a library that became favorites since its snapshot, in the order of the writes.
struct FavoritedItems: Sendable {
  /// The number of items in a run. The last run may have fewer.
  static let runLength = 64

  private(set) var slots: [Int32] = []
  /// By run: the range of the dates at which its items became favorites.
  private(set) var dates: [ClosedRange<Milliseconds>] = []

  var isEmpty: Bool { slots.isEmpty }

  /// Returns the items of the run at an index of `dates`.
  func run(_ index: Int) -> ArraySlice<Int32> {
    slots[index * Self.runLength..<min((index + 1) * Self.runLength, slots.count)]
  }

  /// Records that an item became a favorite as of `date`.
  @inline(__always)
  mutating func append(_ slot: Int32, _ date: Milliseconds) {
    if slots.count % Self.runLength == 0 {
      dates.append(date...date)
    } else {
      let range = dates[dates.count - 1]
      if !range.contains(date) {
        dates[dates.count - 1] = min(range.lowerBound, date)...max(range.upperBound, date)
      }
    }
    slots.append(slot)
    assert(dates.count == (slots.count + Self.runLength - 1) / Self.runLength, "each run has its dates")
  }

  /// Whether there are so many repeats, for a table of `itemCount` items, that `compact` is due.
  @inline(__always)
  func hasManyRepeats(itemCount: Int) -> Bool { slots.count > 2 * itemCount + Self.repeatsMin }

  private static let repeatsMin = 4_096

  /// Keeps only the last entry of each item that is a favorite.
  mutating func compact(_ records: PagedReader<ItemRecord>) {
    var isKept = [Bool](repeating: false, count: records.count)
    var kept: [Int32] = []
    for slot in slots.reversed() where !isKept[Int(slot)] && records.read(Int(slot)).pointee.isFavorite {
      isKept[Int(slot)] = true
      kept.append(slot)
    }
    self = FavoritedItems()
    for slot in kept.reversed() { append(slot, records.read(Int(slot)).pointee.favoritedDate) }
  }
}
