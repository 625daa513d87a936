import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("Both file systems")
struct FileSystemTests {
  @Test("the folders above a path are made as far as they are missing", arguments: FileSystemKind.allCases)
  func parents(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    try place.files.createParents(of: place.path("a"))
    #expect(try place.files.entries(of: place.root) == [])
    for path in ["a/b/c", "a/b/d/", "a/e/f//"] { try place.files.createParents(of: place.path(path)) }
    #expect(try place.files.entries(of: place.root) == ["a"])
    #expect(try place.files.entries(of: place.path("a")) == ["b", "e"])
    #expect(try place.files.entries(of: place.path("a/b")) == [])
    try place.files.make(place.path("file"))
    let error = #expect(throws: HeartlogError.self) {
      try place.files.createParents(of: place.path("file/a/b"))
    }
    #expect(error?.isNotDirectory == true)
  }

  @Test("slashes at the end of a path are not part of it, except of the root")
  func slashes() {
    for (path, expected) in [("/a/b//", "/a/b"), ("a/", "a"), ("a", "a"), ("/", "/"), ("//", "/"), ("", "")] {
      #expect(PathParts.withoutSlashes(path) == expected)
    }
  }

  @Test("the folder of a path is what comes before its last name")
  func parentPaths() {
    for (path, expected) in [
      ("/a/b", "/a"), ("/a/b//", "/a"), ("/a", "/"), ("a", "."), ("a/b", "a"), ("/", "/"), ("", "."),
    ] {
      #expect(PathParts.parent(of: path) == expected)
    }
  }

  @Test("what is written is read, gaps are zeros, reads stop at the end", arguments: FileSystemKind.allCases)
  func contents(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let file = try place.files.make(place.path("a"), [1, 2, 3])
    try file.put([9, 9], at: 5)
    #expect(try file.size() == 7)
    #expect(try file.bytes(at: 0, count: 100) == [1, 2, 3, 0, 0, 9, 9])
    #expect(try file.bytes(at: 6, count: 1) == [9])
    #expect(try file.bytes(at: 7, count: 1) == [])
    #expect(try file.bytes(at: 1 << 40, count: 1) == [])
    try file.put([7], at: 1)
    try file.synchronizeData()
    try file.synchronize()
    #expect(try place.files.bytes(place.path("a")) == [1, 7, 3, 0, 0, 9, 9])
  }

  @Test("a mapping has all bytes, and keeps them when the name goes", arguments: FileSystemKind.allCases)
  func mapping(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try place.files.make(place.path("a"), bytes)
    let mapping = try place.files.open(place.path("a"), .read).map()
    #expect(Array(mapping.bytes) == bytes)
    #expect(mapping.bytes.baseAddress.map { Int(bitPattern: $0) % 4_096 } == 0)
    try place.files.make(place.path("b"), [1])
    try place.files.rename(place.path("b"), to: place.path("a"))
    #expect(Array(mapping.bytes) == bytes)
    try place.files.remove(place.path("a"))
    #expect(Array(mapping.bytes) == bytes)
  }

  @Test("an empty file has an empty mapping", arguments: FileSystemKind.allCases)
  func emptyMapping(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    try place.files.make(place.path("a"))
    #expect(try place.files.open(place.path("a"), .read).map().bytes.isEmpty)
  }

  @Test("truncation cuts, and grows by zeros", arguments: FileSystemKind.allCases)
  func truncation(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let file = try place.files.make(place.path("a"), [1, 2, 3])
    try file.truncate(to: 1)
    try file.truncate(to: 3)
    #expect(try file.bytes(at: 0, count: 9) == [1, 0, 0])
  }

  @Test("offsets that no file can have are refused", arguments: FileSystemKind.allCases)
  func offsets(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let file = try place.files.make(place.path("a"))
    #expect(failure { try file.put([1], at: .max) } == EFBIG)
    #expect(failure { _ = try file.bytes(at: .max, count: 1) } == EFBIG)
    #expect(failure { try file.truncate(to: .max) } == EFBIG)
    #expect(try file.size() == 0)
  }

  @Test("a new file must be new, an old one must exist", arguments: FileSystemKind.allCases)
  func modes(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let path = place.path("a")
    #expect(failure { _ = try place.files.open(path, .read) } == ENOENT)
    #expect(failure { _ = try place.files.open(path, .readWrite) } == ENOENT)
    try place.files.make(path, [1])
    #expect(failure { _ = try place.files.open(path, .createNew) } == EEXIST)
    #expect(failure { try place.files.open(path, .read).put([1], at: 0) } == EBADF)
    #expect(failure { try place.files.open(path, .read).truncate(to: 0) } == EINVAL)
    try place.files.open(path, .readWrite).put([2], at: 0)
    #expect(try place.files.bytes(path) == [2])
  }

  @Test("paths through what is no directory, or is one, are refused", arguments: FileSystemKind.allCases)
  func wrongKinds(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let files = place.files
    try files.make(place.path("file"))
    try files.createDirectory(place.path("folder"))
    #expect(failure { _ = try files.open(place.path("folder"), .read) } == EISDIR)
    #expect(failure { _ = try files.open(place.path("folder"), .readWrite) } == EISDIR)
    #expect(failure { _ = try files.open(place.path("file/x"), .read) } == ENOTDIR)
    #expect(failure { _ = try files.entries(of: place.path("file")) } == ENOTDIR)
    #expect(failure { try files.synchronizeDirectory(place.path("file")) } == ENOTDIR)
    #expect(failure { try files.createDirectory(place.path("folder")) } == EEXIST)
    #expect(failure { try files.createDirectory(place.path("none/x")) } == ENOENT)
    #expect(failure { try files.rename(place.path("file"), to: place.path("folder")) } == EISDIR)
    #expect(failure { try files.rename(place.path("folder"), to: place.path("file")) } == ENOTDIR)
    #expect(failure { try files.rename(place.path("folder"), to: place.path("folder/x")) } == EINVAL)
    #expect(failure { try files.rename(place.path("none"), to: place.path("x")) } == ENOENT)
    #expect(failure { try files.remove(place.path("none")) } == ENOENT)
    #expect(failure { try files.remove(place.path("folder")) } != nil)
    #expect(failure { _ = try files.open("", .read) } == ENOENT)
    #expect(failure { _ = try files.open(place.path("file\0x"), .read) } == EINVAL)
    #expect(failure { try files.rename(place.path("file"), to: place.path("y\0x")) } == EINVAL)
    let long = String(repeating: "x", count: 256)
    #expect(failure { _ = try files.open(place.path(long), .createNew) } == ENAMETOOLONG)
  }

  @Test("names come sorted by their bytes", arguments: FileSystemKind.allCases)
  func entries(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let names = ["10.open", "9.open", "B", "a", "ü", "z"]
    for name in names.reversed() { try place.files.make(place.path(name)) }
    try place.files.synchronizeDirectory(place.root)
    #expect(try place.files.entries(of: place.root) == ["10.open", "9.open", "B", "a", "z", "ü"])
    #expect(failure { _ = try place.files.entries(of: place.path("none")) } == ENOENT)
  }

  @Test("a rename replaces, and open files stay what they were", arguments: FileSystemKind.allCases)
  func renames(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let old = try place.files.make(place.path("name"), [1])
    let new = try place.files.make(place.path("temporary"), [2])
    try place.files.rename(place.path("temporary"), to: place.path("name"))
    #expect(try place.files.entries(of: place.root) == ["name"])
    #expect(try place.files.bytes(place.path("name")) == [2])
    try old.put([3], at: 1)
    #expect(try old.bytes(at: 0, count: 9) == [1, 3])
    #expect(try old.inode() != new.inode())
    #expect(try place.files.info(place.path("name"))?.inode == new.inode())
    try place.files.rename(place.path("name"), to: place.path("name"))
    #expect(try place.files.bytes(place.path("name")) == [2])
  }

  @Test("a removed file lives until it is closed", arguments: FileSystemKind.allCases)
  func removal(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let file = try place.files.make(place.path("a"), [1])
    try place.files.remove(place.path("a"))
    try file.put([2], at: 1)
    #expect(try file.bytes(at: 0, count: 9) == [1, 2])
    #expect(try place.files.info(place.path("a")) == nil)
    try place.files.make(place.path("a"), [5])
    #expect(try file.bytes(at: 0, count: 9) == [1, 2])
  }

  @Test("a directory moves with what is in it", arguments: FileSystemKind.allCases)
  func directories(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    try place.files.createDirectory(place.path("a"))
    try place.files.make(place.path("a/x"), [1])
    try place.files.createDirectory(place.path("b"))
    try place.files.rename(place.path("a"), to: place.path("b"))
    #expect(try place.files.bytes(place.path("b/x")) == [1])
    try place.files.createDirectory(place.path("c"))
    #expect(failure { try place.files.rename(place.path("c"), to: place.path("b")) } == ENOTEMPTY)
  }

  @Test("info tells kind, size and identity", arguments: FileSystemKind.allCases)
  func info(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let file = try place.files.make(place.path("a"), [1, 2, 3])
    let info = try #require(try place.files.info(place.path("a")))
    #expect(info.kind == .file)
    #expect(info.size == 3)
    #expect(try info.inode == file.inode())
    let folder = try #require(try place.files.info(place.root))
    #expect(folder.kind == .directory)
    #expect(folder.inode != info.inode)
    #expect(folder.birthTimeNanoseconds <= info.birthTimeNanoseconds)
    #expect(try place.files.info(place.path("none")) == nil)
    #expect(try place.files.info(place.path("none/a")) == nil)
    #expect(try place.files.isOnNetwork(place.root) == false)
    #expect(failure { _ = try place.files.isOnNetwork(place.path("none")) } == ENOENT)
  }

  @Test("the system's process and machine are told")
  func identity() {
    let files = POSIXFileSystem()
    #expect(files.processID == getpid())
    #expect(files.machineID == POSIXFileSystem().machineID)
    #expect(files.machineID.allSatisfy { $0 > 32 } || files.machineID.count == 16)
  }

  @Test("errors say what, where and why")
  func errors() {
    let full = HeartlogError(operation: "write", path: "/x/y", code: ENOSPC)
    #expect(full.description == "cannot write /x/y: No space left on device")
    #expect(full.code == .diskFull && !full.isNotFound && !full.alreadyExists)
    #expect(HeartlogError(operation: "write", path: "", code: EDQUOT).code == .diskFull)
    #expect(
      [EROFS, EACCES, EPERM].allSatisfy { HeartlogError(operation: "", path: "", code: $0).code == .readOnly }
    )
    #expect(HeartlogError(operation: "open", path: "", code: ENOENT).isNotFound)
    #expect(HeartlogError(operation: "create", path: "", code: EEXIST).alreadyExists)
  }
}
