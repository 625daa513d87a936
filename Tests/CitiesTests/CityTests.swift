import Foundation
import Heartlog
import HeartlogFormat
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("cities: what a catalog holds becomes a City")
struct CityTests {
  @Test("an entry of the catalog, with its coordinates inside")
  func entry() throws {
    let catalog = try City.catalog(
      Array(
        #"""
        [{"country":"NP","name":"Gorkhā","_id":1283378,"coord":{"lon":84.633331,"lat":28}},
         {"country":"","name":"","_id":-1,"coord":{"lon":0,"lat":-0.5},"isFavorite":true,"else":[]}]
        """#.utf8))
    #expect(
      catalog == [
        City(id: 1_283_378, name: "Gorkhā", country: "NP", lon: 84.633331, lat: 28),
        City(id: -1, name: "", country: "", lon: 0, lat: -0.5, isFavorite: true),
      ])
    for city in catalog { #expect(try stored(city, isFavorite: city.isFavorite) == city) }
    #expect(
      try FieldEncoder.fields(of: catalog[0]) == [
        Field(name: "country", value: .string("NP")), Field(name: "lat", value: .int64(28)),
        Field(name: "lon", value: .double(84.633331)), Field(name: "name", value: .string("Gorkhā")),
      ])
  }

  @Test(
    "an entry that lacks a member is refused",
    arguments: [
      "{}", "[1]", #"[{"name":"a","country":"b","coord":{"lon":1,"lat":1}}]"#, #"[{"_id":1.5,"name":"a"}]"#,
      #"[{"_id":1,"name":"a","country":"b","coord":{"lon":1}}]"#, "[", "[{\"_id\":\"1\"}]",
    ])
  func refused(text: String) {
    #expect(throws: LibraryError.self) { try City.catalog(Array(text.utf8)) }
  }

  @Test("City takes _id and coord, and the same as an encoder writes it, alone and in a catalog")
  func appJSON() throws {
    let decoder = JSONDecoder()
    let entry = #"{"_id":7,"name":"Faro","country":"PT","coord":{"lon":-8,"lat":37.5}}"#
    let faro = try decoder.decode(City.self, from: Data(entry.utf8))
    #expect(faro == City(id: 7, name: "Faro", country: "PT", lon: -8, lat: 37.5))
    let own = try JSONEncoder().encode(faro)
    #expect(try decoder.decode(City.self, from: own) == faro)
    #expect(try City.catalog(Data("[\(entry),".utf8) + own + Data("]".utf8)) == [faro, faro])
    for text in [#"{"name":"Faro"}"#, #"{"_id":7,"name":"Faro","country":"PT","coord":{"lon":-8}}"#] {
      #expect(throws: DecodingError.self) { try decoder.decode(City.self, from: Data(text.utf8)) }
      #expect(throws: LibraryError.self) { try City.catalog("[\(text)]") }
    }
  }

  @Test("a flag for exactly two letters A–Z")
  func flags() {
    func flag(_ country: String) -> String {
      City(id: 1, name: "", country: country, lon: 0, lat: 0).flagEmoji
    }
    #expect(flag("NP") == "🇳🇵" && flag("AZ") == "🇦🇿")
    for country in ["", "N", "np", "NPL", "N1", "ÄA", "🇳🇵"] { #expect(flag(country) == "") }
  }

  @Test("the whole real list", .needsRealData)
  func realList() throws {
    let cities = try RealCities.all.get()
    #expect(cities.count == 209_579 && Set(cities.map(\.id)).count == cities.count)
    #expect(cities.filter(\.name.isEmpty).count == 4 && cities.filter(\.country.isEmpty).count == 8)
    for index in stride(from: 0, to: cities.count, by: 1_009) {
      #expect(try stored(cities[index]) == cities[index])
    }
  }
}
