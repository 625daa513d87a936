import HeartlogCrashModel
import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

enum FileSystemKind: CaseIterable {
  case posix
  case memory
}

/// A directory of its own on a file system, which is gone with the last reference.
final class TestPlace {
  let files: any FileSystem
  let root: String
  private let isOnDisk: Bool

  init(_ kind: FileSystemKind) throws {
    switch kind {
    case .memory:
      files = MemoryFileSystem(recording: true)
      root = "/place"
      isOnDisk = false
    case .posix:
      files = POSIXFileSystem()
      let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
      root = "\(parent)/heartlog-storage-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
      isOnDisk = true
    }
    try files.createDirectory(root)
  }

  deinit {
    if isOnDisk { Self.removeTree(root, files) }
  }

  func path(_ name: String) -> String { "\(root)/\(name)" }

  /// A new store in it.
  func store(seed: UInt64 = 1) throws -> TestStore {
    let store = TestStore(files: files, path: path("store"))
    try store.create(seed: seed)
    return store
  }

  private static func removeTree(_ path: String, _ files: any FileSystem) {
    for name in (try? files.entries(of: path)) ?? [] {
      let child = "\(path)/\(name)"
      if (try? files.info(child))?.kind == .directory {
        removeTree(child, files)
      } else {
        try? files.remove(child)
      }
    }
    rmdir(path)
  }
}
