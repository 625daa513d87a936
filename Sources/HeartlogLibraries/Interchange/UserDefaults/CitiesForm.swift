import Heartlog

/// Smart City's catalog: `[{"_id", "name", "country", "coord": {"lon", "lat"}, "isFavorite"?}, …]`.
struct CitiesForm: AppForm {
  let library = City.library

  func isForm(_ outline: JSONOutline) -> Bool { outline.elementNames.contains("_id") }
  func isForm(_ item: FileItem) -> Bool { item["lat"] != nil && item["lon"] != nil }

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
