import HeartlogFormat
import Testing
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
      root = "\(parent)/heartlog-files-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
      isOnDisk = true
    }
    try files.createDirectory(root)
  }

  deinit {
    if isOnDisk { Self.removeTree(root, files) }
  }

  func path(_ name: String) -> String { "\(root)/\(name)" }

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

extension FileSystem {
  /// Makes a file that holds `bytes`.
  @discardableResult
  func make(_ path: String, _ bytes: [UInt8] = []) throws -> any OpenFile {
    let file = try open(path, .createNew)
    try file.put(bytes, at: 0)
    return file
  }

  func bytes(_ path: String) throws -> [UInt8] {
    let file = try open(path, .read)
    return try file.bytes(at: 0, count: Int(try file.size()))
  }
}

extension OpenFile {
  func put(_ bytes: [UInt8], at offset: UInt64) throws {
    var failure: HeartlogError?
    bytes.withUnsafeBytes { buffer in
      do throws(HeartlogError) {
        try write(buffer, at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
    var failure: HeartlogError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      do throws(HeartlogError) {
        done = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}

/// The errno that `body` fails with, nil where it does not fail.
func failure(_ body: () throws -> Void) -> Int32? {
  do {
    try body()
    return nil
  } catch {
    return (error as? HeartlogError)?.systemCode ?? -1
  }
}

/// Expects that `body` fails as a system call does.
func expectFailure(
  _ operation: String, _ path: String, _ code: Int32, _ location: SourceLocation = #_sourceLocation,
  _ body: () throws -> Void
) {
  let expected = HeartlogError(operation: operation, path: path, code: code)
  let found = #expect(throws: HeartlogError.self, sourceLocation: location, performing: body)
  #expect(
    found?.systemCode == code && found?.description == expected.description && found?.file == path,
    sourceLocation: location)
}
