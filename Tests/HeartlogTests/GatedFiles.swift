import HeartlogFormat
import HeartlogCrashModel
import Foundation
import HeartlogFiles

/// A file system in memory whose fdatasyncs a test counts, holds, and lets fail.
final class GatedFiles: FileSystem {
  private let files = MemoryFileSystem()
  private let gate = NSCondition()
  private let isShut = Monitor(false)
  private let counts = Monitor((begun: 0, held: 0))

  /// fdatasyncs that began.
  var synchronizations: Int { counts.withLock { $0.begun } }
  /// Threads that wait at the gate.
  var held: Int { counts.withLock { $0.held } }

  /// From now on every fdatasync waits until the gate opens.
  func shut() { isShut.withLock { $0 = true } }

  func open() {
    gate.lock()
    isShut.withLock { $0 = false }
    gate.broadcast()
    gate.unlock()
  }

  func failNext(_ kind: FaultKind, code: Int32) { files.failNext(kind, code: code) }

  fileprivate func pass() {
    gate.lock()
    counts.withLock { $0.begun += 1 }
    counts.withLock { $0.held += 1 }
    while isShut.withLock({ $0 }) { gate.wait() }
    counts.withLock { $0.held -= 1 }
    gate.unlock()
  }

  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    GatedFile(try files.open(path, mode), self)
  }

  func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    try files.rename(path, to: newPath)
  }
  func remove(_ path: String) throws(HeartlogError) { try files.remove(path) }
  func createDirectory(_ path: String) throws(HeartlogError) { try files.createDirectory(path) }
  func synchronizeDirectory(_ path: String) throws(HeartlogError) { try files.synchronizeDirectory(path) }
  func entries(of directory: String) throws(HeartlogError) -> [String] { try files.entries(of: directory) }
  func info(_ path: String) throws(HeartlogError) -> FileInfo? { try files.info(path) }
  func openLock(_ path: String) throws(HeartlogError) -> any LockFile { try files.openLock(path) }
  func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool { try files.isOnNetwork(path) }
  var machineID: [UInt8] { files.machineID }
  var processID: Int32 { files.processID }
}

private final class GatedFile: OpenFile {
  let file: any OpenFile
  let files: GatedFiles

  init(_ file: any OpenFile, _ files: GatedFiles) {
    self.file = file
    self.files = files
  }

  func synchronizeData() throws(HeartlogError) {
    files.pass()
    try file.synchronizeData()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(HeartlogError) -> Int {
    try file.read(into: buffer, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError) {
    try file.write(bytes, at: offset)
  }

  func synchronize() throws(HeartlogError) { try file.synchronize() }
  func truncate(to size: UInt64) throws(HeartlogError) { try file.truncate(to: size) }
  func size() throws(HeartlogError) -> UInt64 { try file.size() }
  func inode() throws(HeartlogError) -> UInt64 { try file.inode() }
}
