/// What some commits of a block have, and most have not.
package struct SparseColumn<Value: Sendable>: Sendable {
  /// Of the commits that have it, rising.
  package private(set) var places: [Int32] = []
  package private(set) var values: [Value] = []

  init() {}

  /// - Parameter places: as many as there are values.
  init(places: [Int32], values: [Value]) {
    self.places = places
    self.values = values
  }

  /// What the commit at a place of the block has. O(log n).
  package subscript(place: Int) -> Value? {
    guard !places.isEmpty else { return nil }
    let found = firstPlace(from: place)
    return found < places.count && Int(places[found]) == place ? values[found] : nil
  }

  /// The place at an index of `places`; -1 behind the last.
  package func place(at index: Int) -> Int { index < places.count ? Int(places[index]) : -1 }

  /// Where in `places` those from a place of the block on begin. O(log n).
  package func firstPlace(from place: Int) -> Int { places.partitionPoint { Int($0) >= place } }
}
