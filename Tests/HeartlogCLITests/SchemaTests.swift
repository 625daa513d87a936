import Foundation
import Heartlog
import Testing

@testable import HeartlogCLI

@Suite("Versions of item types")
struct SchemaTests {
  private struct Trip: FavoriteItem {
    static let library = "trips"
    static let schema = ItemSchema(
      version: 2, [.renamed("desc", to: "description", since: 2), .dropped("rating", since: 2)])
    var id: String
    var description: String?
  }

  private struct Run {
    let code: Int32
    let text: String
  }

  private static func run(_ words: String..., in store: FavoritesStore) -> Run {
    let captured = CapturedOutput()
    let code = HeartlogCLI.run(
      arguments: words, environment: ["HEARTLOG_STORE": store.path], output: captured.output, clock: .test)
    #expect(captured.error.isEmpty)
    return Run(code: code, text: captured.standard)
  }

  private static func store(_ name: String, at path: String, time: Milliseconds) throws -> FavoritesStore {
    var options = StoreOptions()
    options.name = name
    options.clock = { time }
    return try FavoritesStore(at: path, options: options)
  }

  @Test("it shows each device with its version, and the old names that are written because of it")
  func devices() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let phone = try Self.store("phone", at: folder.path + "/phone", time: 1_772_438_400_000)
    let tablet = try Self.store("tablet", at: folder.path + "/tablet", time: 1_772_442_000_000)
    try tablet.library("trips").add("rome")
    let head = try #require(try tablet.streamHeads().first)
    let run = try #require(try tablet.streamRun(of: head.replica, after: 0, upTo: head.commit))
    _ = try phone.receive(run)
    try phone.favorites(of: Trip.self).add(Trip(id: "oslo", description: "one"))

    let (first, second) = (phone.replica.description, tablet.replica.description)
    func sorted(_ ofPhone: String, _ ofTablet: String) -> String {
      (first < second ? [ofPhone, ofTablet] : [ofTablet, ofPhone]).joined()
    }
    #expect(
      Self.run("devices", "schemas", in: phone).text
        == "library  replica   name    version  last write        old names\n"
        + sorted(
          "trips    \(first.prefix(8))  phone         2  2026-03-02 08:00             this device\n",
          "trips    \(second.prefix(8))  tablet        1  2026-03-02 09:00  desc       not announced\n"))
    #expect(
      Self.run("devices", "schemas", "trips", "--json", in: phone).text
        == sorted(
          #"{"library":"trips","replica":"\#(first)","name":"phone","isOwn":true,"version":2,"isAnnounced":true,"#
            + #""lastSeen":"2026-03-02T08:00:00.000Z","isRetired":false,"isEnded":false,"oldNames":[]}"#
            + "\n",
          #"{"library":"trips","replica":"\#(second)","name":"tablet","isOwn":false,"version":1,"#
            + #""isAnnounced":false,"lastSeen":"2026-03-02T09:00:00.000Z","isRetired":false,"isEnded":false,"#
            + #""oldNames":["desc"]}"# + "\n"))
    try phone.retire(tablet.replica)
    #expect(
      Self.run("devices", "schemas", in: phone).text.contains(
        "2026-03-02 09:00             retired, not announced\n"))
    let none = Self.run("devices", "schemas", "papers", in: phone)
    #expect(none.code == 0 && none.text == "no device has announced a version of papers\n")
  }
}
