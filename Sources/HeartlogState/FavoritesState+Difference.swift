import HeartlogFormat

/// What is different about an item in two states.
public struct ItemDifference: Hashable, Sendable {
  /// A field with two values.
  public struct Value: Hashable, Sendable {
    /// The name of the field.
    public let name: String
    /// Its value in the earlier state; nil if it held none.
    public let before: FieldValue?
    /// Its value in the later state; nil if it holds none.
    public let after: FieldValue?
  }

  /// The library of the item.
  public let library: String
  /// The item in the earlier state; neither a favorite nor with any field if that state does not know it.
  public let before: ItemState
  /// The item in the later state; likewise.
  public let after: ItemState

  /// The item's id in the library.
  public var id: String { after.id }

  /// The fields whose values differ, sorted by the bytes of their names.
  public var fields: [Value] {
    var found: [Value] = []
    var (old, new) = (before.fields[...], after.fields[...])
    while let name = [old.first?.name, new.first?.name].compactMap({ $0 }).min(by: Self.precedes) {
      func take(_ fields: inout Slice<ItemFields>) -> FieldValue? {
        guard let first = fields.first, first.name.hasSameBytes(as: name) else { return nil }
        return fields.removeFirst().value
      }
      let value = Value(name: name, before: take(&old), after: take(&new))
      if value.before != value.after { found.append(value) }
    }
    return found
  }

  fileprivate static func precedes(_ a: String, _ b: String) -> Bool {
    a.utf8.lexicographicallyPrecedes(b.utf8)
  }
}

extension FavoritesState {
  /// Returns what differs from an earlier state, sorted by library and id, both by bytes. Both may be of any moment, and of any store.
  ///
  /// Compares what is visible: which items are favorites, since when, and their fields. The result is empty exactly if both states have the
  /// same ``digest``. O(items of both states).
  ///
  /// - Parameters:
  ///   - earlier: the state to compare with.
  ///   - library: the only library to compare; all libraries if nil.
  public func difference(from earlier: FavoritesState, in library: String? = nil) -> [ItemDifference] {
    // The names of libraries are ASCII.
    let names = library.map { [$0] } ?? Set(libraries).union(earlier.libraries).sorted()
    return names.flatMap { name in
      var found: [ItemDifference] = []
      for item in items(in: name) {
        let before = earlier.item(item.id, in: name) ?? ItemState(id: item.id, isFavorite: false)
        if item != before { found.append(ItemDifference(library: name, before: before, after: item)) }
      }
      for item in earlier.items(in: name) where item.isVisible && self.item(item.id, in: name) == nil {
        let after = ItemState(id: item.id, isFavorite: false)
        found.append(ItemDifference(library: name, before: item, after: after))
      }
      return found.sorted { ItemDifference.precedes($0.id, $1.id) }
    }
  }
}
