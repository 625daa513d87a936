import Glibc
import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles

/// The file system as one process sees it: each call may be where the process is killed or interrupted.
final class ProcessFileSystem: LayeredFileSystem {
  private let disk: MemoryFileSystem
  var below: any FileSystem { disk }
  private let process: SimulatedProcess
  private let isAlive: @Sendable (Int32) -> Bool

  init(_ disk: MemoryFileSystem, _ process: SimulatedProcess, isAlive: @escaping @Sendable (Int32) -> Bool) {
    self.disk = disk
    self.process = process
    self.isAlive = isAlive
  }

  private func call(_ operation: String, _ path: String) throws(HeartlogError) {
    if process.reachesCall() { throw HeartlogError(operation: operation, path: path, code: EIO) }
  }

  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    try call("open", path)
    return ProcessFile(try disk.open(path, mode), process, path: path)
  }

  func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    try call("rename", path)
    try disk.rename(path, to: newPath)
    if let isLast = process.diesBehindRename, isLast(newPath) { process.die() }
  }

  func remove(_ path: String) throws(HeartlogError) {
    try call("remove", path)
    try disk.remove(path)
  }

  func createDirectory(_ path: String) throws(HeartlogError) {
    try call("create", path)
    try disk.createDirectory(path)
  }

  func synchronizeDirectory(_ path: String) throws(HeartlogError) {
    try call("synchronize", path)
    try disk.synchronizeDirectory(path)
  }

  func entries(of directory: String) throws(HeartlogError) -> [String] {
    try call("list", directory)
    return try disk.entries(of: directory)
  }

  func info(_ path: String) throws(HeartlogError) -> FileInfo? {
    try call("inspect", path)
    return try disk.info(path)
  }

  func openLock(_ path: String) throws(HeartlogError) -> any LockFile {
    try call("open", path)
    let lock = ProcessLockFile(try disk.openLock(path), process, path: path)
    process.note(lock)
    return lock
  }

  var processID: Int32 { process.id }
  func isRunning(_ process: Int32) -> Bool { isAlive(process) }
}

private final class ProcessFile: LayeredFile {
  let below: any OpenFile
  private let process: SimulatedProcess
  private let path: String

  init(_ file: any OpenFile, _ process: SimulatedProcess, path: String) {
    below = file
    self.process = process
    self.path = path
  }

  private func call(_ operation: String) throws(HeartlogError) {
    if process.reachesCall() { throw HeartlogError(operation: operation, path: path, code: EIO) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError) -> Int {
    try call("read")
    return try below.read(into: buffer, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError) {
    let wasDead = process.isDead
    do throws(HeartlogError) { try call("write") } catch {
      // A process that is killed in a write may have written a first part.
      if !wasDead {
        try? below.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(bytes.count / 2)), at: offset)
      }
      throw error
    }
    try below.write(bytes, at: offset)
  }

  func synchronizeData() throws(HeartlogError) {
    try call("synchronize")
    try below.synchronizeData()
  }

  func synchronize() throws(HeartlogError) {
    try call("synchronize")
    try below.synchronize()
  }

  func truncate(to size: UInt64) throws(HeartlogError) {
    try call("truncate")
    try below.truncate(to: size)
  }

  func size() throws(HeartlogError) -> UInt64 {
    try call("inspect")
    return try below.size()
  }
}

/// A lock of one process, which is free when the process dies.
final class ProcessLockFile: LockFile, @unchecked Sendable {
  private var lock: (any LockFile)?
  private(set) var isHeld = false
  private let process: SimulatedProcess
  private let path: String

  init(_ lock: any LockFile, _ process: SimulatedProcess, path: String) {
    self.lock = lock
    self.process = process
    self.path = path
  }

  func vanish() {
    lock = nil
    isHeld = false
  }

  func tryLock() throws(HeartlogError) -> Bool {
    guard !process.reachesCall(), let lock else {
      throw HeartlogError(operation: "lock", path: path, code: EIO)
    }
    isHeld = try lock.tryLock()
    return isHeld
  }

  func unlock() {
    lock?.unlock()
    isHeld = false
  }

  func load(_ word: Int) -> UInt64 { lock?.load(word) ?? 0 }
  func store(_ value: UInt64, _ word: Int) {
    // A process that dies here leaves a page of which it changed only a part.
    if !process.reachesCall() { lock?.store(value, word) }
  }
}
