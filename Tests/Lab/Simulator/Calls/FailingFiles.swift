import HeartlogFormat
import HeartlogCrashModel
import HeartlogFiles
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Which file operations of a process fail, and how.
package struct CallFailure: Sendable {
  /// The first operation that fails; the first of all has number 1.
  var first: Int
  /// The `errno` that it fails with.
  var code: Int32
  /// Whether all later operations fail, too.
  var lasts: Bool

  /// Whether the error says what this process may not do.
  var isPermission: Bool { HeartlogError(operation: "", path: "", code: code).code == .readOnly }
}

/// A file system whose n-th operation fails, on a disk that is sound. Counts what is open.
///
/// Calls that were interrupted by a signal are repeated below this seam, and so are reads and writes that the system ended early.
///
/// Unchecked: guarded by `state`.
final class FailingFileSystem: LayeredFileSystem, @unchecked Sendable {
  private struct State {
    var failure: CallFailure?
    var calls = 0
    var openHandles = 0
    var firstFailed: String?
  }

  private let disk: MemoryFileSystem
  var below: any FileSystem { disk }
  private let state = Mutex(State())

  init(_ disk: MemoryFileSystem) { self.disk = disk }

  /// Counts the operations from here on, and lets them fail as described; nil for none.
  func arm(_ failure: CallFailure?) {
    state.withLock {
      $0.failure = failure
      $0.calls = 0
    }
  }

  /// Lets no further operation fail.
  ///
  /// - Returns: How many operations were made since `arm`.
  func heal() -> Int {
    state.withLock {
      $0.failure = nil
      return $0.calls
    }
  }

  /// The number of files and locks that stay open. A helper thread that nobody waits for may still have to close one.
  func leakedHandles() -> Int {
    for _ in 0..<100_000 where state.withLock({ $0.openHandles }) > 0 { sched_yield() }
    return state.withLock { $0.openHandles }
  }

  fileprivate func didOpen() { state.withLock { $0.openHandles += 1 } }
  fileprivate func didClose() { state.withLock { $0.openHandles -= 1 } }

  /// The first operation that failed, in words.
  var firstFailed: String? { state.withLock { $0.firstFailed } }

  /// Counts an operation.
  ///
  /// - Returns: The `errno` that it must fail with.
  private func nextFailure(_ operation: String, _ path: String) -> Int32? {
    state.withLock {
      $0.calls += 1
      guard let failure = $0.failure, $0.calls == failure.first || (failure.lasts && $0.calls > failure.first)
      else { return nil }
      $0.firstFailed = $0.firstFailed ?? "\(operation) \(path)"
      return failure.code
    }
  }

  /// Counts an operation that has no effect if it fails.
  fileprivate func call<R>(
    _ operation: String, _ path: String, _ body: () throws(HeartlogError) -> R
  ) throws(HeartlogError) -> R {
    if let code = nextFailure(operation, path) {
      throw HeartlogError(operation: operation, path: path, code: code)
    }
    return try body()
  }

  /// Counts a write. One that fails has written its first half.
  fileprivate func write(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, to file: any OpenFile, _ path: String
  ) throws(HeartlogError) {
    guard let code = nextFailure("write", path) else { return try file.write(bytes, at: offset) }
    try file.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(bytes.count / 2)), at: offset)
    throw HeartlogError(operation: "write", path: path, code: code)
  }

  /// Counts a sync. After one that fails, the disk may have anything of what was written.
  fileprivate func synchronize(
    _ kind: FaultKind, _ path: String, _ body: () throws(HeartlogError) -> Void
  ) throws(HeartlogError) {
    if let code = nextFailure("synchronize", path) { disk.failNext(kind, code: code) }
    defer { disk.clearFaults() }
    try body()
  }

  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    try call(mode == .createNew ? "create" : "open", path) { () throws(HeartlogError) in
      FailingFile(try disk.open(path, mode), self, path)
    }
  }

  func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    try call("rename", path) { () throws(HeartlogError) in try disk.rename(path, to: newPath) }
  }

  func remove(_ path: String) throws(HeartlogError) {
    try call("remove", path) { () throws(HeartlogError) in try disk.remove(path) }
  }

  func createDirectory(_ path: String) throws(HeartlogError) {
    try call("create", path) { () throws(HeartlogError) in try disk.createDirectory(path) }
  }

  func synchronizeDirectory(_ path: String) throws(HeartlogError) {
    try call("synchronize", path) { () throws(HeartlogError) in try disk.synchronizeDirectory(path) }
  }

  func entries(of directory: String) throws(HeartlogError) -> [String] {
    try call("list", directory) { () throws(HeartlogError) in try disk.entries(of: directory) }
  }

  func info(_ path: String) throws(HeartlogError) -> FileInfo? {
    try call("inspect", path) { () throws(HeartlogError) in try disk.info(path) }
  }

  func restrict(_ path: String, of owner: UInt32, followingLink: Bool) throws(HeartlogError) -> Bool {
    try call("restrict", path) { () throws(HeartlogError) in
      try disk.restrict(path, of: owner, followingLink: followingLink)
    }
  }

  func openLock(_ path: String) throws(HeartlogError) -> any LockFile {
    try call("open", path) { () throws(HeartlogError) in FailingLockFile(try disk.openLock(path), self, path)
    }
  }

  func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool {
    try call("inspect", path) { () throws(HeartlogError) in try disk.isOnNetwork(path) }
  }
}

private final class FailingFile: OpenFile {
  private let file: any OpenFile
  private let files: FailingFileSystem
  private let path: String

  init(_ file: any OpenFile, _ files: FailingFileSystem, _ path: String) {
    self.file = file
    self.files = files
    self.path = path
    files.didOpen()
  }

  deinit { files.didClose() }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError) -> Int {
    try files.call("read", path) { () throws(HeartlogError) in try file.read(into: buffer, at: offset) }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError) {
    try files.write(bytes, at: offset, to: file, path)
  }

  func synchronizeData() throws(HeartlogError) {
    try files.synchronize(.synchronizeData, path) { () throws(HeartlogError) in try file.synchronizeData() }
  }

  func synchronize() throws(HeartlogError) {
    try files.synchronize(.synchronize, path) { () throws(HeartlogError) in try file.synchronize() }
  }

  func truncate(to size: UInt64) throws(HeartlogError) {
    try files.call("truncate", path) { () throws(HeartlogError) in try file.truncate(to: size) }
  }

  func size() throws(HeartlogError) -> UInt64 {
    try files.call("inspect", path) { () throws(HeartlogError) in try file.size() }
  }

  func inode() throws(HeartlogError) -> UInt64 {
    try files.call("inspect", path) { () throws(HeartlogError) in try file.inode() }
  }
}

private final class FailingLockFile: LayeredLockFile {
  let below: any LockFile
  private let files: FailingFileSystem
  private let path: String

  init(_ lock: any LockFile, _ files: FailingFileSystem, _ path: String) {
    below = lock
    self.files = files
    self.path = path
    files.didOpen()
  }

  deinit { files.didClose() }

  func tryLock() throws(HeartlogError) -> Bool {
    try files.call("lock", path) { () throws(HeartlogError) in try below.tryLock() }
  }
}
