import Foundation
import Heartlog
import HeartlogLibraries
import Observation
import Testing

@testable import HeartlogExample

/// A phone with a clock that only keys move, in a folder that is removed at the end.
@MainActor final class Phone {
  let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
  let program: Program

  init(showing app: String, rows: Int = 14) throws {
    let now = Date(timeIntervalSince1970: 1_772_438_400)
    let device = Device(
      path: folder.appending(path: "phone").path, peer: folder.appending(path: "tablet").path, now: now)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    program = try Program(device, showing: app)
    program.size = Frame.Size(columns: 80, rows: rows)
  }

  func press(_ keys: String) async { for key in Key.script(keys) { await program.press(key) } }

  /// The lines of the screen that contain a text.
  func lines(with text: String) -> [String] {
    program.frame.text.split(separator: "\n").map(String.init).filter { $0.contains(text) }
  }

  /// Waits until the screen shows a text, as a terminal does: it draws again when something changes.
  func waitUntilShown(_ text: String) async {
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    var iterator = changes.makeAsyncIterator()
    while !withObservationTracking({ program.frame.text.contains(text) }, onChange: { continuation.yield() })
    {
      await iterator.next()
    }
  }

  /// The same store as another program opens it.
  func otherProgram(at path: String = "phone", _ body: (FavoritesStore) throws -> Void) throws {
    var options = StoreOptions()
    options.name = path
    options.origin = "cli"
    let store = try FavoritesStore(at: folder.appending(path: path).path, options: options)
    try body(store)
    try store.close()
  }

  func end() async throws {
    try await program.close()
    try FileManager.default.removeItem(at: folder)
  }
}

@Suite("The example's screens", .timeLimit(.minutes(2)))
@MainActor struct ProgramTests {
  @Test("a tap on a heart shows before it is written")
  func optimistic() async throws {
    let phone = try Phone(showing: "archives")
    let app = phone.program.app
    let row = app.panes[0].rows[0]
    try app.toggle(row)
    #expect(app.panes[0].rows[0].heart == true)
    #expect(row.item?.isFavorite == false)
    try await app.finishWriting()
    #expect(row.item?.isFavorite == true)
    try await phone.end()
  }

  @Test("a change of another program shows by itself, and the selection stays on its item")
  func live() async throws {
    let phone = try Phone(showing: "cities")
    await phone.press("/ porto enter space right down")
    #expect(phone.lines(with: "▸ ♥ 🇵🇹 Porto").count == 1)
    try phone.otherProgram { store in
      try store.favorites(of: City.self).add(
        City(id: 1, name: "Zzyzx", country: "US", lon: -116.1, lat: 35.1))
    }
    await phone.press("esc")
    await phone.waitUntilShown("Zzyzx")
    #expect(phone.lines(with: "▸ ♥ 🇵🇹 Porto").count == 1)
    await phone.press("right")
    #expect(phone.lines(with: "Zzyzx").count == 1, "it is not in the catalog")
    try await phone.end()
  }

  @Test("a detail screen follows its item, and a tap that failed is taken back")
  func detail() async throws {
    let phone = try Phone(showing: "papers")
    await phone.press("space enter")
    let paper = try #require(phone.program.app.panes[0].rows[0].item?.id)
    try phone.otherProgram { store in
      try store.library("papers").setNote("read it", of: "0704.0001v1")
      try store.library("papers").setNote("page 4", of: paper)
    }
    await phone.waitUntilShown("phone  cli  @note")
    #expect(phone.lines(with: "Note: page 4").count == 1)
    #expect(phone.lines(with: "@note").count == 1, "the other paper has a history of its own")
    await phone.press("esc down")
    try phone.program.store.close()
    await phone.press("space")
    #expect(phone.lines(with: "⚠").count == 1)
    #expect(phone.lines(with: "▸ ♡ ").count == 1)
    try FileManager.default.removeItem(at: phone.folder)
  }

  @Test("u undoes the last action of this run, then the one before, and never what another program did")
  func undo() async throws {
    let phone = try Phone(showing: "papers")
    await phone.press("space down space")
    try phone.otherProgram { try $0.library("papers").add("0704.0001v1") }
    await phone.press("right")
    await phone.waitUntilShown("[Favorites 3]")
    await phone.press("u")
    #expect(phone.lines(with: "Undone: papers").count == 1)
    await phone.waitUntilShown("[Favorites 2]")
    await phone.press("u")
    await phone.waitUntilShown("[Favorites 1]")
    await phone.press("u")
    #expect(phone.lines(with: "Nothing to undo.").count == 1)
    #expect(phone.program.store.read { $0.isFavorite("0704.0001v1", in: "papers") })
    #expect(phone.lines(with: "⚠ ").first?.contains("title") == true, "it has no title, which is told")
    try await phone.end()
  }

  @Test("a second device is synced with, and a side of a conflict is chosen")
  func conflict() async throws {
    let phone = try Phone(showing: "papers")
    await phone.press("space enter n p enter esc")
    let paper = try #require(phone.program.app.panes[0].rows[0].item?.id)
    try phone.otherProgram(at: "tablet") { store in
      try store.library("papers").add(paper)
      try store.library("papers").setNote("t", of: paper)
    }
    await phone.press("s")
    #expect(phone.lines(with: "Synced with tablet").count == 1)
    await phone.press("backtab backtab right")
    #expect(phone.program.app.name == "devices")
    #expect(phone.lines(with: "@note").count == 1)
    await phone.press("down enter s")
    #expect(phone.lines(with: "no open conflicts").count == 1)
    let digest = phone.program.store.digest
    try phone.otherProgram(at: "tablet") { #expect($0.digest == digest) }
    try await phone.end()
  }

  @Test("an error is told, and nothing has changed")
  func error() async throws {
    let phone = try Phone(showing: "books")
    await phone.press("right right right + + + + +")
    #expect(phone.lines(with: "⚠").count == 1)
    #expect(phone.lines(with: "Speed").first?.hasSuffix("2.0") == true)
    try await phone.end()
  }

  @Test("a book goes on where it was when the app is started again")
  func position() async throws {
    let phone = try Phone(showing: "books")
    await phone.press("right space left p . p")
    #expect(phone.lines(with: "Paused").first?.contains("0:00:32") == true)
    try phone.otherProgram { store in
      let book = try #require(try store.favorites(of: Book.self).list().first)
      #expect(book.currentPosition == 32)
    }
    try await phone.end()
  }

  @Test("lists and details scroll, and no key leaves them", arguments: Arguments.apps)
  func scroll(app: String) async throws {
    let phone = try Phone(showing: app, rows: 9)
    for keys in [
      "pagedown", "down", "pageup", "up", "enter", "down", "down", "up", "esc", "right", "down", "left",
    ] {
      await phone.press(keys)
      #expect(phone.program.frame.lines.count == 9)
      #expect(phone.program.frame.lines.allSatisfy { $0.text.columns == 80 })
    }
    try await phone.end()
  }

  @Test("a screen of any size is filled exactly", arguments: [(1, 1), (3, 2), (20, 5), (200, 60)])
  func sizes(columns: Int, rows: Int) async throws {
    let phone = try Phone(showing: "cities")
    phone.program.size = Frame.Size(columns: columns, rows: rows)
    #expect(phone.program.frame.lines.count == rows)
    #expect(phone.program.frame.lines.allSatisfy { $0.text.columns == columns })
    try await phone.end()
  }
}
