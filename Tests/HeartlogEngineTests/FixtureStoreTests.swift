import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

/// Stores of every format version that ever was, as files. They stay readable for ever.
@Suite("Stores of older versions open")
struct FixtureStoreTests {
  @Test("version 1: two streams, sealed and open segments, a record of a later kind")
  func version1() throws {
    if Golden.updates, try POSIXFileSystem().info(Golden(name: "stores/v1/store").path) == nil {
      try makeVersion1()
    }
    let files = try load("stores/v1")
    let store = TestStore(files: files, path: "/store")
    let expected = try Golden(name: "stores/v1.txt").lines()
    #expect(try summary(store) == expected)

    let open = try store.open(TestStore.options(seed: 1_000))
    #expect(open.log.findings.isEmpty)
    #expect(open.projection.commits.count == 51)
    #expect(open.log.ownIdentity.name == "Anna's phone")
    // The folder is another one than where it was made.
    let renewed = try open.write(0)
    #expect(renewed.number.rawValue == 1 && renewed.heads.count == 2)
    _ = try open.log.seal()
    #expect(try summary(store).filter { expected.contains($0) } == expected)
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("and from a place that cannot be written")
  func readOnly() throws {
    let files = try load("stores/v1")
    files.isReadOnly = true
    #expect(try TestStore(files: files, path: "/store").read().commits.count == 51)
    #expect(try summary(TestStore(files: files, path: "/store")) == Golden(name: "stores/v1.txt").lines())
  }

  private func summary(_ store: TestStore) throws -> [String] {
    try store.verify().map { stream in
      #expect(stream.finding == nil)
      return
        "\(stream.replica) \(stream.name): \(stream.commits) commits, \(stream.events) events, \(stream.root)"
    }
  }

  private func load(_ name: String) throws -> MemoryFileSystem {
    let files = MemoryFileSystem(root: "/store", recording: true)
    try copy(Golden(name: name).path, on: POSIXFileSystem(), to: "/store", on: files)
    return files
  }

  private func copy(
    _ path: String, on source: any FileSystem, to target: String, on files: any FileSystem
  ) throws {
    try files.createDirectory(target)
    for name in try source.entries(of: path) where name != "lock" {
      let child = "\(path)/\(name)"
      if try source.info(child)?.kind == .directory {
        try copy(child, on: source, to: "\(target)/\(name)", on: files)
      } else {
        let file = try source.open(child, .read)
        try files.open("\(target)/\(name)", .createNew).write(
          try file.bytes(Int(try file.size()), at: 0), at: 0)
      }
    }
  }

  /// Made once, by the version that wrote it first.
  private func makeVersion1() throws {
    let memory = MemoryFileSystem(root: "/store", recording: true)
    let store = TestStore(files: memory, path: "/store")
    try store.create(seed: 11, name: "Anna's phone")
    let first = try store.open(TestStore.options(seed: 12, segmentBytesMax: 6_000))
    for index in 0..<20 { try write(first, index) }
    _ = try first.log.seal()
    for index in 20..<30 { try write(first, index) }
    first.log.close()
    memory.machineID = Array("the next phone".utf8)
    let second = try store.open(TestStore.options(seed: 13, segmentBytesMax: 6_000))
    for index in 30..<40 { try write(second, index) }
    second.log.close()
    let tail = try #require(try store.names(of: second.replica).last)
    try memory.appendRecord("/store/replicas/\(second.replica)/\(tail)", kind: 3, before: 11)
    let third = try store.open(TestStore.options(seed: 14, segmentBytesMax: 6_000))
    for index in 40..<46 { try write(third, index) }
    _ = try third.log.seal()
    for index in 46..<51 { try write(third, index) }
    third.log.close()
    let replica = third.replica
    let last = try #require(try store.names(of: replica).last { $0.hasSuffix(".open") })
    try memory.appendRecord("/store/replicas/\(replica)/\(last)", kind: 7, before: 22)
    let folder = Golden(name: "stores").path
    if try POSIXFileSystem().info(folder) == nil { try POSIXFileSystem().createDirectory(folder) }
    try copy("/store", on: memory, to: Golden(name: "stores/v1").path, on: POSIXFileSystem())
    try Golden(name: "stores/v1.txt").write(try summary(store))
  }

  /// Every action, every kind of value, members and events of later versions.
  private func write(_ open: OpenStore, _ index: Int) throws {
    let item = "2403.\(10_000 + index % 7)v1"
    let records: [EventRecord] =
      switch index % 6 {
      case 0:
        [
          .event(
            Event(
              library: "papers", item: item, action: .added, favoritedDate: -1,
              fields: [
                Field(
                  name: "abstract",
                  value: .string(String(repeating: "a log is a list of events. ", count: 20))),
                Field(name: "pages", value: .int64(Int64(index))),
                Field(name: "title", value: .string("Logs, part \(index)")),
              ]))
        ]
      case 1:
        [
          .event(Event(library: "papers", item: item, action: .toggled(on: false))),
          .event(Event(library: "cities", item: "urn:ngsi-ld:Zürich", action: .toggled(on: true))),
        ]
      case 2:
        [
          .event(
            Event(
              library: "books", item: "b/\(index)", action: .changed,
              fields: [
                Field(name: "@note", value: .null),
                Field(name: "currentPosition", value: .double(0.25), isQuiet: true),
                Field(name: "extra", value: .json(try CanonicalJSON(canonical: #"{"a":[1,true]}"#))),
                Field(name: "finished", value: .bool(true)),
                Field(name: "later", value: .unknown(tag: 40, bytes: [1, 2, 3])),
              ]))
        ]
      case 3: [.event(Event(library: "papers", item: item, action: .removed))]
      case 4: [.unknown(kind: 9, bytes: [9, 9, UInt8(index)])]
      default:
        [
          .event(
            Event(
              library: "settings", item: "playback", action: .changed,
              fields: [Field(name: "speed", value: .double(1.5))],
              unknownMembers: [UnknownMember(tag: 4, bytes: [UInt8(index)])]))
        ]
      }
    _ = try open.log.write(.durable) {
      CommitDraft(
        wallTime: 1_772_438_400_123 + Int64(index) * 60_000, origin: index % 4 == 0 ? "cli" : nil,
        records: records)
    }
  }
}
