/// Cities in the order of the catalog, with the favorite flags at the time the list was created: all cities,
/// search results, or those of one country.
///
/// It is a lazy view: elements are created on access, and a list of two hundred thousand cities costs no more
/// than one of two.
public struct CityList: RandomAccessCollection, Sendable {
  let catalog: CityCatalog
  let flags: CityFlags
  /// The positions of its cities in the catalog, ascending.
  let positions: ArraySlice<Int32>

  public var startIndex: Int { 0 }
  public var endIndex: Int { positions.count }

  public subscript(index: Int) -> City {
    let position = Int(positions[positions.startIndex + index])
    var city = catalog.cities[position]
    city.isFavorite = flags[position]
    return city
  }

  /// Groups the cities by country. Countries are ascending by their bytes; within a country, the order of
  /// this list, which is by name, is kept.
  ///
  /// O(n) with two passes over small integers.
  public func groupedByCountry() -> [CityGroup] {
    var starts = [Int](repeating: 0, count: catalog.countries.count + 1)
    for position in positions { starts[Int(catalog.countryNumbers[Int(position)]) + 1] += 1 }
    for country in catalog.countries.indices { starts[country + 1] += starts[country] }
    var next = starts
    var grouped = [Int32](repeating: 0, count: positions.count)
    for position in positions {
      let country = Int(catalog.countryNumbers[Int(position)])
      grouped[next[country]] = position
      next[country] += 1
    }
    return catalog.countries.indices.compactMap { country in
      guard starts[country] < starts[country + 1] else { return nil }
      return CityGroup(
        country: catalog.countries[country],
        cities: CityList(
          catalog: catalog, flags: flags, positions: grouped[starts[country]..<starts[country + 1]]))
    }
  }
}

/// The cities of one country.
public struct CityGroup: Identifiable, Sendable {
  /// The country as in the catalog; empty for cities without one.
  public let country: String
  /// The cities, by name.
  public let cities: CityList

  public var id: String { country }
}
