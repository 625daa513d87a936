import Foundation
import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Synchronization
import Testing

/// A clock that tests set: milliseconds since 1970.
final class CityClock: Sendable {
  private let time = Mutex<Milliseconds>(1_772_438_400_000)

  var now: Milliseconds {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }
}

/// Smart City as it starts: a catalog in memory, favorites in a store.
struct SmartCity {
  let clock = CityClock()
  let store: FavoritesStore
  let repository: DefaultFavoriteCityRepository
  let cities: InMemoryCityRepository
  let toggle: DefaultToggleFavCityUseCase
  let fetch: DefaultFetchFavoriteCitiesUseCase
  let merge: DefaultMergePersistedFavoritesUseCase

  init(_ catalog: [City] = SmartCity.catalog) throws {
    var options = StoreOptions()
    let clock = clock
    options.clock = { clock.now }
    store = try .inMemory(options: options)
    repository = try DefaultFavoriteCityRepository(store)
    cities = InMemoryCityRepository(catalog)
    toggle = DefaultToggleFavCityUseCase(repository: repository, cities: cities)
    fetch = DefaultFetchFavoriteCitiesUseCase(repository: repository, cities: cities)
    merge = DefaultMergePersistedFavoritesUseCase(repository: repository, cities: cities)
  }

  static let catalog = [
    city(5, "Sydney", "AU"), city(1, "Albuquerque", "US"), city(4, "Arizona", "US"),
    city(7, "Alabama", "US"), city(3, "Anaheim", "US"), city(6, "Alabama", "AU"), city(2, "Alabama", "US"),
  ]
}

extension DefaultMergePersistedFavoritesUseCase {
  /// Merges into a copy of an array.
  func execute(_ catalog: [City]) throws(HeartlogError) -> (cities: [City], report: CityMergeReport) {
    var cities = catalog
    let report = try execute(in: &cities)
    return (cities, report)
  }
}

func city(_ id: Int, _ name: String, _ country: String = "XX", isFavorite: Bool = false) -> City {
  City(id: id, name: name, country: country, lon: Double(id) + 0.25, lat: -1, isFavorite: isFavorite)
}

/// The real list, unpacked once.
enum RealCities {
  static let all = Result { try read() }

  private static func read() throws -> [City] {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    let folder = try #require(RealData.folder)
    process.arguments = ["gzip", "-dc", folder.appending(path: "cities/cities.json.gz").path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd()
    process.waitUntilExit()
    return try City.catalog(Array(try #require(data)))
  }
}
