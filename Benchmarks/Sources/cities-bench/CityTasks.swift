import Heartlog
import HeartlogLibraries

/// The tasks of an app with all cities of the world and 10,000 favorites.
final class CityTasks {
  static let favoriteCount = 10_000

  let catalog: [City]
  let favorites: [City]
  private let memory: InMemoryCityRepository
  private let merge: DefaultMergePersistedFavoritesUseCase
  /// The loop sorts once too, as the app does when it loads: its answers are in order.
  private let sorted: [City]
  private var loopCities: [City]
  private var ownCities: [City]

  /// Every 20th city of the file is a favorite, and the store holds what the catalog says of each.
  init(_ catalog: [City]) throws {
    self.catalog = catalog
    favorites = Array(
      stride(from: 3, to: catalog.count, by: 20).map { catalog[$0] }.prefix(Self.favoriteCount))
    let repository = try DefaultFavoriteCityRepository(try FavoritesStore.inMemory())
    try repository.favorites.add(contentsOf: favorites)
    memory = InMemoryCityRepository(catalog)
    merge = DefaultMergePersistedFavoritesUseCase(repository: repository, cities: memory)
    try merge.execute()
    sorted = catalog.sortedAsCatalog()
    loopCities = sorted
    ownCities = AppLoop.merge([], into: sorted)
  }

  var all: [Stopwatch.Pair] { merges + searches + [grouping] }

  private var merges: [Stopwatch.Pair] {
    [
      .init(
        name: "merge, the first after a load", prepare: { self.memory.load(self.catalog) },
        loop: mergeIntoCopy, library: mergeIntoMemory),
      .init(name: "merge, again", loop: mergeIntoCopy, library: mergeIntoMemory),
      .init(
        name: "merge into an own array", prepare: clearFlags, loop: mergeIntoOwn,
        library: { try self.merge.execute(in: &self.ownCities).favoriteCount }),
      .init(
        name: "merge into an own array, again", loop: mergeIntoOwn,
        library: { try self.merge.execute(in: &self.ownCities).favoriteCount }),
      .init(
        name: "merge into a shared array", loop: mergeIntoCopy,
        library: {
          var cities = self.sorted
          return try self.merge.execute(in: &cities).favoriteCount
        }),
    ]
  }

  private func mergeIntoCopy() -> Int {
    loopCities = AppLoop.merge(favorites, into: sorted)
    return favorites.count
  }

  private func mergeIntoOwn() -> Int {
    AppLoop.merge(favorites, intoUnique: &loopCities)
    return favorites.count
  }

  private func mergeIntoMemory() throws -> Int { try merge.execute().favoriteCount }

  /// Both arrays have no hearts, and each is held by nobody else.
  private func clearFlags() {
    for index in loopCities.indices where loopCities[index].isFavorite {
      loopCities[index].isFavorite = false
    }
    for index in ownCities.indices where ownCities[index].isFavorite { ownCities[index].isFavorite = false }
  }

  private var searches: [Stopwatch.Pair] {
    ["a", "s", "be", "sa", "ber", "san"].map { prefix in
      .init(
        name: "search \(prefix)", loop: { AppLoop.search(prefix, in: self.loopCities).count },
        library: { self.memory.search(prefix: prefix).count })
    }
  }

  private var grouping: Stopwatch.Pair {
    .init(
      name: "group by country", loop: { AppLoop.group(self.loopCities).count },
      library: { self.memory.cities.groupedByCountry().count })
  }
}
