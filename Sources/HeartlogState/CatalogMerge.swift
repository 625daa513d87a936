import HeartlogEvents

/// A catalog with the flags of a library: what an app's list of everything looks like to one person.
public struct CatalogMerge<Element> {
  /// The catalog in its own order, with its own metadata; only the flags are the library's.
  public let catalog: [Element]
  /// The favorites that the catalog does not list, newest first.
  public let orphans: [ItemState]
}

extension CatalogMerge: Sendable where Element: Sendable {}
extension CatalogMerge: Equatable where Element: Equatable {}

extension FavoritesState {
  /// Sets the flags of a catalog by id, in one pass with one look-up an element.
  ///
  /// A flag is replaced, not or-ed: what the library does not hold as a favorite is none, whatever the
  /// catalog said. Elements that share an id share the flag.
  ///
  /// - Parameters:
  ///   - id: an element's id as the library knows it.
  ///   - set: sets an element's flag, and its favorited date: nil where it is no favorite.
  public func merge<Element, E: Error>(
    into catalog: [Element], of library: String, id: (Element) throws(E) -> String,
    set: (inout Element, _ isFavorite: Bool, _ favoritedDate: Milliseconds?) throws(E) -> Void
  ) throws(E) -> CatalogMerge<Element> {
    let table = table(of: library) ?? ItemTable()
    var isListed = [Bool](repeating: false, count: table.items.count)
    var merged = catalog
    for index in merged.indices {
      let slot = try id(merged[index]).withBytes { table.find($0) }.map { Int($0.index) }
      if let slot, table.items[slot].isFavorite {
        isListed[slot] = true
        try set(&merged[index], true, table.items[slot].favoritedDate)
      } else {
        try set(&merged[index], false, nil)
      }
    }
    return CatalogMerge(
      catalog: merged,
      orphans: ItemListing(of: table, order: .newestFirst) { slot, item in item.isFavorite && !isListed[slot]
      }
      .slots.map { table.state(of: $0, names: fieldNames) })
  }
}
