import HeartlogFormat
import HeartlogCrashModel
import Foundation
import HeartlogFiles

/// A file system in memory whose fdatasyncs a test counts, holds, and lets fail.
final class GatedFiles: LayeredFileSystem {
  private let files = MemoryFileSystem()
  var below: any FileSystem { files }
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
}

private final class GatedFile: LayeredFile {
  let below: any OpenFile
  let files: GatedFiles

  init(_ file: any OpenFile, _ files: GatedFiles) {
    below = file
    self.files = files
  }

  func synchronizeData() throws(HeartlogError) {
    files.pass()
    try below.synchronizeData()
  }
}
