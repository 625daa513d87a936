import Foundation
import Testing

@testable import HeartlogExample

/// fixtures/golden/example/: what each app prints over a new store, after the commands that stand above it.
/// `HEARTLOG_UPDATE_GOLDENS=1 swift test --filter Golden` writes them anew.
@Suite("Golden output of the example")
@MainActor
struct ExampleGoldenTests {
  nonisolated private static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  @Test(
    "each app prints what it printed",
    arguments: [
      "archives": [
        "tap 1", "catalog monte", "tap 1", "favorites", "open 1", "files", "tap 2", "tap 4", "tap 1",
        "playlist", "move 3 1", "playlist", "help",
      ],
      "papers": [
        "tap 1", "later 2", "later 3", "favorites", "note 1 at the seminar", "favorites seminar", "reading",
        "later 1", "reading", "bibliography", "undo",
      ],
      "cities": [
        "catalog po", "catalog porto", "tap 1", "catalog tō", "tap 1", "searches", "favorites", "refresh",
        "favorites", "unlisted", "open 1",
      ],
      "breeds": ["pictures akita", "tap 1", "tap 2", "tap 1", "breeds aki", "liked"],
      "books": [
        "tap 1", "tap 3", "favorites", "play 1 100", "favorites", "chapters", "play 2 4", "chapters 2",
        "favorites", "tap 1", "favorites",
      ],
    ])
  func golden(app: String, commands: [String]) async throws {
    let phone = try Phone(showing: app)
    var printed = phone.takeOutput()
    for command in commands {
      await phone.program.run(command)
      printed += "> \(command)\n" + phone.takeOutput()
    }
    try phone.end()
    let file = Self.package.appending(path: "fixtures/golden/example/\(app).txt")
    if ProcessInfo.processInfo.environment["HEARTLOG_UPDATE_GOLDENS"] != nil {
      try printed.write(to: file, atomically: true, encoding: .utf8)
    } else {
      #expect(try printed == String(contentsOf: file, encoding: .utf8))
    }
  }
}

@Suite("The example's arguments")
struct ExampleArgumentsTests {
  @Test("without an argument the program starts in a new store, with the clock of the system")
  func none() throws {
    let arguments = try Arguments([])
    #expect(arguments.app == nil && arguments.options.isEmpty && arguments.now == nil)
  }

  @Test("an app, a store and a time are taken in any order")
  func all() throws {
    let arguments = try Arguments(
      ["--store", "/tmp/phone", "cities", "--now", "2026-03-02T08:00:00Z"])
    #expect(arguments.app == "cities")
    #expect(arguments.options["--store"] == "/tmp/phone")
    #expect(arguments.now == Date(timeIntervalSince1970: 1_772_438_400))
  }

  @Test(
    "an unknown app, a second one, a missing value and a wrong time are refused",
    arguments: [["birds"], ["books", "cities"], ["--store"], ["--now", "noon"]])
  func refused(words: [String]) { #expect(throws: UsageError.self) { try Arguments(words) } }
}
