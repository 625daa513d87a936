import Foundation
import Testing

@testable import HeartlogExample

/// fixtures/golden/example/: screens of each app over a new store, after the keys that stand above them.
/// `HEARTLOG_UPDATE_GOLDENS=1 swift test --filter Golden` writes them anew.
@Suite("Golden screens of the example")
@MainActor
struct ExampleGoldenTests {
  nonisolated private static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  @Test(
    "each app shows what it showed",
    arguments: [
      "archives": [
        "down space up enter", "esc space / monte enter", "esc right",
        "right space down space down space right", "down K",
      ],
      "papers": ["space down r", "right", "enter n at the seminar enter", "esc right", "right", "?"],
      "cities": [
        "/ po", "rto enter space", "esc / tō enter space", "esc c", "right", "right", "right enter",
      ],
      "breeds": ["down down down down enter", "space down down space", "left", "right right", "enter"],
      "books": [
        "right space down down space", "left p", "down down down enter", ". p left left",
        "right right right +",
      ],
      "devices": ["", "right"],
    ])
  func golden(app: String, scripts: [String]) async throws {
    let phone = try Phone(showing: app)
    var printed = ""
    for script in scripts {
      await phone.press(script)
      printed += "$ \(script)\n\(phone.program.frame.text)\n"
    }
    try await phone.end()
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
    #expect(arguments.app == nil && arguments.store == nil && arguments.keys == nil && arguments.now == nil)
  }

  @Test("an app, stores, keys and a time are taken in any order")
  func all() throws {
    let arguments = try Arguments(
      [
        "--store", "/tmp/phone", "cities", "--peer", "/tmp/tablet", "--keys", "down q", "--now",
        "2026-03-02T08:00:00Z",
      ])
    #expect(arguments.app == "cities")
    #expect(arguments.store == "/tmp/phone")
    #expect(arguments.peer == "/tmp/tablet")
    #expect(arguments.keys == [.down, .character("q")])
    #expect(arguments.now == Date(timeIntervalSince1970: 1_772_438_400))
  }

  @Test(
    "an unknown app, a second one, a missing value and a wrong time are refused",
    arguments: [["birds"], ["books", "cities"], ["--store"], ["--keys"], ["--now", "noon"]])
  func refused(words: [String]) { #expect(throws: UsageError.self) { try Arguments(words) } }
}
