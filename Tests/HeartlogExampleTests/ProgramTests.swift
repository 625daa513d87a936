import Foundation
import Heartlog
import HeartlogLibraries
import Testing

@testable import HeartlogExample

/// A phone with a clock that only commands move, in a folder that is removed at the end.
@MainActor final class Phone {
  let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
  let program: Program
  private let printed: AsyncStream<String>
  private let output: Output

  @MainActor private final class Output { var text = "" }

  init(showing app: String) throws {
    let now = Date(timeIntervalSince1970: 1_772_438_400)
    let device = Device(path: folder.appending(path: "phone").path, now: now)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let output = Output()
    let (printed, continuation) = AsyncStream.makeStream(of: String.self)
    program = try Program(device, showing: app) { line in
      output.text += line + "\n"
      continuation.yield(line)
    }
    (self.printed, self.output) = (printed, output)
  }

  /// What was printed since the last call.
  func takeOutput() -> String {
    defer { output.text = "" }
    return output.text
  }

  /// Runs commands, and returns what they print.
  func run(_ commands: String...) async -> String {
    _ = takeOutput()
    for command in commands { await program.run(command) }
    return takeOutput()
  }

  /// Waits until a line with a text is printed.
  func waitForLine(with text: String) async {
    for await line in printed where line.contains(text) { return }
  }

  /// The same store as another program opens it.
  func otherProgram(_ body: (FavoritesStore) throws -> Void) throws {
    var options = StoreOptions()
    options.name = "phone"
    options.origin = "cli"
    let store = try FavoritesStore(at: folder.appending(path: "phone").path, options: options)
    try body(store)
    try store.close()
  }

  func end() throws {
    try program.close()
    try FileManager.default.removeItem(at: folder)
  }
}

@Suite("The example's commands", .timeLimit(.minutes(2)))
@MainActor struct ProgramTests {
  @Test("a change of another program is reported by itself, and shows in the lists")
  func live() async throws {
    let phone = try Phone(showing: "cities")
    try phone.otherProgram { store in
      try store.favorites(of: City.self).add(
        City(id: 1, name: "Zzyzx", country: "US", lon: -116.1, lat: 35.1))
    }
    await phone.waitForLine(with: "♥ cities: Zzyzx  by cli")
    #expect(await phone.run("unlisted").contains("1  ♥ 🇺🇸 Zzyzx"))
    try phone.end()
  }

  @Test("a tap that cannot be written is an error, and the heart stays as it was")
  func failedTap() async throws {
    let phone = try Phone(showing: "papers")
    try phone.program.store.close()
    #expect(await phone.run("tap 1").hasPrefix("⚠ "))
    try FileManager.default.removeItem(at: phone.folder)
  }

  @Test("the history of an item has what this program and others did to it, and nothing else")
  func history() async throws {
    let phone = try Phone(showing: "papers")
    _ = await phone.run("tap 1")
    let paper = try #require(phone.program.store.library("papers").favorites().first?.id)
    try phone.otherProgram { store in
      try store.library("papers").setNote("read it", of: "0704.0001v1")
      try store.library("papers").setNote("page 4", of: paper)
    }
    let shown = await phone.run("open 1").split(separator: "\n")
    #expect(shown.contains("Note: page 4"))
    #expect(
      shown.suffix(2).map { $0.dropFirst(18) } == ["·  phone  cli  @note", "♥  phone  heartlog-example  "])
    try phone.end()
  }

  @Test("a favorite that cannot be read is told, and hides no other")
  func unreadable() async throws {
    let phone = try Phone(showing: "papers")
    try phone.otherProgram { try $0.library("papers").add("0704.0001v1") }
    let shown = await phone.run("tap 1", "favorites")
    #expect(shown.contains("1  ♥ ") && shown.contains("2  ⚠ ") && shown.contains("title"))
    try phone.end()
  }

  @Test("what is no command, no row and no command of the row is an error")
  func refused() async throws {
    let phone = try Phone(showing: "breeds")
    for command in ["bark", "tap", "tap 0", "tap 999999", "tap 1", "note x"] {
      #expect(await phone.run(command).hasPrefix("⚠ "), "\(command)")
    }
    #expect(await phone.run("").isEmpty)
    #expect(await phone.run("quit").isEmpty && phone.program.isEnded)
    try phone.end()
  }

  @Test("a title cannot control the terminal")
  func controls() async throws {
    let phone = try Phone(showing: "cities")
    try phone.otherProgram { store in
      try store.favorites(of: City.self).add(
        City(id: 1, name: "a\u{1B}[2J\u{202E}b", country: "", lon: 0, lat: 0))
    }
    #expect(await phone.run("favorites").contains("a [2J b"))
    try phone.end()
  }
}
