import HeartlogCrashModel
import HeartlogFiles
import Observation
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

@testable import Heartlog
@testable import HeartlogEngine

/// A type as its first version was, which logged everything.
private struct OldTape: FavoriteItem, Equatable {
  static let library = "tapes"

  let id: String
  var title: String
  var path: String?
  var isThere: Bool?
}

/// The same type, whose last two fields are local.
private struct Tape: FavoriteItem, Equatable {
  static let library = "tapes"
  static var localFields: Set<String> { ["path", "isThere"] }

  let id: String
  var title: String
  var path: String?
  var isThere: Bool?
}

extension FavoritesStore {
  fileprivate var tapes: Favorites<Tape> { get throws { try favorites(of: Tape.self) } }
}

@Suite("Device-local fields", .timeLimit(.minutes(5)))
struct LocalFieldsTests {
  private let test = TestStore()
  private let tape = Tape(id: "a", title: "A", path: "/here/a", isThere: true)
  private let blank = Tape(id: "a", title: "A")

  private func sync(_ a: FavoritesStore, _ b: FavoritesStore) throws {
    _ = try a.makeCheckpoint()
    _ = try b.makeCheckpoint()
    try MergeTests.ship(a, to: b)
    try MergeTests.ship(b, to: a)
    try #require(a.digest == b.digest)
  }

  // MARK: - Devices

  @Test("two devices that exchange everything see only their own values")
  func twoDevices() throws {
    let phone = try test.open()
    let tablet = try TestStore(clock: test.clock).open()
    try phone.tapes.add(tape)
    try sync(phone, tablet)
    #expect(try phone.tapes.item("a") == tape)
    #expect(try tablet.tapes.item("a") == blank)
    #expect(try tablet.tapes.list() == [blank] && tablet.tapes.library.all().first?.fields.count == 1)

    var other = blank
    other.path = "/there/a"
    test.clock.now += 1
    #expect(try tablet.tapes.update(other))
    try sync(phone, tablet)
    #expect(try phone.tapes.list() == [tape] && tablet.tapes.list() == [other])
    #expect(phone.conflicts.isEmpty)

    // What a log contains is all that is shipped.
    for store in [phone, tablet] {
      let names = try store.allCommits().flatMap(\.records).compactMap(\.event).flatMap(\.fields).map(\.name)
      #expect(Set(names) == ["title"])
      #expect(try store.library("tapes").item("a")?.fields.map(\.name) == ["title"])
    }
  }

  @Test("values that an older version of the type logged are ignored")
  func loggedByAnOlderVersion() throws {
    let store = try test.open()
    try store.favorites(of: OldTape.self).add(OldTape(id: "a", title: "A", path: "/old", isThere: true))
    let tapes = try store.tapes
    #expect(try tapes.item("a") == blank && tapes.list() == [blank])
    #expect(tapes.library.items().map { $0.fields.map(\.name) } == [["title"]])
    #expect(try tapes.query.search("old").items().isEmpty)
    #expect(try tapes.query.search("old", options: SearchOptions(fields: ["title", "path"])).items().isEmpty)
    let inside = try store.write { (try tapes.item("a"), tapes.list()) }
    #expect(inside.0 == blank && inside.1 == [blank])

    #expect(try tapes.update(tape))
    #expect(try tapes.item("a") == tape && tapes.query.search("here").items() == [tape])
    #expect(try tapes.query.search("A", options: SearchOptions(fields: ["title"])).items() == [tape])
    // The log is not changed.
    #expect(try store.favorites(of: OldTape.self).item("a")?.path == "/old")
    #expect(try store.allCommits().count == 1)
  }

  @Test("an item of which only such values were logged is shown as one that was never written")
  func nothingElseLogged() throws {
    let store = try test.open()
    try store.library("tapes").set([Field(name: "path", value: .string("/old"))], of: "a")
    let tapes = try store.tapes
    #expect(try tapes.item("a") == nil && tapes.library.all().isEmpty)
    #expect(try !tapes.library.set([Field(name: "path", value: .null)], of: "a"))
    #expect(try tapes.library.set([Field(name: "path", value: .string("/here"))], of: "a"))
    #expect(tapes.library.all().map(\.id) == ["a"])
    try tapes.library.set([Field(name: "path", value: .string("/b"))], of: "b")
    #expect(tapes.library.all().map(\.id) == ["a", "b"] && tapes.library.items().count == 2)
  }

  // MARK: - Copies

  @Test("a copied folder shows none of the original's values, and removes them when it writes its own")
  func copiedFolder() throws {
    let original = try test.open()
    try original.tapes.add(tape)
    try original.close()
    let machine = test.files.deepCopy()
    machine.machineID = Array("another machine".utf8)
    let copy = try FavoritesStore(at: TestStore.path, on: machine, options: StoreOptions())
    #expect(copy.replica == original.replica)
    #expect(try copy.tapes.item("a") == blank)
    try copy.tapes.add(Tape(id: "b", title: "B"))
    #expect(copy.replica != original.replica)
    #expect(try copy.tapes.item("a") == blank)
    let former = "\(TestStore.path)/local/\(original.replica).fields"
    #expect(try machine.info(former) != nil)

    let own = Tape(id: "a", title: "A", path: "/copy/a")
    #expect(try copy.tapes.update(own))
    #expect(try copy.tapes.item("a") == own)
    #expect(try machine.info(former) == nil)
    #expect(try copy.verify().streams.count == 2)
    #expect(try test.open().tapes.item("a") == tape)
  }

  @Test("a store that becomes a new replica while it is open drops its values")
  func newReplica() throws {
    let original = try test.open()
    try original.tapes.add(tape)
    let machine = test.files.deepCopy()
    machine.machineID = Array("another machine".utf8)
    let copy = try FavoritesStore(at: TestStore.path, on: machine, options: StoreOptions())
    let tapes = try copy.tapes
    // The first write, and local only.
    let own = Tape(id: "a", title: "A", isThere: false)
    #expect(try tapes.update(own))
    #expect(copy.replica != original.replica)
    #expect(try tapes.item("a") == own)
    try copy.close()
    let again = try FavoritesStore(at: TestStore.path, on: machine, options: StoreOptions())
    #expect(try again.tapes.item("a") == own)
  }

  // MARK: - Files

  @Test("values are there after the store was opened again, from a snapshot too")
  func reopening() throws {
    let store = try test.open()
    try store.tapes.add(tape)
    try store.snapshot()
    try store.close()
    let again = try test.open()
    #expect(try again.tapes.list() == [tape])
    #expect(try again.verify().streams.count == 1 && again.findings.isEmpty)
    let faults = try FavoritesStore.diagnose(at: TestStore.path, on: test.files, options: StoreOptions())
    #expect(faults.map(\.kind) == [.provisionalVault])
  }

  @Test("the folder is made by the first value, not by nil")
  func folder() throws {
    let store = try test.open()
    let folder = "\(TestStore.path)/local"
    try store.tapes.add(blank)
    try store.tapes.update(Tape(id: "a", title: "B"))
    #expect(try test.files.info(folder) == nil)
    try store.tapes.update(tape)
    #expect(try test.files.entries(of: folder) == ["\(store.replica).fields", "lock"])
  }

  @Test("a value is cleared with nil")
  func clearing() throws {
    let store = try test.open()
    try store.tapes.add(tape)
    #expect(try store.tapes.update(blank))
    #expect(try !store.tapes.update(blank))
    #expect(try store.tapes.item("a") == blank)
    #expect(try test.open().tapes.item("a") == blank)
  }

  @Test("another handle sees the values when it reads what others wrote, and writes over them")
  func twoHandles() throws {
    let (first, second) = (try test.open(), try test.open())
    let (one, two) = (try first.tapes, try second.tapes)
    try one.add(tape)
    try second.refresh()
    #expect(try two.item("a") == tape)
    // It has not read that the value is there, and clears it nevertheless.
    try one.add(Tape(id: "b", title: "B", path: "/b"))
    #expect(try two.update(Tape(id: "b", title: "B")))
    try first.refresh()
    #expect(try one.item("b") == Tape(id: "b", title: "B"))
  }

  @Test("a store opened for reading shows the values and refuses to write them")
  func readOnly() throws {
    try test.open().tapes.add(tape)
    let reader = try test.open { $0.access = .readOnly }
    let tapes = try reader.tapes
    #expect(try tapes.item("a") == tape)
    let error = #expect(throws: HeartlogError.self) { try tapes.update(blank) }
    #expect(error?.code == .readOnly)
    let tried = try reader.dryRun { try tapes.update(blank) }
    #expect(tried.result && tried.events.isEmpty)
    #expect(try tapes.item("a") == tape)
  }

  @Test("a store opened for reading creates nothing")
  func readOnlyWithout() throws {
    try test.open().tapes.add(blank)
    let reader = try test.open { $0.access = .readOnly }
    #expect(try reader.tapes.list() == [blank])
    #expect(try test.files.info("\(TestStore.path)/local") == nil)
  }

  @Test("a store in memory keeps them")
  func inMemory() throws {
    let store = try FavoritesStore.inMemory()
    try store.tapes.add(tape)
    #expect(try store.tapes.item("a") == tape)
  }

  @Test("values that cannot be read are reported when the type is used")
  func damaged() throws {
    let store = try test.open()
    try store.tapes.add(tape)
    try store.close()
    try test.files.open(store.localFile, .readWrite).write([UInt8](repeating: 0, count: 64), at: 0)
    let again = try test.open()
    let error = #expect(throws: HeartlogError.self) { try again.tapes }
    #expect(error?.code == .corrupt)
    #expect(try again.library("tapes").contains("a"))
  }

  // MARK: - Writing

  @Test("a closure sees its own values, which are written after its commit")
  func transactions() throws {
    let store = try test.open()
    let tapes = try store.tapes
    let other = Tape(id: "b", title: "B", path: "/b")
    let commit = try store.commit {
      try tapes.add(tape)
      #expect(try tapes.item("a") == tape && tapes.list() == [tape])
      #expect(try tapes.update(Tape(id: "a", title: "A", path: "/now")))
      #expect(try tapes.item("a")?.path == "/now" && tapes.item("a")?.isThere == nil)
      try tapes.add(other)
      #expect(try test.files.info("\(TestStore.path)/local") == nil)
    }.commit
    #expect(commit?.records.count == 2)
    #expect(try tapes.item("a") == Tape(id: "a", title: "A", path: "/now") && tapes.item("b") == other)
    // Only local values.
    #expect(try store.commit { try tapes.update(tape) } == (true, nil))
    #expect(try tapes.item("a") == tape)
  }

  @Test("a closure that throws writes no value")
  func throwing() throws {
    struct Enough: Error {}
    let store = try test.open()
    let tapes = try store.tapes
    try tapes.add(tape)
    #expect(throws: Enough.self) {
      try store.write {
        try tapes.update(blank)
        #expect(try tapes.item("a") == blank)
        throw Enough()
      }
    }
    #expect(try tapes.item("a") == tape)
  }

  @Test("a value that cannot be stored is refused before anything is written")
  func tooLarge() throws {
    let store = try test.open()
    let path = String(repeating: "x", count: Limits.valueBytesMax + 1)
    let fields = [Field(name: "title", value: .string("A")), Field(name: "path", value: .string(path))]
    let error = #expect(throws: HeartlogError.self) { try store.tapes.library.add("a", fields: fields) }
    #expect(error?.code == .invalid)
    #expect(try store.tapes.count == 0)
  }

  @Test("fields that an operation does not take are not written")
  func ignored() throws {
    let store = try test.open()
    let library = try store.tapes.library
    let local = [Field(name: "path", value: .string("/a"))]
    try library.add("a", fields: local)
    let again = try library.perform(.add(fields: [Field(name: "path", value: .string("/other"))]), on: "a")
    #expect(!again.isChange && again.ignoredFields)
    let off = try library.perform(.toggle(fields: [Field(name: "path", value: .string("/other"))]), on: "a")
    #expect(!off.isFavorite && off.isChange && off.ignoredFields)
    #expect(library.item("a")?.value(of: "path") == .string("/a"))
    let on = try library.perform(.toggle(fields: [Field(name: "path", value: .string("/new"))]), on: "a")
    #expect(on.isFavorite && !on.ignoredFields)
    #expect(library.item("a")?.value(of: "path") == .string("/new"))
    #expect(try library.remove("a") && library.item("a")?.value(of: "path") == .string("/new"))
  }

  @Test("batches and awaited writes keep them apart")
  func batches() async throws {
    let store = try test.open()
    let tapes = try store.tapes
    let many = (0..<20).map { Tape(id: "\($0)", title: "T", path: "/\($0)") }
    #expect(try await tapes.library.store.run { _ in try tapes.add(contentsOf: many) } == 20)
    #expect(try await !tapes.update(many[3]))
    #expect(try await tapes.update(Tape(id: "3", title: "T", path: "/moved")))
    #expect(try tapes.item("3")?.path == "/moved" && tapes.item("4")?.path == "/4")
    #expect(try store.library("tapes").items().allSatisfy { $0.fields.map(\.name) == ["title"] })
  }

  @Test("a failure after the commit keeps the former value, and is reported")
  func failureInBetween() throws {
    let store = try test.open()
    try store.tapes.add(tape)
    test.files.failNext(.write, onPathSuffix: ".fields", code: ENOSPC)
    let changed = Tape(id: "a", title: "New", path: "/new")
    let error = #expect(throws: HeartlogError.self) { try store.tapes.update(changed) }
    #expect(error?.code == .diskFull)
    #expect(try store.tapes.item("a") == Tape(id: "a", title: "New", path: "/here/a", isThere: true))
    #expect(try store.tapes.update(changed) && store.tapes.item("a") == changed)
  }

  @Test("values that change all day leave a file of the size of the present values")
  func bounded() throws {
    let store = try test.open { $0.durability = .buffered }
    let tapes = try store.tapes
    for id in ["a", "b"] { try tapes.add(Tape(id: id, title: "T", path: "/\(id)")) }
    let before = store.read(\.eventCount)
    for tick in 1...5_000 {
      try tapes.library.set([Field(name: "path", value: .string("/a/\(tick)"))], of: "a")
    }
    #expect(store.read(\.eventCount) == before)
    let bytes = try test.files.info(store.localFile)?.size ?? 0
    #expect(bytes > 0 && bytes <= 1 << 16)
    try store.close()
    let again = try test.open()
    #expect(try again.tapes.item("a")?.path == "/a/5000" && again.tapes.item("b")?.path == "/b")
  }

  @Test("a write that a crash has cut short is dropped, and the next one takes its place", arguments: 1...40)
  func tornWrite(cut: Int) throws {
    let store = try test.open()
    try store.tapes.add(tape)
    let whole = try test.files.info(store.localFile)?.size ?? 0
    let changed = Tape(id: "a", title: "A", path: "/there/is/a/longer/path/to/it", isThere: false)
    try store.tapes.update(changed)
    try store.close()
    let size = try test.files.info(store.localFile)?.size ?? 0
    try #require(UInt64(cut) < size - whole)
    try test.files.open(store.localFile, .readWrite).truncate(to: size - UInt64(cut))
    let again = try test.open()
    #expect(try again.tapes.item("a") == tape)
    try again.tapes.update(changed)
    #expect(try test.files.info(store.localFile)?.size == size)
    #expect(try test.open().tapes.item("a") == changed)
  }

  @Test("a damaged record costs no other one")
  func damagedRecord() throws {
    let store = try test.open()
    try store.tapes.add(tape)
    let damaged = try test.files.info(store.localFile)?.size ?? 0
    try store.tapes.add(Tape(id: "b", title: "B", path: "/b", isThere: true))
    let last = Tape(id: "c", title: "C", path: "/c", isThere: true)
    try store.tapes.add(last)
    try store.close()
    try test.files.open(store.localFile, .readWrite).write([0xFF], at: damaged + 20)
    let again = try test.open()
    #expect(try again.tapes.item("a") == tape)
    #expect(try again.tapes.item("c") == last)
    let later = Tape(id: "d", title: "D", path: "/d", isThere: true)
    try again.tapes.add(later)
    let reopened = try test.open()
    #expect(try reopened.tapes.item("c") == last)
    #expect(try reopened.tapes.item("d") == later)
    let path = store.localFile
    #expect(
      try LocalFieldsFile.records(in: test.files.contents(of: path), isStart: true, of: path).damagedByteCount
        == 0)
  }

  @Test("a buffered store writes values without an fsync each, and makes them durable when it is flushed")
  func buffered() throws {
    let store = try test.open { $0.durability = .buffered }
    let tapes = try store.tapes
    try tapes.add(tape)
    func path(_ number: Int) -> [Field] { [Field(name: "path", value: .string("/\(number)"))] }
    let inode = try test.files.info(store.localFile)?.inode
    test.files.failNext(.synchronizeData, onPathSuffix: ".fields", code: EIO)
    for number in 1...20 { try tapes.library.set(path(number), of: "a") }
    // The fdatasync that follows within 100 ms may have failed first.
    do throws(HeartlogError) { try store.flush() } catch { #expect(error.code == .outcomeUnknown) }
    // What the disk has is not known, so the file is replaced.
    try store.flush()
    #expect(try test.files.info(store.localFile)?.inode != inode)
    #expect(try test.open().tapes.item("a")?.path == "/20")
  }

  @Test("another process sees a value at its next read")
  func otherProcess() throws {
    let (one, two) = (try test.open().tapes, try test.open().tapes)
    try one.add(tape)
    _ = try two.library.store.refresh()
    let other = Tape(id: "a", title: "A", path: "/other", isThere: true)
    try one.update(other)
    #expect(try two.item("a") == other)
  }

  // MARK: - Erasing

  @Test("erasing an item erases its local values, and no trace is left in the files")
  func erasing() throws {
    let store = try test.open()
    try store.tapes.add(Tape(id: "a", title: "A", path: "secretpath"))
    try store.tapes.add(Tape(id: "b", title: "B", path: "/b"))
    try store.erase("a", in: "tapes", isDryRun: true)
    #expect(try store.tapes.item("a")?.path == "secretpath")
    try store.erase("a", in: "tapes")
    #expect(try store.tapes.item("a") == nil && store.tapes.item("b")?.path == "/b")
    try store.close()
    #expect(try !test.files.contains("secretpath", below: TestStore.path))
  }

  @Test("an item that another device erases loses its values here")
  func erasedElsewhere() throws {
    let phone = try test.open()
    let tablet = try TestStore(clock: test.clock).open()
    try phone.tapes.add(tape)
    try sync(phone, tablet)
    try tablet.tapes.update(Tape(id: "a", title: "A", path: "secretpath"))
    try phone.erase("a", in: "tapes")
    try phone.tapes.add(Tape(id: "b", title: "B"))
    let signed = try #require(try phone.makeCheckpoint())
    try MergeTests.ship(phone, to: tablet)
    try #require(try tablet.log.restore(signed))
    #expect(try tablet.tapes.item("a")?.path == "secretpath")
    try tablet.applyErasures()
    #expect(try tablet.tapes.item("a") == nil && tablet.tapes.contains("b"))
  }

  // MARK: - Observation

  @MainActor
  @Test("a model shows values that this handle and others write")
  func model() async throws {
    let store = try test.open()
    let tapes = try store.tapes
    try await tapes.add(blank)
    let model = FavoritesModel(tapes)
    try await tapes.update(tape)
    let tape = tape
    for await items in Observations({ model.items }) where items == [tape] { break }
    try await test.open().tapes.update(blank)
    let blank = blank
    for await items in Observations({ model.items }) where items == [blank] { break }
  }
}

extension FavoritesStore {
  /// The file that contains the local values.
  fileprivate var localFile: String { "\(path)/local/\(replica).fields" }
}

extension MemoryFileSystem {
  /// Whether the bytes of a text are in any file below a folder.
  fileprivate func contains(_ text: String, below folder: String) throws -> Bool {
    try entries(of: folder).contains { name in
      let path = "\(folder)/\(name)"
      if try info(path)?.kind == .directory { return try contains(text, below: path) }
      let file = try open(path, .read)
      let bytes = try file.bytes(Int(try file.size()), at: 0)
      return bytes.withUnsafeBytes { bytes in
        String(decoding: bytes, as: UTF8.self).contains(text)
      }
    }
  }
}
