import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Synchronization

/// A file system in memory on which somebody else does something right after one of the calls that look for files.
final class InterruptedFiles: LayeredFileSystem {
  private let files: MemoryFileSystem
  var below: any FileSystem { files }
  private let callsLeft: Atomic<Int>
  private let meanwhile: @Sendable () -> Void

  /// - Parameter call: The number of the call, from 1 on.
  init(_ files: MemoryFileSystem, at call: Int, meanwhile: @escaping @Sendable () -> Void) {
    self.files = files
    callsLeft = Atomic(call)
    self.meanwhile = meanwhile
  }

  /// Whether the call was made.
  var wasInterrupted: Bool { callsLeft.load(ordering: .relaxed) <= 0 }

  private func after<R>(_ result: R) -> R {
    if callsLeft.wrappingSubtract(1, ordering: .relaxed).oldValue == 1 { meanwhile() }
    return result
  }

  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    after(try files.open(path, mode))
  }
  func entries(of directory: String) throws(HeartlogError) -> [String] {
    after(try files.entries(of: directory))
  }
  func info(_ path: String) throws(HeartlogError) -> FileInfo? { after(try files.info(path)) }
  func openLock(_ path: String) throws(HeartlogError) -> any LockFile { after(try files.openLock(path)) }
}
