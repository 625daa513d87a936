import HeartlogLibraries

/// What the app runs without a store: one walk over the array of all cities for each question.
///
/// The favorites are at hand in memory, so that nothing is counted against a loop but the loop.
enum AppLoop {
  /// The flags of the persisted favorites in a copy of the catalog.
  static func merge(_ favorites: [City], into catalog: [City]) -> [City] {
    let ids = Set(favorites.map(\.id))
    return catalog.map { city in
      var city = city
      city.isFavorite = ids.contains(city.id)
      return city
    }
  }

  /// The same in the array itself, which nobody else holds.
  static func merge(_ favorites: [City], intoUnique catalog: inout [City]) {
    let ids = Set(favorites.map(\.id))
    for index in catalog.indices { catalog[index].isFavorite = ids.contains(catalog[index].id) }
  }

  static func search(_ prefix: String, in catalog: [City]) -> [City] {
    let prefix = prefix.lowercased()
    return catalog.filter { $0.name.lowercased().hasPrefix(prefix) }
  }

  static func group(_ catalog: [City]) -> [(country: String, cities: [City])] {
    Dictionary(grouping: catalog, by: \.country).map { (country: $0.key, cities: $0.value) }
      .sorted { $0.country < $1.country }
  }
}
