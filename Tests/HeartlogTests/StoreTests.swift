import HeartlogCrashModel
import Foundation
import HeartlogFiles
import Testing

@testable import Heartlog

@Suite("A store over its life")
struct StoreTests {
  private let test = TestStore()

  @Test("what was acknowledged is there when the store is opened again")
  func reopening() throws {
    let first = try test.open()
    try first.records.add(Record(id: 1, title: "a"))
    try first.close()
    let second = try test.open()
    #expect(try second.records.list() == [Record(id: 1, title: "a")])
    #expect(second.replica == first.replica && second.name == "test")
    #expect(throws: HeartlogError.self) { try first.records.add(Record(id: 2, title: "b")) }
  }

  @Test("a store that may not be made is not made")
  func missing() throws {
    let error = #expect(throws: HeartlogError.self) { try test.open { $0.createsIfMissing = false } }
    #expect(error?.code == .notAStore)
    #expect(try test.files.info(TestStore.path) == nil)
  }

  @Test("an alert shows the sentence of an error")
  func localizedErrors() {
    let errors: [any Error & CustomStringConvertible] = [
      HeartlogError(.corrupt, "a row is damaged", file: "/store/replicas/a", offset: 12),
      MalformedError("an empty id"),
    ]
    for error in errors.dropFirst() { #expect(error.localizedDescription == error.description) }
    #expect(errors[0].localizedDescription == "a row is damaged")
    #expect(errors[0].description.contains("/store/replicas/a"))
  }

  @Test("a folder with something else in it is left alone")
  func foreignFolder() throws {
    try test.files.createDirectory(TestStore.path)
    _ = try test.files.open("\(TestStore.path)/diary.txt", .createNew)
    let error = #expect(throws: HeartlogError.self) { try test.open() }
    #expect(error?.code == .exists && error?.message == "the folder \(TestStore.path) is not empty")
    #expect(try test.files.entries(of: TestStore.path) == ["diary.txt"])
  }

  @Test("a file in the place of the store is named as such")
  func fileInPlace() throws {
    _ = try test.files.open(TestStore.path, .createNew)
    let error = #expect(throws: HeartlogError.self) { try test.open() }
    #expect(error?.code == .exists && error?.message == "\(TestStore.path) is a file")
  }

  @Test("the folders above a store are made at the first launch")
  func missingParents() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID())")
    defer { try? FileManager.default.removeItem(at: path) }
    let folder = path.appending(path: "Application Support/favorites")
    let store = try FavoritesStore(at: folder)
    try store.library("papers").add("a")
    try store.close()
    #expect(try FavoritesStore(at: folder).library("papers").contains("a"))
    // Not for a store that may not be made.
    var options = StoreOptions()
    options.createsIfMissing = false
    let other = path.appending(path: "other/favorites")
    #expect(throws: HeartlogError.self) { try FavoritesStore(at: other, options: options) }
    #expect(!FileManager.default.fileExists(atPath: other.deletingLastPathComponent().path))
  }

  @Test("a store in memory has no files and all the semantics")
  func inMemory() throws {
    let store = try FavoritesStore.inMemory()
    try store.records.toggle(Record(id: 1, title: "a"))
    #expect(try store.records.contains(1))
    #expect(try store.state().digest == store.digest)
    #expect(try store.verify().streams.map(\.commits) == [1])
    try store.seal()
    #expect(try store.state().digest == store.digest)
  }

  @Test("a store opened for reading refuses to write")
  func readOnly() throws {
    try test.open().records.add(Record(id: 1, title: "a"))
    let reader = try test.open { $0.access = .readOnly }
    #expect(try reader.records.count == 1)
    let error = #expect(throws: HeartlogError.self) { try reader.records.remove(1) }
    #expect(error?.code == .readOnly)
  }

  @Test("a copied folder takes a new replica before its first write, and both keep all history")
  func copy() throws {
    let original = try test.open()
    try original.library("papers").add("a")
    let machine = test.files.deepCopy()
    machine.machineID = Array("another machine".utf8)
    let copy = try FavoritesStore(at: TestStore.path, on: machine, options: StoreOptions())
    #expect(copy.replica == original.replica, "reading changes nothing")
    try copy.library("papers").add("b")
    #expect(copy.replica != original.replica)
    let commits = try copy.allCommits()
    #expect(commits.map(\.number.rawValue) == [1, 1])
    #expect(commits.last?.heads == [Head(replica: original.replica, commit: CommitNumber(rawValue: 1))])
    #expect(try copy.library("papers").counts.favorites == 2)
    #expect(try copy.verify().streams.count == 2)
    #expect(try copy.status().devices.count == 2)
  }

  @Test(
    "a copied folder can be written, although damage before its snapshot keeps the old stream from being signed"
  )
  func damagedCopy() throws {
    let original = try test.open()
    for number in 0..<5 { try original.library("papers").add("\(number)") }
    _ = try original.makeCheckpoint()
    try original.seal()
    for number in 5..<9 { try original.library("papers").add("\(number)") }
    try original.snapshot()
    try original.close()
    let machine = test.files.deepCopy()
    machine.machineID = Array("another machine".utf8)
    let sealed = "\(TestStore.path)/replicas/\(original.replica)/0000000000000001.sealed"
    var bytes = try machine.contents(of: sealed)
    bytes[bytes.count - 40] ^= 1
    try machine.replaceContents(of: sealed, with: bytes)
    let copy = try FavoritesStore(at: TestStore.path, on: machine, options: StoreOptions())
    try copy.library("papers").add("later")
    #expect(copy.replica != original.replica)
    #expect(try copy.library("papers").counts.favorites == 10)
    #expect(try copy.verify().streams.contains { $0.finding?.verdict == .corrupt })
  }

  @Test("two that write and sign the same stream at once never seem to contradict each other")
  func signing() async throws {
    let stores = try [test.open(), test.open()]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, store) in stores.enumerated() {
        group.addTask {
          for number in 0..<150 {
            try store.library("papers").add("\(index)-\(number)")
            _ = try store.makeCheckpoint()
          }
        }
      }
      try await group.waitForAll()
    }
    let signed = try #require(try stores[0].makeCheckpoint())
    #expect(signed.checkpoint.size == 300)
  }

  @Test("status counts what the log holds, and names a clock that runs ahead")
  func status() throws {
    let store = try test.open()
    try store.library("papers").add("a")
    try store.library("books").set([Field(name: "f", value: .int64(1))], of: "b")
    test.clock.now -= 5_000
    let status = try store.status()
    #expect(status.events == 2 && status.commits == 2 && status.bytes > 0)
    #expect(status.libraries.map(\.name) == ["books", "papers"])
    #expect(status.libraries.map(\.counts.favorites) == [0, 1])
    #expect(status.devices.map(\.head) == [2])
    // The second commit of the same millisecond counts on.
    #expect(status.devices[0].wallClockAheadSeconds == 5)
    #expect(status.digest == store.digest)
  }
}
