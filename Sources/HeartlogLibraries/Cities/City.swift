import Heartlog
import HeartlogEvents

/// A city of the catalog.
public struct City: FavoriteItem, Hashable {
  public static let library = "cities"

  public var id: Int
  /// As the catalog writes it, with its diacritics.
  public var name: String
  /// Two letters of ISO 3166, as far as the catalog has them.
  public var country: String
  /// Degrees east.
  public var lon: Double
  /// Degrees north.
  public var lat: Double
  /// What the store or the catalog said last; never written to the store.
  public var isFavorite: Bool

  /// A city with all that the catalog knows of it.
  public init(id: Int, name: String, country: String, lon: Double, lat: Double, isFavorite: Bool = false) {
    self.id = id
    self.name = name
    self.country = country
    self.lon = lon
    self.lat = lat
    self.isFavorite = isFavorite
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    name = try container.decode(String.self, forKey: .name)
    country = try container.decode(String.self, forKey: .country)
    lon = try container.decode(Double.self, forKey: .lon)
    lat = try container.decode(Double.self, forKey: .lat)
    isFavorite = try container.decodeIfPresent(Bool.self, forKey: .isFavorite) ?? false
  }

  private enum CodingKeys: CodingKey {
    case id, name, country, lon, lat, isFavorite
  }

  /// The flag of the country; empty where it is not exactly two letters A–Z.
  public var flagEmoji: String {
    let letters = Array(country.utf8)
    guard letters.count == 2, letters.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
    else { return "" }
    var flag = ""
    for letter in letters {
      // Regional indicators, from that of A on.
      guard let indicator = Unicode.Scalar(0x1F1E6 + UInt32(letter - UInt8(ascii: "A"))) else { return "" }
      flag.unicodeScalars.append(indicator)
    }
    return flag
  }
}

/// What a catalog file holds: `{"_id","name","country","coord":{"lon","lat"},"isFavorite"?}`.
extension City {
  /// Reads one entry.
  ///
  /// - Throws: `LibraryError.invalidItem` for an entry that lacks a member.
  public init(catalogEntry entry: JSONValue) throws(LibraryError) {
    guard let number = entry["_id"]?.int64, let id = Int(exactly: number) else {
      throw .invalidItem("a city of the catalog without an _id")
    }
    guard let name = entry["name"]?.string, let country = entry["country"]?.string,
      let lon = entry["coord"]?["lon"]?.number, let lat = entry["coord"]?["lat"]?.number
    else { throw .invalidItem("the city \(id) of the catalog without a name, a country or coordinates") }
    self.init(
      id: id, name: name, country: country, lon: lon, lat: lat,
      isFavorite: entry["isFavorite"]?.bool ?? false)
  }

  /// Reads a catalog file, an array of entries, in its order.
  ///
  /// - Throws: `LibraryError.invalidAnswer` for what is no JSON, or no array; `LibraryError.invalidItem` for an entry that lacks a member.
  public static func catalog(_ bytes: [UInt8]) throws(LibraryError) -> [City] {
    let value: JSONValue
    do {
      value = try JSONValue.parse(bytes)
    } catch {
      throw .invalidAnswer(error.reason)
    }
    guard let entries = value.array else { throw .invalidAnswer("a catalog of cities that is no array") }
    var cities: [City] = []
    cities.reserveCapacity(entries.count)
    for entry in entries { cities.append(try City(catalogEntry: entry)) }
    return cities
  }
}
