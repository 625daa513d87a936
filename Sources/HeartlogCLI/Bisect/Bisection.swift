/// A binary search, along the commits of a log, for the first one after which an answer changes.
struct Bisection {
  enum Answer: Hashable {
    /// The same as at the beginning.
    case old
    case new
    /// There is no answer here.
    case unknown
  }

  /// The answer after so many commits is old.
  private(set) var old: Int
  /// The answer after so many commits is new.
  private(set) var new: Int
  private var unknown: Set<Int> = []

  /// - Precondition: `old` is less than `new`.
  init(old: Int, new: Int) {
    precondition(old < new, "a search that ends before it begins")
    self.old = old
    self.new = new
  }

  /// The number of commits to ask about next: the one nearest to the middle that was not asked about; nil if there is none.
  var next: Int? {
    let middle = old + (new - old) / 2
    for distance in 0...(new - old) {
      for count in [middle - distance, middle + distance]
      where count > old && count < new && !unknown.contains(count) {
        return count
      }
    }
    return nil
  }

  mutating func take(_ answer: Answer, after count: Int) {
    switch answer {
    case .old: old = count
    case .new: new = count
    case .unknown: unknown.insert(count)
    }
  }

  /// The indices of the commits that may be the first one: several if there was no answer between them.
  var candidates: Range<Int> { old..<new }
}
