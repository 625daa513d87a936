import HeartlogFormat

/// The location of an item's record. Valid in the same state, and in states made from it by applying more commits.
package struct ItemLocation: Hashable, Sendable {
  /// The number of its library; -1 for an item that was never written.
  package let library: Int32
  /// Its number in the library.
  package let item: Int32

  package init(library: Int32, item: Int32) {
    self.library = library
    self.item = item
  }
}

extension FavoritesState {
  /// Returns the number of a library; nil if it was never written.
  package func number(ofLibrary name: String) -> Int32? { libraryNames.find(name) }

  /// Returns the name of the library with that number.
  package func libraryName(_ number: Int32) -> String { libraryNames.string(of: number) }

  /// Returns the location of an item; nil if it was never written.
  package func location(of id: String, in library: String) -> ItemLocation? {
    find(id, in: library).map { ItemLocation(library: Int32($0.table), item: Int32($0.slot)) }
  }

  /// Returns the locations of a block's items, in the order of the block.
  package func locations(of block: ColumnBlock) -> [ItemLocation] {
    let columns = block.columns
    let libraries = columns.libraries.map { libraryNames.find($0) }
    let finders = libraries.map { $0.map { tables[Int($0)].ids.finder } }
    var locations = [ItemLocation](
      repeating: ItemLocation(library: -1, item: -1), count: columns.items.count)
    // Each lookup has two cache misses. Interleave several lookups so that the misses overlap.
    let soughtTogether = InternTable<ItemRecord>.soughtTogether
    var sought = [InternTable<ItemRecord>.Probe?](repeating: nil, count: soughtTogether)
    for first in stride(from: 0, to: columns.items.count, by: soughtTogether) {
      let items = first..<min(first + soughtTogether, columns.items.count)
      for index in items {
        let item = columns.items[index]
        sought[index - first] = finders[Int(item.library)]?.seek(columns.texts.bytes(item.id))
      }
      for index in items {
        if let probe = sought[index - first] { finders[Int(columns.items[index].library)]?.seekRecord(probe) }
      }
      for index in items {
        let item = columns.items[index]
        guard let probe = sought[index - first], let number = libraries[Int(item.library)] else { continue }
        let id = columns.texts.bytes(item.id)
        let found =
          id.count <= Key.inlineBytesMax
          ? finders[Int(item.library)]?.find(probe) : tables[Int(number)].find(id)?.index
        if let found { locations[index] = ItemLocation(library: number, item: found) }
      }
    }
    return locations
  }

  /// Returns the id of an item.
  package func id(at location: ItemLocation) -> String {
    tables[Int(location.library)].ids.string(of: location.item)
  }
}
