import Heartlog
import HeartlogLibraries

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#endif

/// smart-city [CATALOG [STORE]]: a session with a catalog of cities. Without STORE it is kept in memory.
@main
struct Main {
  static func main() {
    do { try session() } catch {
      print("smart-city: \(error)")
      exit(1)
    }
  }

  private static func session() throws {
    let arguments = CommandLine.arguments.dropFirst()
    let catalog = try City.catalog(at: arguments.first ?? "fixtures/api/cities-catalog.json")
    let store = try arguments.dropFirst().first.map(open) ?? .inMemory()
    var screen = CityScreen(favorites: try store.favorites(of: City.self))

    heading("The catalog, with the hearts that the store remembers")
    try screen.show(catalog)
    for city in screen.cities.filter({ $0.country == "PT" }) { print("  \(city.row)") }
    print("  … and \(screen.cities.filter { $0.country != "PT" }.count) cities more")

    heading("Taps on five hearts, the last one a change of mind")
    for id in [2267057, 2735943, 1850147, 2643743, 2643743] {  // Lisboa, Porto, Tōkyō, London, London
      if let city = try screen.tap(id) { print("  \(city.row)") }
    }

    heading("The favorites, newest first")
    let before = screen.favorites.list()
    for city in before { print("  \(city.row)") }

    heading("A new catalog comes: Porto is called Oporto now, and Tōkyō is missing")
    try screen.show(
      catalog.filter { $0.id != 1850147 }.map { city in
        var city = city
        if city.id == 2735943 { city.name = "Oporto" }
        return city
      })
    for city in screen.cities where city.isFavorite { print("  \(city.row)") }
    for city in screen.orphans { print("  \(city.row)  (a favorite that the catalog no longer lists)") }

    // The hearts and their dates are the store's: no catalog can take them away.
    let after = screen.favorites.list()
    guard after.map(\.id) == before.map(\.id) else { throw LostFavorites() }
    print("\n\(after.count) favorites before the refresh, \(after.count) after it, in the same order.")
    try store.close()
  }

  private static func open(_ path: String) throws -> FavoritesStore {
    var options = StoreOptions()
    options.origin = "smart-city"  // the log names the app with each of its commits
    return try FavoritesStore(at: path, options: options)
  }

  private static func heading(_ text: String) { print("\n\(text)") }
}

struct LostFavorites: Error {}

extension City {
  /// Reads a catalog file, sorted as the app's screens show it: by name, then country, then id.
  static func catalog(at path: String) throws -> [City] {
    guard let bytes = FileManager.default.contents(atPath: path) else {
      throw HeartlogError(.notFound, "the catalog cannot be read", file: path)
    }
    return try catalog(Array(bytes)).sorted {
      ($0.name, $0.country, $0.id) < ($1.name, $1.country, $1.id)
    }
  }
}
