import HeartlogCrashModel
import HeartlogFormat
import Testing

@testable import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What the file system above never sees: the other failures are tried through its protocol.
@Suite("System calls")
struct SystemCallTests {
  @Test("a call that a signal interrupts is made again, as often as that happens", arguments: [0, 1, 2, 100])
  func interrupted(times: Int) throws {
    var calls = 0
    let result: Int32 = try SystemCall("read", "/x").run {
      calls += 1
      guard calls <= times else { return 7 }
      errno = EINTR
      return -1
    }
    #expect(result == 7 && calls == times + 1)
  }

  @Test("any other error is thrown at once, with what failed and where")
  func failed() {
    for code in [EIO, ENOSPC, EMFILE, EROFS, EACCES, EAGAIN] {
      var calls = 0
      expectFailure("write", "/x", code) {
        _ = try SystemCall("write", "/x").run { () -> Int32 in
          calls += 1
          errno = code
          return -1
        }
      }
      #expect(calls == 1)
    }
  }

  @Test("reads and writes of which the system does a part go on", arguments: [1, 2, 999, 1_000, 1_001])
  func parts(bytesPerCall: Int) throws {
    let place = try TestPlace(.posix)
    let path = place.path("file")
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    try #require(descriptor >= 0)
    let file = POSIXOpenFile(descriptor: descriptor, path: path, bytesPerCallMax: bytesPerCall)
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    try file.write(bytes, at: 5)
    #expect(try file.bytes(2_000, at: 0) == [0, 0, 0, 0, 0] + bytes)
    #expect(try place.files.open(path, .read).bytes(2_000, at: 0) == [0, 0, 0, 0, 0] + bytes)
  }

  @Test("a directory with more names than are read is refused")
  func names() throws {
    let place = try TestPlace(.posix)
    for name in ["a", "b", "c"] { try place.files.make(place.path(name)) }
    #expect(try POSIXFileSystem(readers: .owner, namesMax: 3).entries(of: place.root) == ["a", "b", "c"])
    expectFailure("list", place.root, HeartlogError.tooManyNames) {
      _ = try POSIXFileSystem(readers: .owner, namesMax: 2).entries(of: place.root)
    }
  }

  /// The kernel makes such files as they are read, and returns a part each time.
  @Test(
    "a file that the kernel returns in parts is read to its end",
    .enabled(if: access(SystemCallTests.kernelPath, R_OK) == 0))
  func kernelFile() throws {
    let descriptor = open(Self.kernelPath, O_RDONLY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var portion = [UInt8](repeating: 0, count: 1 << 24)
    var expected: [UInt8] = []
    while true {
      let count = pread(descriptor, &portion, portion.count, off_t(expected.count))
      try #require(count >= 0 && count < portion.count)
      if count == 0 { break }
      expected += portion[..<count]
    }
    #expect(try POSIXFileSystem().open(Self.kernelPath, .read).bytes(1 << 24, at: 0) == expected)
  }

  private static let kernelPath = "/proc/kallsyms"
}
