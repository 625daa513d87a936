import Heartlog

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
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let entry = try decoder.container(keyedBy: CatalogKey.self)
    id = try container.decodeIfPresent(Int.self, forKey: .id) ?? entry.decode(Int.self, forKey: .id)
    name = try container.decode(String.self, forKey: .name)
    country = try container.decode(String.self, forKey: .country)
    let place =
      entry.contains(.coord)
      ? try entry.nestedContainer(keyedBy: CodingKeys.self, forKey: .coord) : container
    lon = try place.decode(Double.self, forKey: .lon)
    lat = try place.decode(Double.self, forKey: .lat)
    isFavorite = try container.decodeIfPresent(Bool.self, forKey: .isFavorite) ?? false
    // A city of the store stays readable.
    guard
      !entry.contains(.coord) && !entry.contains(.id)
        || Self.longitudes.contains(lon) && Self.latitudes.contains(lat)
    else {
      throw DecodingError.dataCorruptedError(
        forKey: .lat, in: place, debugDescription: "a city at \(lat) degrees north and \(lon) east")
    }
  }

  private enum CodingKeys: CodingKey {
    case id, name, country, lon, lat, isFavorite
  }

  private enum CatalogKey: String, CodingKey {
    case id = "_id"
    case coord
  }

  static let longitudes = -180.0...180.0
  static let latitudes = -90.0...90.0

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

  /// Parses a catalog file, which is an array of entries, in order.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the text is not a JSON array; `LibraryError.invalidItem` if an
  ///   entry is not valid.
  public static func catalog(_ file: some JSONSource) throws(LibraryError) -> [City] {
    guard let entries = try file.json().array else {
      throw .invalidAnswer("a catalog of cities that is no array")
    }
    return try entries.map { (entry) throws(LibraryError) in try City(appRecord: entry) }
  }
}

extension City {
  /// Whether this city is before another in the order of the catalog: by name, then country, both compared as
  /// UTF-8 bytes, then id.
  package func precedes(_ other: City) -> Bool {
    if !name.utf8.elementsEqual(other.name.utf8) {
      return name.bytesPrecede(other.name)
    }
    if !country.utf8.elementsEqual(other.country.utf8) {
      return country.bytesPrecede(other.country)
    }
    return id < other.id
  }
}

extension [City] {
  /// The cities in the order of the catalog: name, country, id. The sort is stable.
  public func sortedAsCatalog() -> [City] {
    indices.sorted(byBytesOf: { self[$0].name }) { self[$0].precedes(self[$1]) }.map { self[$0] }
  }
}

extension Range<Int> {
  /// Sorts indices by the UTF-8 bytes of texts. Of two texts with equal beginnings, `precedes` decides.
  ///
  /// Comparing the first eight bytes of each as one number decides most comparisons.
  func sorted(byBytesOf text: (Int) -> String, _ precedes: (Int, Int) -> Bool) -> [Int] {
    var keys = map { index in
      var beginning: UInt64 = 0
      let bytes = text(index).utf8.prefix(8)
      for byte in bytes { beginning = beginning << 8 | UInt64(byte) }
      return (beginning: beginning << UInt64(8 * (8 - bytes.count)), index: index)
    }
    keys.sort { a, b in
      a.beginning != b.beginning ? a.beginning < b.beginning : precedes(a.index, b.index)
    }
    return keys.map(\.index)
  }
}
