/// How a search compares texts, and which ones it looks at.
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
  /// Whether case and diacritics matter. By default they do not: "sao" finds "São", "strasse" finds "Straße", and "lodz" finds "Łódź".
  public var isExact = false
  /// The fields to search, whatever they hold, with numbers in decimal; `id` is the item's id. If nil, the id and all fields, but only texts
  /// that people read: no dates, addresses, UUIDs and numbers.
  public var fields: [String]?

  /// Creates search options. By default, a search finds substrings in all texts of an item that people read, without regard to case and
  /// diacritics.
  ///
  /// - Parameters:
  ///   - match: where in a text the search text must occur.
  ///   - isExact: whether case and diacritics matter.
  ///   - fields: the fields to search, whatever they hold; if nil, the id and all fields, but only texts that people read.
  public init(match: Match = .substring, isExact: Bool = false, fields: [String]? = nil) {
    self.match = match
    self.isExact = isExact
    self.fields = fields
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
    let found = store.read { state in
      state.favorites(
        in: name, order: order, textsOf: options.fields,
        idWhere: search.searchesIDs ? { search.isFound(inID: $0) } : nil, where: { search.isFound(in: $0) })
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
