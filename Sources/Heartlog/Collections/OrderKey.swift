/// A position in a user-defined order, as text that sorts by its bytes. There is always room for another key between any two.
///
/// Moving one item writes one key, so two devices can move items independently and both moves survive a merge. Keys are fractions in base
/// 62, most significant digit first. No key ends in `0`, so there is always a smaller one.
///
/// Source: the fractional indexing of David Greenspan, "Implementing Fractional Indexing" (2020).
public struct OrderKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// One or more digits of `0-9A-Za-z`; the last is not `0`.
  public let text: String

  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  /// Creates a key from stored text; nil if the text is not a valid key.
  public init?(_ text: String) {
    guard let last = text.utf8.last, last != Self.digits[0], text.utf8.count <= Limits.fieldNameBytesMax,
      text.utf8.allSatisfy({ Self.digits.contains($0) })
    else { return nil }
    self.text = text
  }

  private init(values: [Int]) { text = String(decoding: values.map { Self.digits[$0] }, as: UTF8.self) }

  private var values: [Int] { text.utf8.map { Self.digits.firstIndex(of: $0) ?? 0 } }

  /// Returns a key between two others; nil stands for the beginning or the end. Keys are short: O(log n) digits on average.
  ///
  /// If `low` is not less than `high`, because two devices chose the same position, the key comes right after `low`.
  public static func between(_ low: OrderKey?, _ high: OrderKey?) -> OrderKey {
    let low = low?.values ?? []
    var high = high?.values
    if let bound = high, !low.lexicographicallyPrecedes(bound) { high = nil }
    var values: [Int] = []
    var index = 0
    // Copy digits as long as the bounds leave no room between them.
    while true {
      let lower = index < low.count ? low[index] : 0
      let upper = high.map { index < $0.count ? $0[index] : 0 } ?? digits.count
      if upper - lower > 1 {
        // Take small steps at an open end: appending one item after another keeps keys short.
        let isOpenEnd = high == nil && index < low.count
        values.append(isOpenEnd ? lower + 1 : (lower + upper) / 2)
        return OrderKey(values: values)
      }
      values.append(lower)
      // Once the key is below the upper bound, the bound no longer matters.
      if upper > lower { high = nil }
      index += 1
    }
  }

  /// Returns `count` ascending keys that are as short as possible.
  public static func spread(_ count: Int) -> [OrderKey] { spread(count, nil, nil) }

  private static func spread(_ count: Int, _ low: OrderKey?, _ high: OrderKey?) -> [OrderKey] {
    guard count > 0 else { return [] }
    let middle = between(low, high)
    return spread(count / 2, low, middle) + [middle] + spread(count - count / 2 - 1, middle, high)
  }

  public static func < (a: OrderKey, b: OrderKey) -> Bool {
    a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
  }
  public var description: String { text }
}
