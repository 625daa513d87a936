import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("The store's folder and its identity")
struct StoreFileTests {
  @Test("a store is made once", arguments: FileSystemKind.allCases)
  func creation(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    #expect(storageFailure { try store.create() }?.code == .exists)
    let other = TestStore(files: place.files, path: place.path("other"))
    #expect(storageFailure { _ = try other.open() }?.code == .notAStore)
    #expect(try place.files.info(other.path) == nil)
    try place.files.createDirectory(other.path)
    #expect(storageFailure { _ = try other.open() }?.code == .notAStore)
    try other.create()
    try other.open().write(1)
    let file = TestStore(files: place.files, path: place.path("file"))
    _ = try place.files.open(file.path, .createNew)
    #expect(storageFailure { try file.create() }?.code == .exists)
    #expect(storageFailure { _ = try file.open() }?.code == .notAStore)
    let full = TestStore(files: place.files, path: place.root)
    #expect(storageFailure { try full.create() }?.code == .exists)
  }

  @Test("any name that is allowed comes back, also one that combines with what stands before it")
  func names() throws {
    for name in [
      "", "Anna's phone", "\u{301}x", "a\u{2028}b", "checksum 0", String(repeating: "é", count: 63),
    ] {
      let files = MemoryFileSystem(recording: true)
      try CommitLog.create(at: "/s", on: files, name: name)
      let projection = RecordingProjection()
      let log = try CommitLog(at: "/s", on: files, projection: projection)
      #expect(Array(log.ownIdentity.name.utf8) == Array(name.utf8))
    }
    for name in ["a\nb", String(repeating: "x", count: 128), "\u{85}"] {
      #expect(
        storageFailure { try CommitLog.create(at: "/s", on: MemoryFileSystem(recording: true), name: name) }?
          .code
          == .invalid)
    }
  }

  @Test("every changed byte of the identity is found, and none makes another identity")
  func changedIdentity() throws {
    let (store, files) = try TestStore.inMemory()
    let good = try files.contents(of: "/store/store")
    for offset in good.indices {
      for change: UInt8 in [0x01, 0x20, 0x80, 0xFF] {
        var bytes = good
        bytes[offset] ^= change
        try files.replaceContents(of: "/store/store", with: bytes)
        let code = storageFailure { _ = try store.open() }?.code
        #expect(code == .corrupt || code == .notAStore, "offset \(offset), xor \(change)")
      }
    }
    for count in good.indices {
      try files.replaceContents(of: "/store/store", with: Array(good[..<count]))
      #expect(storageFailure { _ = try store.open() } != nil, "\(count) bytes")
    }
  }

  @Test("a store of a later version is refused, and later lines are kept")
  func laterVersion() throws {
    let (store, files) = try TestStore.inMemory()
    let identity = try StoreIdentity.read(StoreDirectory(fileSystem: files, path: "/store"))
    var later = identity
    later.laterLines = ["colour blue", "x"]
    try files.replaceContents(of: "/store/store", with: later.encoded())
    files.machineID = Array("another".utf8)
    try store.open().write(1)
    let kept = try StoreIdentity.read(StoreDirectory(fileSystem: files, path: "/store"))
    #expect(kept.laterLines == later.laterLines && kept.replica != identity.replica)

    let text = String(decoding: identity.encoded(), as: UTF8.self)
    var lines = text.split(separator: "\n").dropLast().map(String.init)
    lines[0] = "heartlog 2"
    var newer = lines.joined(separator: "\n") + "\n"
    let checksum = Array(newer.utf8).withUnsafeBytes { XXH3.hash($0, seed: 0) }
    newer += "checksum \(HybridTimestamp(rawValue: checksum))\n"
    try files.replaceContents(of: "/store/store", with: Array(newer.utf8))
    #expect(storageFailure { _ = try store.open() }?.code == .newerFormat)
  }
}
