import HeartlogFormat

/// A catalog with the favorite flags of a library: an app's list of everything, as one person sees it.
public struct CatalogMerge<Element, Orphan> {
  /// The catalog in its own order, with its own metadata. Only the flags come from the library.
  public let catalog: [Element]
  /// The favorites that are not in the catalog, newest first.
  public let orphans: [Orphan]

  package init(catalog: [Element], orphans: [Orphan]) {
    self.catalog = catalog
    self.orphans = orphans
  }
}

extension CatalogMerge: Sendable where Element: Sendable, Orphan: Sendable {}
extension CatalogMerge: Equatable where Element: Equatable, Orphan: Equatable {}

extension FavoritesState {
  /// Sets the flags of a catalog by id, in one pass with one lookup per element.
  ///
  /// Flags are replaced, not or-ed: an element that is not a favorite in the library loses its flag, whatever the catalog said. Elements
  /// with the same id get the same flag.
  ///
  /// - Parameters:
  ///   - catalog: any list; an id may occur more than once.
  ///   - library: the library with the favorites.
  ///   - id: returns the id of an element in the library.
  ///   - set: sets an element's flag and its favorited date, which is nil unless it is a favorite.
  package func merge<Element, E: Error>(
    into catalog: [Element], of library: String, id: (Element) throws(E) -> String,
    set: (inout Element, _ isFavorite: Bool, _ favoritedDate: Milliseconds?) throws(E) -> Void
  ) throws(E) -> CatalogMerge<Element, ItemState> {
    let table = table(of: library) ?? ItemTable()
    var isListed = [Bool](repeating: false, count: table.items.count)
    var merged = catalog
    for index in merged.indices {
      let slot = try id(merged[index]).withUTF8Bytes { table.find($0) }.map { Int($0.index) }
      if let slot, table.items[slot].isFavorite {
        isListed[slot] = true
        try set(&merged[index], true, table.items[slot].favoritedDate)
      } else {
        try set(&merged[index], false, nil)
      }
    }
    return CatalogMerge(
      catalog: merged,
      orphans: ItemListing(of: table, order: .newestFirst, replicas: replicas) { slot, item in
        item.pointee.isFavorite && !isListed[slot]
      }
      .slots.map { table.state(of: $0, names: fieldNames, replicas: replicas) })
  }
}
