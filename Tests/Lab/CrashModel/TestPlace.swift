import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

package enum FileSystemKind: CaseIterable {
  case posix
  case memory
}

/// A directory of its own on a file system, which is gone with the last reference.
package final class TestPlace {
  package let files: any FileSystem
  package let root: String
  private let isOnDisk: Bool

  package init(_ kind: FileSystemKind) throws {
    switch kind {
    case .memory:
      files = MemoryFileSystem(recording: true)
      root = "/place"
      isOnDisk = false
    case .posix:
      files = POSIXFileSystem()
      let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
      root = "\(parent)/heartlog-tests-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
      isOnDisk = true
    }
    try files.createDirectory(root)
  }

  deinit {
    if isOnDisk { Self.removeTree(root, files) }
  }

  package func path(_ name: String) -> String { "\(root)/\(name)" }

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
