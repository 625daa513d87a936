/// How a search compares texts.
public struct SearchOptions: Sendable {
  /// Where in a text the search text must occur.
  public enum Match: Sendable {
    /// Anywhere.
    case substring
    /// At the beginning.
    case prefix
  }

  /// Where in a text the search text must occur; anywhere by default.
  public var match = Match.substring
  /// Whether é differs from e. The case of letters never matters.
  public var diacriticsCount = true
  /// The fields to search; if nil, the id and all fields of an item.
  public var fields: [String]?

  /// Creates search options. By default, a search finds substrings in all texts of an item and tells é from e.
  ///
  /// - Parameters:
  ///   - match: where in a text the search text must occur.
  ///   - diacriticsCount: whether é differs from e.
  ///   - fields: the fields to search; if nil, the id and all fields of an item.
  public init(match: Match = .substring, diacriticsCount: Bool = true, fields: [String]? = nil) {
    self.match = match
    self.diacriticsCount = diacriticsCount
    self.fields = fields
  }

  /// The form of a text that is compared.
  func folded(_ text: String) -> String {
    let lower = text.lowercased()
    guard !diacriticsCount else { return lower }
    // After decomposition, an accent is a scalar of its own: a nonspacing mark.
    var scalars = String.UnicodeScalarView()
    for scalar in lower.decomposed where scalar.properties.generalCategory != .nonspacingMark {
      scalars.append(scalar)
    }
    return String(scalars)
  }

  func matches(_ needle: String, in text: String) -> Bool {
    let text = folded(text)
    return match == .prefix ? text.hasPrefix(needle) : text.contains(needle)
  }
}

extension FavoritesLibrary {
  /// Returns the favorites that contain a text, newest first by default. An empty text matches all of them.
  ///
  /// - Parameters:
  ///   - text: the text to search for.
  ///   - options: how texts are compared.
  ///   - order: the order of the result.
  /// - Complexity: O(favorites × their text).
  public func search(
    _ text: String, options: SearchOptions = SearchOptions(), order: ListOrder = .newestFirst
  ) -> [ItemState] {
    let search = TextSearch(text, options: options)
    guard !search.isEmpty else { return favorites(order: order) }
    // In the fields as they are shown, unless none of those to search is local.
    if options.fields.map({ !localFields.isDisjoint(with: $0) }) ?? !localFields.isEmpty {
      return favorites(order: order).filter { search.isFound(in: $0) }
    }
    if let transaction = WriteTransaction.joined(by: store) {
      return withLocalValues(
        order.sorted(
          transaction.items(in: name).filter { $0.isFavorite && search.isFound(in: $0) }))
    }
    let found = store.read {
      $0.favorites(in: name, order: order, textsOf: options.fields) { search.isFound(in: $0) }
    }
    return withLocalValues(found)
  }
}

extension Favorites {
  /// Returns the favorites that contain a text, newest first by default. An empty text matches all of them.
  ///
  /// Leaves out items that cannot be decoded; `load` reports them.
  ///
  /// - Parameters:
  ///   - text: the text to search for.
  ///   - options: how texts are compared.
  ///   - order: the order of the result.
  /// - Complexity: O(favorites × their text).
  public func search(
    _ text: String, options: SearchOptions = SearchOptions(), order: ListOrder = .newestFirst
  ) -> [Item] {
    readable(library.search(text, options: options, order: order))
  }
}
