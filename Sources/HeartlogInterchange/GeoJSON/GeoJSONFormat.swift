import Heartlog
import HeartlogLibraries

/// Places on a map (RFC 7946): each item is a `Feature` with a `Point`.
///
/// Longitude and latitude are the coordinates of the geometry, in that order. The other fields are
/// properties, and so are `favoritedDate` and, if it is false, `isFavorite`. An item without a place has a
/// null geometry.
struct GeoJSONFormat: FileFormat {
  let name = "geojson"
  let summary = "points on a map"
  let fileExtensions = ["geojson"]
  let isWritten = true

  private static let lon = "lon"
  private static let lat = "lat"

  func fits(_ library: any LibraryDescriptor) -> Bool { library.mayHold(.places) }

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let names = JSONOutline(beginning).objectNames
    guard names.contains("type") || names.contains("features") else { return false }
    let document = JSONDocument(beginning)
    guard let type = document.node("type") else { return document.node("features") != nil }
    let word = String(decoding: beginning[type.range], as: UTF8.self)
    return ["\"FeatureCollection\"", "\"Feature\""].contains(where: word.hasPrefix)
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    var contents = FileContents()
    let (members, failure) = document.members(of: document.root)
    let type = try members["type"].map { (node) throws(LibraryError) in
      try document.value(node).string ?? "something else than a text"
    }
    func item(_ feature: JSONValue) throws(LibraryError) -> FileItem {
      try library.checked(try Self.item(feature))
    }
    switch type {
    case "FeatureCollection":
      guard let list = members["features"] else {
        throw .invalidAnswer("a FeatureCollection without features")
      }
      contents.take(elementsOf: list, in: document, after: failure, item)
    case "Feature": contents.take([document.root], of: document, item)
    default:
      throw .invalidAnswer(
        type.map { "GeoJSON of the type \($0.quoted), neither FeatureCollection nor Feature" }
          ?? failure?.reason ?? "the JSON has no type, as GeoJSON has")
    }
    return contents
  }

  private static func item(_ feature: JSONValue) throws(LibraryError) -> FileItem {
    guard feature["type"]?.string == "Feature" else {
      throw .invalidItem("\(feature["type"]?.jsonText ?? feature.kind) where a Feature should be")
    }
    let properties: [JSONMember]
    switch feature["properties"] {
    case nil, .null: properties = []
    case .object(let members): properties = members
    case .some(let other): throw .invalidItem("properties that are \(other.kind), not an object")
    }
    let named = feature["id"] ?? properties.first { ["id", "_id"].contains($0.name) }?.value
    var item = FileItem(id: "")
    switch named {
    case .string(let id): item.id = id
    case .int64(let id): item.id = String(id)
    case nil: throw .invalidItem("a feature without an id")
    case .some(let other): throw .invalidItem("a feature whose id is \(other.kind)")
    }
    item.fields = try point(feature["geometry"])
    // If properties repeat the coordinates, the geometry takes precedence.
    let told = ["_id", FieldName.id] + item.fields.map(\.name)
    try item.take(properties.filter { !told.contains($0.name) })
    return item
  }

  private static func point(_ geometry: JSONValue?) throws(LibraryError) -> [Field] {
    guard let geometry, !geometry.isNull else { return [] }
    guard geometry["type"]?.string == "Point" else {
      throw .invalidItem("a geometry of the type \(geometry["type"]?.jsonText ?? geometry.kind), not a Point")
    }
    // A third coordinate is the height.
    guard let coordinates = geometry["coordinates"]?.array, coordinates.count >= 2,
      let lon = coordinates[0].number.flatMap(FieldValue.number),
      let lat = coordinates[1].number.flatMap(FieldValue.number)
    else { throw .invalidItem("a Point without its two coordinates") }
    return [Field(name: self.lon, value: lon), Field(name: self.lat, value: lat)]
  }

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    let features = try items.map { (item) throws(LibraryError) in
      try item.checkWritable(reserved: FieldName.all.union(["_id"]))
      return try Self.feature(item)
    }
    return jsonLines(features, opening: "{\"type\":\"FeatureCollection\",\"features\":[", closing: "]}")
  }

  private static func feature(_ item: FileItem) throws(LibraryError) -> JSONValue {
    let number = Int64(item.id).flatMap { String($0) == item.id && $0.magnitude <= 1 << 53 ? $0 : nil }
    let geometry: JSONValue
    switch (item[lon], item[lat]) {
    case (nil, nil): geometry = .null
    case (let lon?, let lat?) where lon.number != nil && lat.number != nil:
      let coordinates = JSONValue.array([lon.jsonValue, lat.jsonValue])
      geometry = .object(.present(["type": .string("Point"), "coordinates": coordinates]))
    default: throw .invalidItem("\(item.id): the place needs a latitude and a longitude")
    }
    let fields = item.fields.filter { $0.name != lon && $0.name != lat && !$0.value.isNull }
    let state = [JSONMember].present([
      FieldName.favoritedDate: item.jsonDate, FieldName.isFavorite: item.jsonFlag,
    ])
    return .object(
      .present([
        "type": .string("Feature"), "id": number.map(JSONValue.int64) ?? .string(item.id),
        "geometry": geometry, "properties": .object(state + (fields.jsonObject.object ?? [])),
      ]))
  }
}
