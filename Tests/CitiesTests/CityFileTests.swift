import Foundation
import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("cities as files: CSV, GeoJSON, bookmarks and the app's catalog")
struct CityFileTests {
  private static let formats: [any FileFormat] = [
    CSVFormat(), GeoJSONFormat(), BookmarksFormat(), UserDefaultsFormat(), JSONFormat(),
  ]

  /// Cities with everything that a file may stumble over.
  private static func filled() throws -> FavoritesStore {
    let store = try FavoritesStore.inMemory()
    let cities = try store.library("cities")
    let names = [
      "Lisboa", "", "Łódź", "a \"quoted\", name", "two\r\nlines\n", "<b>&amp;</b>", " spaces ", "007", "true",
      "=1+1",
      "İstanbul 🕌", "e\u{301} and é", "tab\tin; it",
    ]
    for (index, name) in names.enumerated() {
      let city = City(
        id: index * 1_000 - 2, name: name, country: index == 3 ? "" : "PT", lon: -179.866669 + Double(index),
        lat: index == 0 ? 28 : -78.158562 + Double(index))
      var fields = try FieldEncoder.fields(of: city)
      if index == 1 {
        fields += [
          Field(name: "visits", value: .int64(.max)), Field(name: "rating", value: .double(4.5e-7)),
          Field(name: "seen", value: .bool(false)), Field(name: "code", value: .string("12")),
          Field(name: "empty", value: .string("")), Field(name: "quoted", value: .string("\"x\"")),
          Field(name: "list", value: try FieldValue(JSONValue.parse(#"[1,{"a":"b,\n"},null]"#))),
        ]
      }
      try cities.add(
        city.id.favoriteID, fields: fields, favoritedDate: 1_772_438_400_123 + Int64(index) * 1_001)
    }
    try cities.add(
      "1969", fields: FieldEncoder.fields(of: city(69, "Tranquility")), favoritedDate: -14_182_940_001)
    try cities.setNote("the library, 10h–17h\n\"quiet\" <3 📚", of: "-2")
    try cities.collection("Summer, and autumn").insert("-2")
    try cities.collection("Summer, and autumn").insert("998")
    return store
  }

  private static let sound = [
    #""name":"A","country":"PT","coord":{"lon":0,"lat":0},"isFavorite":true"#,
    #""name":"A","country":"PT","coord":{"lon":0,"lat":0},"isFavorite":false"#,
    #""name":"A","country":"PT","coord":{"lon":0,"lat":0},"isFavorite":null"#,
    #""name":"A","country":"PT","coord":{"lon":180,"lat":-90},"more":[]"#,
    #""name":"","country":"","lon":1.5,"lat":1"#,
  ]

  private static let unsound = [
    #""name":"A","country":"PT","coord":{"lon":0,"lat":0},"isFavorite":1"#,
    #""name":"A","country":"PT","coord":{"lon":0,"lat":0},"isFavorite":"true""#,
    #""name":"A","country":"PT","coord":{"lon":0,"lat":90.5}"#,
    #""name":"A","country":"PT","coord":{"lon":-181,"lat":0}"#,
    #""name":"A","country":"PT","lon":0,"lat":-90.5"#,
    #""name":"A","country":"PT","coord":{"lon":"0","lat":0}"#,
    #""name":"A","country":"PT","coord":{"lon":0}"#, #""name":"A","country":"PT","coord":null"#,
    #""name":"A","country":"PT""#, #""name":"A","coord":{"lon":0,"lat":0}"#,
    #""name":null,"country":"PT","coord":{"lon":0,"lat":0}"#,
    #""name":5,"country":"PT","coord":{"lon":0,"lat":0}"#,
  ]

  @Test("cities: every reader of the app's array takes what another takes", arguments: sound)
  func taken(members: String) throws {
    let (text, store) = (#"[{"_id":1,\#(members)}]"#, try FavoritesStore.inMemory())
    let unknown = members.contains("more") ? [#""more" is not known, and was left out of 1 record"#] : []
    #expect(
      try DefaultFavoriteCityRepository(store).migrate(fromPersisted: text).failures
        == unknown.map(LibraryError.invalidItem))
    let report = try FavoritesStore.inMemory().take(text, UserDefaultsFormat(), into: "cities")
    #expect(report.refusals == [] && report.remarks.map(\.reason).starts(with: unknown))
    // A catalog without flags is data, and says so.
    #expect(report.remarks.count == unknown.count + report.updated)
    let cities = try City.catalog(text)
    #expect(try JSONDecoder().decode([City].self, from: Data(text.utf8)) == cities)
  }

  @Test("cities: every reader of the app's array refuses what another refuses", arguments: unsound)
  func refused(members: String) throws {
    let (text, store) = (#"[{"_id":1,\#(members)}]"#, try FavoritesStore.inMemory())
    #expect(try store.take(text, UserDefaultsFormat(), into: "cities").refusals.count == 1)
    #expect(try DefaultFavoriteCityRepository(store).migrate(fromPersisted: text).failures.count == 1)
    #expect(store.eventCount(of: "cities") == 0)
    #expect(throws: LibraryError.self) { try City.catalog(text) }
    #expect(throws: DecodingError.self) { try JSONDecoder().decode([City].self, from: Data(text.utf8)) }
  }

  @Test("what is exported comes back as it was, and a second import writes nothing", arguments: 0..<5)
  func roundTrip(index: Int) throws {
    let store = try Self.filled()
    try checkRoundTrip(of: "cities", as: Self.formats[index], from: store)
    // An empty list is one of the app's, too.
    if index < 4 { try checkRoundTrip(of: "cities", as: Self.formats[index], from: .inMemory()) }
  }

  @Test("a table is read in any order and case, with more columns and fewer")
  func table() throws {
    let store = try FavoritesStore.inMemory()
    let text =
      "\u{FEFF}Population, LATITUDE ,Name,lng,_ID,FavoritedDate\r\n552700,38.7,Lisboa,-9.1,2267057,2024-03-01\r\n"
    let report = try store.take(text, CSVFormat(), into: "cities")
    #expect(report.added == 1 && report.refusals.isEmpty)
    let item = try #require(store.library("cities").item("2267057"))
    #expect(item.favoritedDate == 1_709_251_200_000)
    #expect(item.value(of: "Population") == .int64(552_700))
    #expect(item.value(of: "lat") == .double(38.7) && item.value(of: "lon") == .double(-9.1))
    #expect(item.value(of: "name") == .string("Lisboa") && item.value(of: "country") == nil)
  }

  @Test("Excel's tables are read: semicolons, tabulators, decimal commas, its own first line")
  func excel() throws {
    for text in [
      "id;name;lat;lon\n5;\"Faro; PT\";37,01937;-7,93223\n",
      "sep=;\r\nid;name;lat;lon\r\n5;Faro; 37.01937 ;-7,93223\r\n;;;\r\n",
      "id\tname\tlat\tlon\n5\tFaro\t37.01937\t-7.93223", "id,name,lat,lon\r5,Faro,37.01937,-7.93223\r",
    ] {
      let store = try FavoritesStore.inMemory()
      #expect(FileFormats.standard.guess(Array(text.utf8), name: nil, for: "cities")?.name == "csv")
      let report = try store.take(text, CSVFormat(), into: "cities")
      #expect(refusals(report) == [] && report.added == 1)
      let item = try #require(store.library("cities").item("5"))
      #expect(item.value(of: "lat") == .double(37.01937) && item.value(of: "lon") == .double(-7.93223))
    }
  }

  @Test("a bad row is refused with its line and reason, and the others are taken")
  func badRows() throws {
    let text = """
      id,name,country,lat,lon,favoritedDate
      1,"two
      lines",PT,1,1,
      2,x,PT,north,1,
      3,x,PT,90.5,1,
      4,x,PT,1,-181,
      ,x,PT,1,1,
      x7,x,PT,1,1,
      8,x,PT,1
      9,x,PT,1,1,,
      10,x,PT,1,1,yesterday
      11,x,PT,nan,1,
      12,x,PT,1e999,1,
      13,"x" y,PT,1,1,
      14,x,PT,1,1,2024-03-01T12:00:00+01:00
      15,"x,PT,1,1,
      16,x,PT,1,1,2024-03-01 12:00:00

      """
    let store = try FavoritesStore.inMemory()
    let report = try store.take(text, CSVFormat(), into: "cities")
    #expect(
      refusals(report) == [
        "4: lat is not a number: \"north\"", "5: lat is 90.5, which must be -90 to 90",
        "6: lon is -181, which must be -180 to 180", "7: an item without an id",
        "8: \"x7\" is not the id of a city, which is a number",
        "9: the row has 4 cells, but the header has 6",
        "10: the row has 7 cells, but the header has 6",
        "11: \"yesterday\" is not a date; write one like 2024-03-01, 2024-03-01 12:30 or 2024-03-01T12:30:00Z",
        "12: lat is not a number: \"nan\"", "13: lat is not a number: \"1e999\"",
        "14: text after a closing quotation mark; double the quotation marks inside a cell",
        "16: a quotation mark that is never closed",
      ])
    #expect(try store.stored("cities").map(\.id) == ["1", "14", "16"])
    #expect(throws: LibraryError.self) { try store.take("name,lat\nx,1\n", CSVFormat(), into: "cities") }
  }

  @Test("GeoJSON: collections, single features, foreign members, and what is no point")
  func geoJSON() throws {
    let store = try FavoritesStore.inMemory()
    let text = #"""
      {"type":"FeatureCollection","crs":{"a":[1]},"bbox":[0,0,1,1],"features":[
        {"type":"Feature","id":"2267057","geometry":{"type":"Point","coordinates":[-9.13,38.71,12]},"properties":{"name":"Lisboa","lat":0}},
        {"type":"Feature","properties":{"id":5,"name":"Faro"},"geometry":{"type":"Point","coordinates":[-7,37]},"bbox":[]},
        {"type":"Feature","id":6,"geometry":{"type":"Polygon","coordinates":[]},"properties":null},
        {"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[1]},"properties":null},
        {"type":"Feature","geometry":null,"properties":null},
        {"type":"Feature","id":8,"geometry":{"type":"Point","coordinates":[200,1]},"properties":null},
        {"type":"Feature","id":9,"geometry":{"type":"Point","coordinates":[NaN,1]},"properties":null},
        {"type":"Feature","id":1.5,"geometry":null,"properties":null}, 12,
        {"type":"Feature","id":10,"geometry":null,"properties":[]},
        {"type":"Feature","id":11,"geometry":null,"properties":{"favoritedDate":12}},
        {"type":"Feature","id":12,"geometry":null}
      ],"after":true}
      """#
    let report = try store.take(text, GeoJSONFormat(), into: "cities")
    #expect(
      refusals(report) == [
        "4: a geometry of the type \"Polygon\", not a Point", "5: a Point without its two coordinates",
        "6: a feature without an id", "7: lon is 200, which must be -180 to 180",
        "8: 'N' where a value should be, at byte offset 67 of the record",
        "9: a feature whose id is a number",
        "9: an integer where a Feature should be", "10: properties that are an array, not an object",
        "11: \"favoritedDate\" is an integer, not a time",
      ])
    #expect(try store.stored("cities").map(\.id) == ["12", "2267057", "5"])
    #expect(try store.library("cities").item("2267057")?.value(of: "lat") == .double(38.71))
    let single =
      #"{"id":13,"geometry":{"type":"Point","coordinates":[1,2]},"type":"Feature","properties":{}}"#
    #expect(FileFormats.standard.guess(Array(single.utf8), name: nil, for: "cities")?.name == "geojson")
    #expect(try store.take(single, GeoJSONFormat(), into: "cities").added == 1)
    #expect(throws: LibraryError.self) {
      try store.take(#"{"type":"Point","coordinates":[1,2]}"#, GeoJSONFormat(), into: "cities")
    }
  }

  @Test("OpenWeather's older list, with an entry a line, is a catalog; a bad line takes no other with it")
  func olderList() throws {
    let text = #"""
      {"_id":707860,"name":"Hurzuf","country":"UA","coord":{"lon":34.283333,"lat":44.549999}}
      {"_id":1,"name":"Cut","country":"UA","coord":{"lon":34.28
      {"_id":519188,"name":"Novinki","country":"RU","coord":{"lon":37.666668,"lat":55.683334}}

      """#
    let store = try FavoritesStore.inMemory()
    #expect(FileFormats.standard.guess(Array(text.utf8), name: nil, for: "cities")?.name == "user-defaults")
    let report = try store.take(text, UserDefaultsFormat(), into: "cities")
    #expect(report.items == 2 && report.refusals.map(\.line) == [2])
    #expect(try store.stored("cities").map(\.id) == ["519188", "707860"])
    #expect(try store.library("cities").item("707860")?.value(of: "lat") == .double(44.549999))
  }

  @Test("dates to the minute, with an offset without a colon, and as date(1) writes them")
  func minutes() throws {
    let text =
      "id,favoritedDate\n1,2026-11-25 21:30\n2,2026-11-25T21:30:00+0100\n3,Wed Nov 25 21:30:00 UTC 2026\n"
    var options = FileFormats.ReadingOptions()
    options.utc = { $0 - 7_200_000 }
    let store = try FavoritesStore.inMemory()
    #expect(try store.take(text, CSVFormat(options: options), into: "cities").added == 3)
    let dates = try store.stored("cities").map(\.favoritedDate)
    #expect(dates == [1_795_635_000_000, 1_795_638_600_000, 1_795_642_200_000])
  }

  @Test("a file that was cut gives what was whole, and says where it ends")
  func cut() throws {
    let store = try FavoritesStore.inMemory()
    let text = #"""
      [{"_id":1,"name":"a","country":"PT","coord":{"lon":1,"lat":1},"isFavorite":true},
      {"_id":2,"name":"b","country":"PT","coord":{"lon":1,"l
      """#
    let report = try store.take(text, UserDefaultsFormat(), into: "cities")
    #expect(report.added == 1 && report.refusals.map(\.line) == [2, 2])
  }

  @Test("a bookmark of a weather or a geography page has the city's id; another place has none")
  func foreignBookmarks() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take(
      """
      <DL><p><DT><A HREF="https://openweathermap.org/city/2267057" ADD_DATE="1700000000">Weather</A>
      <DT><A HREF="https://www.geonames.org/5/faro.html">Faro</A>
      <DT><A HREF="geo:38.7,-9.1">Lisboa</A>
      """, BookmarksFormat(), into: "cities")
    #expect(try store.stored("cities").map(\.id) == ["2267057", "5"])
    #expect(refusals(report) == ["3: \"geo:38.7,-9.1\" is not the address of an item of cities"])
  }

  @Test("the real list comes whole, as metadata, and through a table and a map unchanged", .needsRealData)
  func realList() throws {
    let all = try RealCities.all.get()
    let store = try FavoritesStore.inMemory()
    let sample =
      stride(from: 0, to: all.count, by: 300).map { all[$0] }
      + all.filter { $0.name.isEmpty || $0.country.isEmpty }
    let catalog = try JSONValue.array(
      sample.map { city in
        let text =
          #"{"_id":\#(city.id),"name":\#(JSONValue.string(city.name).jsonText),"country":"\#(city.country)","coord":{"lon":\#(city.lon),"lat":\#(city.lat)}}"#
        return try JSONValue.parse(text)
      })
    var options = FavoritesLibrary.ImportOptions()
    options.isMetadataOnly = true
    let report = try store.take(
      Array(catalog.jsonText.utf8), UserDefaultsFormat(), into: "cities", options: options)
    #expect(report.refusals.isEmpty && report.items == sample.count && report.added == 0)
    let library = try store.library("cities")
    try store.write {
      for city in sample {
        try library.add(city.id.favoriteID, favoritedDate: 1_700_000_000_000 + Int64(city.id))
      }
    }
    for format in Self.formats { try checkRoundTrip(of: "cities", as: format, from: store) }
  }
}
