import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import TestSupport
import Testing

@testable import HeartlogEngine

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("The folder of snapshots")
struct SnapshotFolderTests {
  private let generator = SharedGenerator(seed: 61)

  private func options(_ access: StoreAccess = .readWrite) -> StorageOptions {
    var options = StorageOptions()
    let generator = generator
    options.random = { generator.next() }
    options.access = access
    return options
  }

  private func place(_ kind: FileSystemKind = .memory) throws -> (TestPlace, SnapshotFolder) {
    let place = try TestPlace(kind)
    return (place, SnapshotFolder(at: place.root, on: place.files, options: options()))
  }

  private func bytes(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
    let pattern = (0..<1_009).map { UInt8(truncatingIfNeeded: $0 &* 31) ^ seed }
    var bytes: [UInt8] = []
    while bytes.count < count { bytes.append(contentsOf: pattern) }
    return Array(bytes[..<count])
  }

  @discardableResult
  private func write(_ events: UInt64, _ bytes: [UInt8], to folder: SnapshotFolder) throws -> SnapshotFile? {
    try folder.write(eventCount: events) { output in
      // In pieces of odd sizes.
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = Array(rest.prefix(300_007))
        try part.withUnsafeBytes { try output($0) }
        rest = rest.dropFirst(part.count)
      }
    }
  }

  @Test("what is written is listed and mapped", arguments: FileSystemKind.allCases)
  func roundTrip(_ kind: FileSystemKind) throws {
    let (place, folder) = try place(kind)
    #expect(try folder.files().isEmpty)
    let next = try #require(try write(1_000, bytes(3_500_011), to: folder))
    #expect(next.name.hasPrefix("0000000000001000-") && next.name.hasSuffix(".snapshot"))
    #expect(try folder.files() == [next])
    #expect(try folder.map(next).map { Array($0.bytes) } == bytes(3_500_011))
    let mapping = try #require(try folder.map(next))
    try folder.remove(next)
    try folder.remove(next)
    #expect(try folder.map(next) == nil && !folder.files().contains(next))
    #expect(Array(mapping.bytes) == bytes(3_500_011))
    withExtendedLifetime(place) {}
  }

  @Test("names are read as they are written, and no others are")
  func names() {
    for (events, suffix) in [(0, 0), (1, 7), (1_000_000, 0x9F8E_7D6C), (UInt64.max, UInt32.max)]
      as [(UInt64, UInt32)]
    {
      let file = SnapshotFile(eventCount: events, suffix: suffix)
      #expect(SnapshotFile(name: file.name) == file)
    }
    #expect(
      SnapshotFile(eventCount: 1_000_000, suffix: 0x9F8E_7D6C).name == "0000000001000000-9f8e7d6c.snapshot")
    for name in [
      "", ".snapshot", "1-2.snapshot", "0000000001000000-9F8E7D6C.snapshot", "0000000001000000-9f8e7d6c",
      "0000000001000000-9f8e7d6c.snapshot.tmp-1-2", "+000000001000000-9f8e7d6c.snapshot",
      "0000000001000000-9f8e-7d6c.snapshot", "00000000001000000-9f8e7d6c.snapshot",
    ] {
      #expect(SnapshotFile(name: name) == nil, "\(name)")
    }
  }

  @Test("a store that is read only, or on a network, gets none and keeps those it has")
  func notWritable() throws {
    let files = MemoryFileSystem(recording: true)
    try files.createDirectory("/store")
    let file = try #require(
      try write(5, bytes(10), to: SnapshotFolder(at: "/store", on: files, options: options())))
    let readOnly = SnapshotFolder(at: "/store", on: files, options: options(.readOnly))
    #expect(try write(6, bytes(10), to: readOnly) == nil)
    try readOnly.remove(file)
    #expect(try readOnly.files() == [file])
    files.onNetwork = true
    let folder = SnapshotFolder(at: "/store", on: files, options: options())
    #expect(try write(6, bytes(10), to: folder) == nil)
    #expect(try folder.files() == [file] && folder.map(file) != nil)
  }

  @Test("a write that fails leaves nothing, and what was there stays")
  func failures() throws {
    for kind in [FaultKind.createFile, .write, .synchronizeData, .synchronize, .rename] {
      let files = MemoryFileSystem(recording: true)
      try files.createDirectory("/store")
      let folder = SnapshotFolder(at: "/store", on: files, options: options())
      let before = try #require(try write(5, bytes(10), to: folder))
      files.failNext(kind, onPathSuffix: nil, code: ENOSPC)
      #expect(storageFailure { try write(50, bytes(2_000_000), to: folder) }?.code == .diskFull, "\(kind)")
      #expect(try files.entries(of: "/store/snapshots") == [before.name], "\(kind)")
      #expect(try write(50, bytes(2_000_000), to: folder) != nil)
    }
  }

  @Test("an error of whoever gives the bytes comes through, and nothing is left")
  func failingBody() throws {
    let (place, folder) = try place()
    #expect(throws: MalformedError.self) {
      try folder.write(eventCount: 1) { output in
        try bytes(2_000_000).withUnsafeBytes { try output($0) }
        throw MalformedError("no more")
      }
    }
    #expect(try place.files.entries(of: "\(place.root)/snapshots").isEmpty)
  }

  @Test("whoever removes the folder while a snapshot is written gets rid of it, without an error")
  func removedMeanwhile() throws {
    let (place, folder) = try place()
    let written = try folder.write(eventCount: 1) { output in
      try bytes(10).withUnsafeBytes { try output($0) }
      for name in try place.files.entries(of: "\(place.root)/snapshots") {
        try place.files.remove("\(place.root)/snapshots/\(name)")
      }
    }
    #expect(try written == nil && folder.files().isEmpty)
    #expect(try write(1, bytes(10), to: folder) != nil)
  }

  @Test("what dead processes left is removed, what others are writing is not; foreign files stay")
  func unfinished() throws {
    let files = MemoryFileSystem(recording: true)
    try files.createDirectory("/store")
    let folder = SnapshotFolder(at: "/store", on: files, options: options())
    try write(1, bytes(10), to: folder)
    let name = SnapshotFile(eventCount: 2, suffix: 3).name
    for leftover in ["\(name).tmp-1-ab", "\(name).tmp-77-ab", "\(name).tmp-x", "mine.txt"] {
      _ = try files.open("/store/snapshots/\(leftover)", .createNew)
    }
    let inner = try folder.write(eventCount: 3) { output in
      // Another thread of this process does the same.
      #expect(try write(4, bytes(10), to: folder) != nil)
      try bytes(10).withUnsafeBytes { try output($0) }
    }
    #expect(inner != nil)
    let rest = try files.entries(of: "/store/snapshots").filter { !$0.hasSuffix(".snapshot") }
    #expect(rest == ["\(name).tmp-x", "mine.txt"])
    #expect(POSIXFileSystem().isRunning(getpid()) && !POSIXFileSystem().isRunning(.max))
    #expect(!POSIXFileSystem().isRunning(0) && !POSIXFileSystem().isRunning(-1))
  }

  @Test("it is written in pieces of at most 128 KiB, each durable before the next, and renamed when all are")
  func pieces() throws {
    let files = MemoryFileSystem(root: "/store", recording: true)
    try files.createDirectory("/store")
    let folder = SnapshotFolder(at: "/store", on: files, options: options())
    try write(1, bytes(312_500), to: folder)
    let steps = files.trace.map { operation in
      operation.description.split(separator: " ").filter { !$0.hasPrefix("snapshots/") }.joined(
        separator: " ")
    }
    #expect(
      steps == [
        "createDirectory .", "createDirectory snapshots", "synchronizeDirectory .", "createFile",
        "write 0+131072", "synchronizeData", "write 131072+131072", "synchronizeData",
        "write 262144+50356", "synchronize", "rename", "synchronizeDirectory snapshots",
      ])
  }

  @Test(
    "as long as nobody waits for it the pieces are smaller; as soon as somebody does, the rest comes in large ones"
  )
  func hurry() throws {
    let files = MemoryFileSystem(root: "/store", recording: true)
    try files.createDirectory("/store")
    let folder = SnapshotFolder(at: "/store", on: files, options: options())
    var isHurried = false
    let first = bytes(70_000)
    let second = bytes(140_000, seed: 7)
    let written = try folder.write(eventCount: 1, isHurried: { isHurried }) { output in
      try first.withUnsafeBytes { try output($0) }
      isHurried = true
      try second.withUnsafeBytes { try output($0) }
    }
    let file = try #require(written)
    let writes = files.trace.map(\.description).filter { $0.hasPrefix("write") }
      .compactMap { $0.split(separator: " ").last }
    #expect(writes == ["0+32768", "32768+32768", "65536+131072", "196608+13392"])
    let mapping = try #require(try folder.map(file))
    #expect(Array(mapping.bytes) == first + second)
  }

  @Test(
    "after a crash at any moment each snapshot that has its name is whole, and the next one can be written")
  func crashes() throws {
    let files = MemoryFileSystem(root: "/store", recording: true)
    try files.createDirectory("/store")
    var folder = SnapshotFolder(at: "/store", on: files, options: options())
    folder.pieceBytes = (4_096, 8_192)
    let contents: [UInt64: [UInt8]] = [10: bytes(9_000), 40: bytes(20_000, seed: 9)]
    var done: [(point: Int, events: UInt64)] = []
    for (events, bytes) in contents.sorted(by: { $0.key < $1.key }) {
      try write(events, bytes, to: folder)
      done.append((files.crashPoints, events))
    }
    var unfinished = 0
    for point in 0...files.crashPoints {
      for state in files.crashStates(after: point, sectorBytes: 4_096, limit: 40, seed: 5) {
        guard (try? state.info("/store")) != nil, try state.info("/store") != nil else { continue }
        let after = SnapshotFolder(at: "/store", on: state, options: options())
        let found = try after.files()
        for file in found {
          let mapping = try #require(try after.map(file))
          #expect(contents[file.eventCount].map { Array(mapping.bytes) == $0 } == true, "point \(point)")
        }
        let expected = done.last { $0.point <= point }?.events ?? 0
        #expect(found.first?.eventCount ?? 0 >= expected, "point \(point)")
        if try state.info("/store/snapshots") != nil {
          unfinished += try state.entries(of: "/store/snapshots").count - found.count
        }
        let next = try #require(try write(1_000, bytes(30_000), to: after))
        #expect(try after.files().first == next)
        #expect(try state.entries(of: "/store/snapshots").allSatisfy { $0.hasSuffix(".snapshot") })
      }
    }
    #expect(unfinished > 0)
  }

  @Test(
    "a snapshot replaces those with as many events or fewer, but not evidence, nor what is no file",
    arguments: FileSystemKind.allCases)
  func replacing(_ kind: FileSystemKind) throws {
    let (place, folder) = try place(kind)
    try place.files.createDirectory(folder.path)
    try place.files.createDirectory("\(folder.path)/0000000000000001-00000001.snapshot")
    let newer = try #require(try write(9, bytes(10), to: folder))
    let evidence = try #require(try write(3, bytes(10), to: folder))
    let same = try #require(
      try folder.write(eventCount: 5, keeping: [evidence.name]) { try bytes(10).withUnsafeBytes($0) })
    let written = try folder.write(eventCount: 5, keeping: [evidence.name]) {
      try bytes(10).withUnsafeBytes($0)
    }
    #expect(written != same)
    #expect(
      try Set(folder.files())
        == [newer, try #require(written), evidence, SnapshotFile(eventCount: 1, suffix: 1)])
    withExtendedLifetime(place) {}
  }
}
