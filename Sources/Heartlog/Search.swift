/// How texts are compared in a search.
public struct SearchOptions: Sendable {
  /// Where in a text the words must stand.
  public enum Match: Sendable {
    /// Anywhere in the text.
    case substring
    /// At its beginning.
    case prefix
  }

  /// Where in a text the words must stand; anywhere unless said otherwise.
  public var match = Match.substring
  /// Whether é is another letter than e. Capitals are never told from small letters.
  public var diacriticsCount = true
  /// The fields to look in; all texts of an item, its id among them, where nil.
  public var fields: [String]?

  /// Options as given; without any, substrings in all texts of an item, with é another letter than e.
  public init(match: Match = .substring, diacriticsCount: Bool = true, fields: [String]? = nil) {
    self.match = match
    self.diacriticsCount = diacriticsCount
    self.fields = fields
  }

  /// A text as it is compared.
  func folded(_ text: String) -> String {
    let lower = text.lowercased()
    guard !diacriticsCount else { return lower }
    // Decomposed, an accent is a scalar of its own: a nonspacing mark.
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
  /// The favorites that hold a text, newest first unless asked otherwise; an empty text is in all of them.
  ///
  /// Looks at every favorite: O(favorites × their text).
  public func search(
    _ text: String, options: SearchOptions = SearchOptions(), order: ListOrder = .newestFirst
  ) -> [ItemState] {
    let search = TextSearch(text, options: options)
    guard !search.isEmpty else { return favorites(order: order) }
    if let transaction = WriteTransaction.joined(by: store) {
      return order.sorted(
        transaction.items(in: name).filter { $0.isFavorite && search.isFound(in: $0) })
    }
    return store.read {
      $0.favorites(in: name, order: order, textsOf: options.fields) { search.isFound(in: $0) }
    }
  }
}

extension Favorites {
  /// The favorites that hold a text, newest first unless asked otherwise; an empty text is in all of them.
  ///
  /// What cannot be read as an item is left out here, and named by `load`. Looks at every favorite.
  public func search(
    _ text: String, options: SearchOptions = SearchOptions(), order: ListOrder = .newestFirst
  ) -> [Item] {
    readable(library.search(text, options: options, order: order))
  }
}
