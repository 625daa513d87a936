/// Assigns each distinct key an index, from 0, by first use.
struct Interner<Key: Hashable> {
  private var indices: [Key: Int] = [:]

  /// The key's index, and whether this is its first use.
  mutating func index(of key: Key) -> (index: Int, isNew: Bool) {
    if let index = indices[key] { return (index, false) }
    let index = indices.count
    indices[key] = index
    return (index, true)
  }
}
