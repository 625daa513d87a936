/// An immutable, sorted list of all cities, with indexes for fast queries.
final class CityCatalog: Sendable {
  /// In the order of the catalog, without flags.
  let cities: [City]
  let ids: CityIDTable
  /// By position in `cities`.
  let fingerprints: [CityFingerprint]
  let names: CitySearchIndex
  /// Ascending by their UTF-8 bytes.
  let countries: [String]
  /// By position in `cities`: the index of the city's country in `countries`.
  let countryNumbers: [Int32]
  /// The positions of all cities: 0, 1, 2 ….
  let all: [Int32]

  /// Creates a catalog. O(n log n): about 0.2 s for the 209,579 cities of the real list.
  init(_ cities: [City]) {
    var sorted = cities.sortedAsCatalog()
    for index in sorted.indices where sorted[index].isFavorite { sorted[index].isFavorite = false }
    self.cities = sorted
    ids = CityIDTable(count: sorted.count) { sorted[$0].id }
    fingerprints = sorted.map { CityFingerprint($0) }
    names = CitySearchIndex(sorted)
    let countries = Set(sorted.map(\.country)).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let numbers = Dictionary(uniqueKeysWithValues: zip(countries, 0 as Int32..<Int32(countries.count)))
    self.countries = countries
    countryNumbers = sorted.map { numbers[$0.country] ?? 0 }
    all = Array(0..<Int32(sorted.count))
  }

  /// Flags the cities with these ids. O(number of ids).
  ///
  /// - Returns: The flags, and the ids that are not in the catalog, in their order.
  func flags(_ ids: some Sequence<City.ID>) -> (flags: CityFlags, unlisted: [City.ID]) {
    var flags = CityFlags(count: cities.count)
    var unlisted: [City.ID] = []
    for id in ids where !forEachPosition(of: id, { flags[$0] = true }) {
      unlisted.append(id)
    }
    return (flags, unlisted)
  }

  /// Calls `body` with each position of an id.
  ///
  /// - Returns: Whether there is one.
  @discardableResult
  func forEachPosition(of id: City.ID, _ body: (Int) -> Void) -> Bool {
    ids.forEachPosition(of: id, idAt: { cities[$0].id }, body)
  }

  /// Flags the cities with an id.
  ///
  /// - Returns: The first position; `nil` if there is none.
  @inline(__always)
  func flag(_ id: City.ID, in flags: inout CityFlags) -> Int? {
    var first = Int.max
    let isListed = forEachPosition(of: id) {
      flags[$0] = true
      first = min(first, $0)
    }
    return isListed ? first : nil
  }

  /// The first position of an id.
  func position(of id: City.ID) -> Int? {
    var first: Int?
    forEachPosition(of: id) { first = min(first ?? $0, $0) }
    return first
  }
}
