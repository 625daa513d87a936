import Foundation
import Heartlog
import HeartlogCrashModel
import Testing

@testable import HeartlogSync

@Suite("Carriers")
struct CarrierTests {
  private func code(_ body: () throws -> SyncReport) -> HeartlogError.Code? {
    do {
      _ = try body()
      return nil
    } catch {
      return (error as? HeartlogError)?.code
    }
  }

  @Test("a store beside this one is synced with in the same process")
  func besides() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet()
    try one.write(30, tag: "a")
    try other.write(20, tag: "b")
    let report = try one.sync(with: StoreCarrier(other, description: "/other"))
    #expect(report.received.commits == 20 && report.sent.commits == 30)
    #expect(try one.streams == other.streams)
  }

  @Test("stores and folders are named by file URLs")
  func urls() throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID())")
    defer { try? FileManager.default.removeItem(at: place) }
    let (phone, tablet) = (place.appending(path: "phone"), place.appending(path: "tablet"))
    let store = try FavoritesStore(at: phone)
    try store.library("papers").add("a")
    let carrier = try StoreCarrier(tablet)
    #expect(carrier.description == tablet.path)
    #expect(code { try carrier.sync(store, options: SyncOptions()) } == .notAStore)
    try FavoritesStore(at: tablet).close()
    #expect(try carrier.sync(store, options: SyncOptions()).sent.commits == 1)
    let other = try FavoritesStore(at: tablet)
    #expect(other.digest == store.digest)
    try other.library("papers").add("b")
    #expect(try StoreCarrier(other).sync(store, options: SyncOptions()).received.commits == 1)

    let cloud = try FolderCarrier(place.appending(path: "cloud"))
    #expect(code { try cloud.sync(store, options: SyncOptions()) } == .notAStore)
    try FileManager.default.createDirectory(
      at: place.appending(path: "cloud"), withIntermediateDirectories: false)
    #expect(try cloud.sync(store, options: SyncOptions()).folder?.written == 2)

    let address = try #require(URL(string: "https://example.org/cloud"))
    #expect(throws: HeartlogError.self) { try FolderCarrier(address) }
    #expect(throws: HeartlogError.self) { try StoreCarrier(address) }
  }

  @Test("a store that is open for reading only is only pulled from")
  func readOnly() throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID())")
    defer { try? FileManager.default.removeItem(at: place) }
    try FavoritesStore(at: place).library("papers").add("b")
    var options = StoreOptions()
    options.access = .readOnly
    let peer = try FavoritesStore(at: place, options: options)
    let store = try FavoritesStore.inMemory()
    try store.library("papers").add("a")
    let before = peer.digest
    let report = try StoreCarrier(peer).sync(store, options: SyncOptions())
    #expect(report.sent.commits == 0 && peer.digest == before)
  }

  @Test("a failure of the store beside this one is told as it is")
  func besidesFailing() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet()
    try one.write(30, tag: "a")
    try other.files.setFreeBytes(0)
    #expect(
      code { try StoreCarrier(other, description: "/other").sync(one, options: SyncOptions()) } == .diskFull)
  }

  @Test("a command that echoes, talks nonsense, ends at once or says nothing ends in an error that names it")
  func commands() throws {
    let store = try FavoritesStore.device(1, "phone")
    try store.write(3)
    var options = SyncOptions()
    options.inactivityMillisecondsMax = 400
    let before = try store.streams
    for (command, expected) in [
      ("cat", HeartlogError.Code.peer), ("echo hello; cat >/dev/null", .peer), ("exit 66", .notAStore),
      ("exit 75", .locked), ("exit 1", .inputOutput), ("true", .inputOutput),
      ("no-such-program-here", .inputOutput),
      ("cat >/dev/null; sleep 60", .timedOut), ("sleep 60", .timedOut), ("kill -9 $$", .inputOutput),
    ] {
      let found = code {
        try CommandCarrier.shell("exec 2>/dev/null; \(command)").sync(store, options: options)
      }
      #expect(found == expected, "\(command)")
    }
    #expect(try store.streams == before)
    #expect(throws: HeartlogError.self) { try CommandCarrier.shell("") }
  }

  @Test(
    "what a login prints before the dialogue is named as such",
    arguments: [
      ("echo 'Welcome to desk!'; cat", "Welcome to desk!"),
      ("printf '\\n\\tLast login: today'", "Last login: today"),
      ("printf '\\tLast login: today'", "Last login: today"), ("printf 'Grüße'", "Grüße"),
      ("printf '\\033[1mbold\\033[0m words'; cat", "[1mbold[0m words"),
      ("printf '!!\\n'; cat", nil),
      ("printf 'x%.0s' $(seq 90); cat", String(repeating: "x", count: 60) + "…"),
    ] as [(String, String?)])
  func banner(command: String, line: String?) throws {
    let store = try FavoritesStore.device(1, "phone")
    try store.write(3)
    let error = #expect(throws: HeartlogError.self) {
      try CommandCarrier.shell(command).sync(store, options: SyncOptions())
    }
    let message = try #require(error?.message)
    #expect(error?.code == .peer && message.contains("startup files") == (line != nil), "\(message)")
    if let line { #expect(message.contains("printed \"\(line)\" before the dialogue"), "\(message)") }
  }

  @Test(
    "a password in an address is refused, and not told",
    arguments: [
      "ssh://anna:secret@desk/s", "ssh://anna:secret@desk:22/s", "ssh://anna:se/cret@desk/s",
      "ssh://:secret@desk/s",
      "ssh://anna:sec@secret@desk/s", "ssh://anna:secret@desk", "ssh://anna:22@secret@desk:0/",
    ])
  func password(text: String) throws {
    let error = #expect(throws: HeartlogError.self) { try SSHAddress(text) }
    #expect(error?.code == .invalid && error?.description.contains("secret") == false)
    let told = SSHAddress.withoutPassword("no store at \(text): what? ssh://host/a")
    #expect(!told.contains("secret") && told.contains("ssh://") && told.hasSuffix("ssh://host/a"), "\(told)")
  }

  @Test("a sync that is called off ends at once")
  func cancelled() throws {
    let store = try FavoritesStore.device(1, "phone")
    var options = SyncOptions()
    options.isCancelled = { true }
    let report = try CommandCarrier.shell("sleep 60").sync(store, options: options)
    #expect(report.unfinished == SyncReport.Unfinished() && !report.isComplete)
  }

  @Test(
    "addresses are taken apart, and a path is one word for the other machine's shell",
    arguments: [
      ("ssh://host/srv/store", ["--", "host", "heartlog --store '/srv/store' serve --stdio"]),
      (
        "ssh://anna@host:2222/srv/store",
        ["-p", "2222", "--", "anna@host", "heartlog --store '/srv/store' serve --stdio"]
      ),
      ("ssh://host/~/fav.heartlog", ["--", "host", "heartlog --store 'fav.heartlog' serve --stdio"]),
      ("ssh://host/~/-x", ["--", "host", "heartlog --store './-x' serve --stdio"]),
      (
        "ssh://[fe80::1%eth0]:22/s",
        ["-p", "22", "--", "fe80::1%eth0", "heartlog --store '/s' serve --stdio"]
      ),
      (
        "ssh://h/it's $(here) `too`", ["--", "h", "heartlog --store '/it'\\''s $(here) `too`' serve --stdio"]
      ),
    ])
  func addresses(text: String, arguments: [String]) throws {
    #expect(try SSHAddress(text).arguments(running: "serve --stdio") == arguments)
  }

  @Test(
    "what is no address, or would be an option, is refused",
    arguments: [
      "ssh://", "ssh://host", "ssh://host/", "ssh://-oProxyCommand=x/s", "ssh://-x@host/s", "ssh:///s",
      "ssh://a b/s",
      "ssh://host:0/s", "ssh://host:x/s", "ssh://host:99999/s", "ssh://host/~/", "ssh://@host/s",
      "ssh://ho'st/s",
      "https://host/s", "ssh://host/\0",
    ])
  func noAddresses(text: String) {
    #expect(throws: HeartlogError.self) { try SSHAddress(text) }
  }
}
