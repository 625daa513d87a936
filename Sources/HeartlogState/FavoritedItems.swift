import HeartlogFormat

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
