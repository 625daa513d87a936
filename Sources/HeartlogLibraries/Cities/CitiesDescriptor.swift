import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
  let traits: LibraryTraits = .places
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
    guard record.object != nil else { throw .invalidItem("\(record.kind) where a city should be") }
    var item = try FileItem(told: try City(catalogEntry: record))
    item.isFavorite = try FileItem.flag(record[FieldName.isFavorite]) ?? false
    try item.takeRest(of: record)
    return item
  }

  func record(_ item: FileItem) throws(LibraryError) -> [UInt8] {
    guard let id = Int(item.id), let name = item["name"]?.text,
      let country = item["country"]?.text, let lon = item["lon"], lon.number != nil,
      let lat = item["lat"], lat.number != nil
    else { throw .invalidItem("\(item.id): a city without a numeric id, a name, a country or coordinates") }
    var json = JSONWriter()
    json.beginObject()
    json.member("_id", id)
    json.member("name", name)
    json.member("country", country)
    json.name("coord")
    json.beginObject()
    json.member("lon", lon)
    json.member("lat", lat)
    json.endObject()
    json.member(FieldName.isFavorite, item.isFavorite)
    item.writeRest(&json, except: ["name", "country", "lon", "lat"])
    json.endObject()
    return json.bytes
  }
}
