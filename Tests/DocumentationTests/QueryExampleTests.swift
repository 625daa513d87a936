import Foundation
import Heartlog
import Testing

/// The examples of the article "Queries".
@Suite("Examples of queries")
struct QueryExampleTests {
  nonisolated struct Station: Codable, Identifiable, Sendable {
    let id: String
    var name: String
    var city: String?
    var bitrate = 128
  }

  /// Stations with a good sound, from A to Z.
  func goodStations(_ stations: Favorites<Station>) -> Favorites<Station>.Query {
    stations.query.filter { $0.bitrate >= 192 }.sorted(by: \.name)
  }

  func printed(_ stations: Favorites<Station>) throws -> [String] {
    let query = goodStations(stations)
    var lines = ["\(try query.count()) stations, first \(try query.first()?.name ?? "none")"]
    for (city, items) in try query.sections(by: { $0.city ?? "elsewhere" }) {
      lines.append("\(city): \(items.map(\.name).joined(separator: ", "))")
    }
    return lines
  }

  func nextPage(_ stations: Favorites<Station>, after last: Station?) throws -> [Station] {
    let page = stations.query.search("jazz").limit(50)
    return try last.map { try page.after($0.id).items() } ?? page.items()
  }

  func follow(_ stations: Favorites<Station>, show: (Favorites<Station>.Query.Update) -> Void) async {
    for await update in goodStations(stations).updates { show(update) }
  }

  /// A number on a badge.
  func followCount(_ stations: Favorites<Station>, show: (Int) -> Void) async {
    for await count in stations.query.counts { show(count) }
  }

  /// One station, favorite or not.
  func follow(_ id: Station.ID, of stations: Favorites<Station>, show: (Station?) -> Void) async {
    for await update in stations.query.item(id).updates { show(update.items.first) }
  }

  private func stations() throws -> Favorites<Station> {
    let stations = try FavoritesStore.inMemory().favorites(of: Station.self, in: "stations")
    try stations.add(Station(id: "a", name: "Radio 10", city: "Porto", bitrate: 320))
    try stations.add(Station(id: "b", name: "radio 9 Jazz", bitrate: 192))
    try stations.add(Station(id: "c", name: "Antena", city: "Porto", bitrate: 192))
    try stations.add(Station(id: "d", name: "Jazz FM"))
    return stations
  }

  @Test("lists, sections and pages are what they say")
  func once() throws {
    let stations = try stations()
    #expect(
      try printed(stations) == [
        "3 stations, first Antena", "Porto: Antena, Radio 10", "elsewhere: radio 9 Jazz",
      ])
    let page = try nextPage(stations, after: nil)
    #expect(page.map(\.id) == ["d", "b"])
    #expect(try nextPage(stations, after: page.last).isEmpty)
  }

  @Test("lists, numbers and single items are followed until the store is closed")
  func following() async throws {
    let stations = try stations()
    try await stations.library.store.run { try $0.close() }
    var told: [String] = []
    await follow(stations) { told.append("\($0.items.map(\.id)) \($0.changed == nil)") }
    await followCount(stations) { told.append("\($0)") }
    await follow("b", of: stations) { told.append($0?.name ?? "") }
    #expect(told == [#"["c", "b", "a"] true"#, "4", "radio 9 Jazz"])
  }
}
