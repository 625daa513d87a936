/// Gives each distinct key a place, from 0, by first use.
struct Interner<Key: Hashable> {
  private var places: [Key: Int] = [:]

  /// The key's place, and whether this was its first use.
  mutating func place(of key: Key) -> (place: Int, isNew: Bool) {
    if let place = places[key] { return (place, false) }
    let place = places.count
    places[key] = place
    return (place, true)
  }
}
