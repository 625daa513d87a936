/// A place in a user-defined order, as a text that sorts by its bytes: between any two there is room for another.
///
/// Moving one item writes one key, so that two devices can move items apart and both moves survive a merge. Keys are fractions in base 62,
/// most significant digit first; none ends in `0`, so that there is always one below.
///
/// Source: the fractional indexing of David Greenspan, "Implementing Fractional Indexing" (2020).
public struct OrderKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// 1 or more digits of `0-9A-Za-z`, the last not `0`.
  public let text: String

  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  /// Takes a stored key; nil for a text that is none.
  public init?(_ text: String) {
    guard let last = text.utf8.last, last != Self.digits[0], text.utf8.count <= Limits.fieldNameBytesMax,
      text.utf8.allSatisfy({ Self.digits.contains($0) })
    else { return nil }
    self.text = text
  }

  private init(values: [Int]) { text = String(decoding: values.map { Self.digits[$0] }, as: UTF8.self) }

  private var values: [Int] { text.utf8.map { Self.digits.firstIndex(of: $0) ?? 0 } }

  /// A key between two others; nil stands for the beginning or the end. The keys are short: O(log n) digits on average.
  ///
  /// Where `low` is not below `high` (two devices chose the same place), the key comes right after `low`.
  public static func between(_ low: OrderKey?, _ high: OrderKey?) -> OrderKey {
    let low = low?.values ?? []
    var high = high?.values
    if let bound = high, !low.lexicographicallyPrecedes(bound) { high = nil }
    var values: [Int] = []
    var index = 0
    // Digit by digit, as long as the two bounds leave no room between them.
    while true {
      let lower = index < low.count ? low[index] : 0
      let upper = high.map { index < $0.count ? $0[index] : 0 } ?? digits.count
      if upper - lower > 1 {
        // At either end in small steps: adding one item after the other keeps keys short.
        let isOpenEnd = high == nil && index < low.count
        values.append(isOpenEnd ? lower + 1 : (lower + upper) / 2)
        return OrderKey(values: values)
      }
      values.append(lower)
      // Once below the upper bound, it bounds no more.
      if upper > lower { high = nil }
      index += 1
    }
  }

  /// That many keys in rising order, as short as may be.
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
