import HeartlogEvents

/// The items of a library that were made favorites since its snapshot, in the order in which they were.
///
/// An item may be here more than once, or be no favorite any more: its record tells. Most dates rise as they are written, so that those of
/// a run of items lie close together, and who looks for the newest or the oldest passes over most runs by their ranges.
struct FavoritedItems: Sendable {
  /// The items of a run, of which the last may have fewer.
  static let runLength = 64

  private(set) var slots: [Int32] = []
  /// By run, the dates with which its items became favorites.
  private(set) var dates: [ClosedRange<Milliseconds>] = []

  var isEmpty: Bool { slots.isEmpty }

  /// The items of the run at an index of `dates`.
  func run(_ index: Int) -> ArraySlice<Int32> {
    slots[index * Self.runLength..<min((index + 1) * Self.runLength, slots.count)]
  }

  /// Notes that an item was made a favorite as of `date`.
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

  /// Whether so many items of a table of `itemCount` are here more than once that `compact` is due.
  @inline(__always)
  func hasManyRepeats(itemCount: Int) -> Bool { slots.count > 2 * itemCount + Self.repeatsMin }

  private static let repeatsMin = 4_096

  /// Keeps of each item that is a favorite what was written last.
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
