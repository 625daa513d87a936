import Heartlog

/// All cities that an app knows, with their flags: what its searches and lists read.
///
/// `InMemoryCityRepository` is one. The favorites themselves are in a `FavoriteCityRepository`.
public protocol CityRepository: Sendable {
  /// Replaces the catalog. Flags that were merged or toggled are kept; a favorite that the catalog does not
  /// contain stays a favorite.
  func load(_ cities: [City])

  /// All cities of the catalog, by name, country and id.
  var cities: CityList { get }

  /// The city with this id and its flag; `nil` if neither the catalog nor the favorites contain it.
  func city(_ id: City.ID) -> City?

  /// The cities of the catalog whose names begin with `prefix`, in the order of the catalog, ignoring case.
  ///
  /// - Parameters:
  ///   - prefix: the beginning of the names; empty for all cities.
  ///   - favoritesOnly: whether only favorites are found.
  func search(prefix: String, favoritesOnly: Bool) -> CityList
}

/// Stores which cities are favorites.
///
/// `DefaultFavoriteCityRepository` uses a store, `InMemoryCityRepository` memory. A repository must implement
/// two methods; the others have default implementations, which can be replaced by faster ones.
///
/// Each method throws `HeartlogError` if the favorites cannot be read or written; then nothing has changed.
public protocol FavoriteCityRepository: Sendable {
  /// Toggles the state in the repository, whatever the flag of the city is. A new city is recorded.
  ///
  /// - Returns: Whether the city is a favorite now.
  @discardableResult
  func toggleFavorite(for city: City) throws(HeartlogError) -> Bool

  /// The favorites, including those that are in no catalog.
  func fetchFavorites() throws(HeartlogError) -> [City]

  /// Whether the city with this id is a favorite.
  func isFavorite(_ id: City.ID) throws(HeartlogError) -> Bool

  /// The ids of the favorites, in no particular order.
  func favoriteIDs() throws(HeartlogError) -> [City.ID]

  /// Updates favorites with the data of a catalog: names, countries and coordinates, but never whether and
  /// since when they are favorites.
  ///
  /// - Returns: The number of favorites that changed.
  @discardableResult
  func refreshFavorites(_ cities: [City]) throws(HeartlogError) -> Int

  /// Notices that favorites have changed, for one reader: one at once, and then one for any number of changes since it
  /// took the last. It reads what it shows again.
  var changes: AsyncStream<Void> { get }
}

// Based on `fetchFavorites()`: O(favorites) each.
extension FavoriteCityRepository {
  public func isFavorite(_ id: City.ID) throws(HeartlogError) -> Bool { try favoriteIDs().contains(id) }

  public func favoriteIDs() throws(HeartlogError) -> [City.ID] { try fetchFavorites().map(\.id) }

  public func refreshFavorites(_ cities: [City]) throws(HeartlogError) -> Int { 0 }

  /// One notice, and no more: a repository that does not know of changes.
  public var changes: AsyncStream<Void> {
    AsyncStream { continuation in
      continuation.yield()
      continuation.finish()
    }
  }
}

/// Favorite cities in a store; a thin layer over `Favorites<City>`.
public struct DefaultFavoriteCityRepository: FavoriteCityRepository, TypedLibrary {
  /// The same favorites in the general interface: changes, models, history.
  public let favorites: Favorites<City>
  public var store: FavoritesStore { favorites.library.store }

  /// Creates a repository of existing favorites.
  public init(_ favorites: Favorites<City>) { self.favorites = favorites }

  /// Creates a repository of the favorites in a store.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    self.init(try store.favorites(of: City.self))
  }

  /// Toggles a city in one commit. A new favorite gets a new date, and the fields of `city` are stored.
  ///
  /// - Throws: `invalidItem` if a coordinate is not a number; `HeartlogError` if the store cannot be written.
  @discardableResult
  public func toggleFavorite(for city: City) throws(HeartlogError) -> Bool { try favorites.toggle(city) }

  /// The favorites, newest first. A record that is not a valid city is left out, and reported by
  /// `favorites.failures`.
  public func fetchFavorites() -> [City] { favorites.list() }

  public func isFavorite(_ id: City.ID) -> Bool { favorites.contains(id) }

  public func favoriteIDs() -> [City.ID] { favorites.ids }

  private static let metadata = ["name", "country", "lon", "lat"]

  /// Updates favorites with the data of a catalog, in one commit, or in several if very many differ; if none does,
  /// nothing is written. One look-up per city.
  ///
  /// - Throws: `invalidItem` if a coordinate is not a number; `HeartlogError` if the store cannot be written.
  @discardableResult
  public func refreshFavorites(_ cities: [City]) throws(HeartlogError) -> Int {
    var differing: [City] = []
    favorites.library.store.read { state in
      let ids = cities.lazy.map(\.id.favoriteID)
      state.forEachItem(ids, in: favorites.library.name, fields: Self.metadata) {
        index, isFavorite, held in
        let city = cities[index]
        let isKnown =
          held[0] == .string(city.name) && held[1] == .string(city.country)
          && held[2] == FieldValue.number(city.lon) && held[3] == FieldValue.number(city.lat)
        if isFavorite, !isKnown { differing.append(city) }
      }
    }
    return try favorites.update(contentsOf: differing)
  }
}

extension DefaultFavoriteCityRepository {
  /// Takes over the favorites of an app's own database, in one commit, or in several if they are very many: of the rows, those whose `isFavorite` is set.
  ///
  /// A city that the store has had before stays as it is: one that was removed since does not come back, and a
  /// second call changes nothing.
  ///
  /// - Parameter cities: the rows, in any order.
  /// - Throws: `HeartlogError` if the store cannot be written.
  @discardableResult
  public func migrate(from cities: some Sequence<City>) throws(HeartlogError) -> MigrationReport {
    try favorites.migrate(
      from: favorites.items(of: cities) { $0.isFavorite ? $0 : nil }, origin: MigrationOrigin.database)
  }

  /// Takes over the favorites in an array that the app kept in its user defaults, in one commit: as
  /// `migrate(from:)`, of the records whose `isFavorite` is true. Members that are not known are reported.
  ///
  /// - Parameter array: the JSON array, with entries as in a catalog, or as an encoder writes a `City`.
  /// - Throws: `LibraryError.invalidAnswer` if it is not an array; `HeartlogError` if the store cannot be written.
  @discardableResult
  public func migrate(fromPersisted array: some JSONSource) throws -> MigrationReport {
    try favorites.migrate(
      from: CatalogRecords().items(of: array, for: favorites), origin: MigrationOrigin.userDefaults)
  }
}

extension DefaultFavoriteCityRepository {
  /// Notices of the changes by this app, other processes and other devices. They end with the store.
  public var changes: AsyncStream<Void> { favorites.changes.notices }
}

extension Changes {
  /// Notices for one reader: one at once, and then one for any number of changes since it took the last.
  ///
  /// The changes are those since `self` was created, before the first notice: what the reader reads then is not older.
  var notices: AsyncStream<Void> {
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let reading = Task {
      continuation.yield()
      for await _ in self { continuation.yield() }
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }
}

extension City: DescribedItem {
  public static var descriptor: any LibraryDescriptor { CitiesDescriptor() }
}

/// Cities of the catalog, identified by numbers.
private struct CitiesDescriptor: LibraryDescriptor {
  let name = City.library
  let fields: [LibraryField] = [
    .init("name", alwaysHasColumn: true), .init("country", alwaysHasColumn: true),
    .init("lat", .number(City.latitudes), alwaysHasColumn: true),
    .init("lon", .number(City.longitudes), alwaysHasColumn: true),
  ]
  let traits: Set<LibraryTrait> = [.places]
  let titleFields = ["name"]
  let subtitleFields = ["country"]
  let idColumns: Set<String> = ["_id"]
  let columnAliases = ["latitude": "lat", "longitude": "lon", "lng": "lon", "long": "lon"]
  var appRecords: (any AppRecords)? { CatalogRecords() }

  func id(_ text: String) throws(LibraryError) -> String {
    guard let number = Int(text) else {
      throw .invalidItem("\(text.quoted) is not the id of a city, which is a number")
    }
    return number.favoriteID
  }

  /// A title such as "Coimbra, PT".
  func bookmarkTitle(of item: FileItem) -> String {
    let names = [item["name"]?.text, item["country"]?.text].compactMap { $0 }.filter { !$0.isEmpty }
    return names.isEmpty ? item["title"]?.text ?? item.id : names.joined(separator: ", ")
  }

  func address(of item: FileItem) -> String? {
    guard let lat = item["lat"]?.number, let lon = item["lon"]?.number else { return nil }
    let (north, east) = (JSONValue.double(lat).jsonText, JSONValue.double(lon).jsonText)
    return "https://www.openstreetmap.org/?mlat=\(north)&mlon=\(east)#map=12/\(north)/\(east)"
  }

  /// Recognizes cities at OpenWeather and GeoNames, which use the same ids.
  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let url = URL(string: address), let host = url.host?.lowercased() else { return nil }
    let path = url.path.split(separator: "/").map(String.init)
    if host.hasSuffix("openweathermap.org"), path.count == 2, path[0] == "city" {
      return FileItem(id: path[1])
    }
    return host.hasSuffix("geonames.org") ? path.first.map { FileItem(id: $0) } : nil
  }
}

/// The catalog of Smart City: `[{"_id", "name", "country", "coord": {"lon", "lat"}, "isFavorite"?}, …]`, or as in
/// OpenWeather's older list one entry per line.
private struct CatalogRecords: AppRecordList {
  let library = City.descriptor
  let members = City.catalogMembers

  /// An entry has the name and country of a city, and its id or place as only the catalog has them.
  func matches(_ outline: JSONOutline) -> Bool {
    let names = outline.recordNames
    return names.isSuperset(of: ["name", "country"]) && !names.isDisjoint(with: ["_id", "coord"])
  }
  func matches(_ item: FileItem) -> Bool { item["lat"] != nil && item["lon"] != nil }

  func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    let city = try City(appRecord: record)
    var item = try FileItem(encoding: city)
    item.isFavorite = city.isFavorite
    try item.takeRest(of: record)
    return item
  }

  func record(_ item: FileItem) throws(LibraryError) -> JSONValue {
    guard let id = Int(item.id), let name = item["name"]?.text,
      let country = item["country"]?.text, let lon = item["lon"], lon.number != nil,
      let lat = item["lat"], lat.number != nil
    else { throw .invalidItem("\(item.id): a city without a numeric id, a name, a country or coordinates") }
    return .object(
      .present([
        "_id": .int64(Int64(id)), "name": .string(name), "country": .string(country),
        "coord": .object(.present(["lon": lon.jsonValue, "lat": lat.jsonValue])),
        FieldName.isFavorite: .bool(item.isFavorite),
      ]) + item.rest(except: ["name", "country", "lon", "lat"]))
  }
}
