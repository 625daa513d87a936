import Foundation
import Heartlog
import Testing

@testable import HeartlogExample

/// fixtures/golden/example/: what each app prints over a new store. `HEARTLOG_UPDATE_GOLDENS=1 swift test --filter Golden` writes it anew.
@Suite("Golden outputs of the example")
@MainActor
struct ExampleGoldenTests {
  nonisolated private static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  nonisolated static let names = Arguments.all.map { $0.name }

  private let device = Device(
    path: FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)").path,
    start: Date(timeIntervalSince1970: 1_772_438_400))

  private func played(_ story: any Story.Type) async throws -> String {
    var lines: [String] = []
    try await story.play(on: device, Display { lines.append($0) })
    return lines.joined(separator: "\n") + "\n"
  }

  private func removeStore() throws {
    try device.switchOff()
    try FileManager.default.removeItem(atPath: device.path)
  }

  @Test("each app shows what it showed", arguments: names)
  func golden(name: String) async throws {
    let story = try #require(Arguments([name]).stories.first)
    let printed = try await played(story)
    try removeStore()
    let file = Self.package.appending(path: "fixtures/golden/example/\(name).txt")
    if ProcessInfo.processInfo.environment["HEARTLOG_UPDATE_GOLDENS"] != nil {
      try printed.write(to: file, atomically: true, encoding: .utf8)
    } else {
      #expect(try printed == String(contentsOf: file, encoding: .utf8))
    }
  }

  @Test("all apps share one store, and play on what they find there")
  func twice() async throws {
    var digests: [Digest] = []
    for _ in 1...2 {
      for story in Arguments.all { _ = try await played(story) }
      digests.append(try device.launch("test").digest)
    }
    let store = try device.launch("test")
    #expect(store.read { $0.libraries }.count == 7)
    #expect(try store.state().digest == digests.last)
    try removeStore()
  }
}

@Suite("The example's arguments")
struct ExampleArgumentsTests {
  @Test("without a name all five apps are played, in a new store")
  func all() throws {
    let arguments = try Arguments([])
    #expect(arguments.stories.map { $0.name } == ["archives", "papers", "cities", "breeds", "books"])
    #expect(arguments.store == nil)
  }

  @Test("apps are played in the order in which they are named")
  func named() throws {
    let arguments = try Arguments(["books", "--store", "/tmp/phone", "cities"])
    #expect(arguments.stories.map { $0.name } == ["books", "cities"])
    #expect(arguments.store == "/tmp/phone")
  }

  @Test("an unknown app and a folder that is missing are named", arguments: [["birds"], ["--store"]])
  func refused(words: [String]) { #expect(throws: UsageError.self) { try Arguments(words) } }
}
