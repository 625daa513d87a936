import Heartlog
import HeartlogFormat

/// A city of the catalog.
public struct City: FavoriteItem, Hashable {
  public static let library = "cities"

  public var id: Int
  /// The name as in the catalog, with its diacritics.
  public var name: String
  /// The two-letter code of ISO 3166, if the catalog has one.
  public var country: String
  /// Degrees east.
  public var lon: Double
  /// Degrees north.
  public var lat: Double
  /// Whether the city was a favorite when it was read; never written to the store.
  public var isFavorite: Bool

  /// Creates a city.
  public init(id: Int, name: String, country: String, lon: Double, lat: Double, isFavorite: Bool = false) {
    self.id = id
    self.name = name
    self.country = country
    self.lon = lon
    self.lat = lat
    self.isFavorite = isFavorite
  }

  /// Decodes a city of the store, or an entry of a catalog.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    id = try container.decode(Int.self, forKey: .id, or: .catalogID)
    name = try container.decode(String.self, forKey: .name)
    country = try container.decode(String.self, forKey: .country)
    let place =
      container.contains(.coord)
      ? try container.nestedContainer(keyedBy: Key.self, forKey: .coord) : container
    lon = try place.decode(Double.self, forKey: .lon)
    lat = try place.decode(Double.self, forKey: .lat)
    // An entry of a catalog is checked as every reader of one does. A city of the store stays readable.
    if container.contains(.coord) || container.contains(.catalogID), !Self.isPlace(lon: lon, lat: lat) {
      throw DecodingError.dataCorruptedError(
        forKey: .lat, in: place, debugDescription: "a city at \(lat) degrees north and \(lon) east")
    }
    isFavorite = try container.decodeIfPresent(Bool.self, forKey: .isFavorite) ?? false
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(id, forKey: .id)
    try container.encode(name, forKey: .name)
    try container.encode(country, forKey: .country)
    try container.encode(lon, forKey: .lon)
    try container.encode(lat, forKey: .lat)
    try container.encode(isFavorite, forKey: .isFavorite)
  }

  private enum Key: String, CodingKey {
    case id, name, country, lon, lat, isFavorite
    // In a catalog.
    case coord
    case catalogID = "_id"
  }

  static let longitudes = -180.0...180.0
  static let latitudes = -90.0...90.0

  private static func isPlace(lon: Double, lat: Double) -> Bool {
    longitudes.contains(lon) && latitudes.contains(lat)
  }

  /// The flag of the country; empty if the code is not exactly two letters A–Z.
  public var flagEmoji: String {
    let letters = Array(country.utf8)
    guard letters.count == 2, letters.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
    else { return "" }
    var flag = ""
    for letter in letters {
      // Regional indicator symbols begin with that of A.
      guard let indicator = Unicode.Scalar(0x1F1E6 + UInt32(letter - UInt8(ascii: "A"))) else { return "" }
      flag.unicodeScalars.append(indicator)
    }
    return flag
  }
}

/// Parsing of a catalog file: `{"_id","name","country","coord":{"lon","lat"},"isFavorite"?}`.
extension City {
  /// The members of an entry that are read.
  static let catalogMembers: Set = [
    "_id", "id", "name", "country", "coord", "lon", "lat", FieldName.isFavorite,
  ]

  /// Parses one entry, or a record that has `id` for `_id`, and `lon` and `lat` without `coord`.
  ///
  /// - Throws: `LibraryError.invalidItem` if a member is missing, the coordinates are no place, or the flag is none.
  public init(catalogEntry entry: some JSONSource) throws(LibraryError) {
    let entry = try entry.json()
    guard let number = (entry["_id"] ?? entry["id"])?.int64, let id = Int(exactly: number) else {
      throw .invalidItem("a city of the catalog without an _id")
    }
    let place = entry["coord"] ?? entry
    guard let name = entry["name"]?.string, let country = entry["country"]?.string,
      let lon = place["lon"]?.number, let lat = place["lat"]?.number
    else { throw .invalidItem("the city \(id) of the catalog without a name, a country or coordinates") }
    guard Self.isPlace(lon: lon, lat: lat) else {
      throw .invalidItem("the city \(id) of the catalog at \(lat) degrees north and \(lon) east")
    }
    self.init(
      id: id, name: name, country: country, lon: lon, lat: lat,
      isFavorite: try FileItem.flag(entry["isFavorite"]) ?? false)
  }

  /// Parses a catalog file, which is an array of entries, in order.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the text is not a JSON array; `LibraryError.invalidItem` if an
  ///   entry is not valid.
  public static func catalog(_ file: some JSONSource) throws(LibraryError) -> [City] {
    guard let entries = try file.json().array else {
      throw .invalidAnswer("a catalog of cities that is no array")
    }
    var cities: [City] = []
    cities.reserveCapacity(entries.count)
    for entry in entries { cities.append(try City(catalogEntry: entry)) }
    return cities
  }
}

extension City {
  /// Whether this city is before another in the order of the catalog: by name, then country, both compared as
  /// UTF-8 bytes, then id.
  public func precedes(_ other: City) -> Bool {
    if !name.utf8.elementsEqual(other.name.utf8) {
      return name.utf8.lexicographicallyPrecedes(other.name.utf8)
    }
    if !country.utf8.elementsEqual(other.country.utf8) {
      return country.utf8.lexicographicallyPrecedes(other.country.utf8)
    }
    return id < other.id
  }

  /// The first eight bytes of the name, padded with zeros. Cities with different prefixes are in the order of
  /// the prefixes.
  fileprivate var namePrefix: UInt64 { name.utf8.sortingPrefix }
}

extension [City] {
  /// The cities in the order of the catalog: name, country, id. The sort is stable.
  public func sortedAsCatalog() -> [City] {
    var keys = indices.map { (prefix: self[$0].namePrefix, index: $0) }
    keys.sort { a, b in
      if a.prefix != b.prefix { return a.prefix < b.prefix }
      return self[a.index].precedes(self[b.index])
    }
    return keys.map { self[$0.index] }
  }
}

extension Sequence<UInt8> {
  /// The first eight bytes as a big-endian number, padded with zeros. Comparing two of these decides most
  /// comparisons of names.
  var sortingPrefix: UInt64 {
    var prefix: UInt64 = 0
    var count = 0
    for byte in self.prefix(8) {
      prefix = prefix << 8 | UInt64(byte)
      count += 1
    }
    return count == 0 ? 0 : prefix << UInt64(8 * (8 - count))
  }
}
