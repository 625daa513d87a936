import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Synchronization

/// A file system whose user dies after so many changes: none of the later ones happens. Locks are not taken over by
/// a copy of what is below.
final class KillableFiles: LayeredFileSystem {
  let files: MemoryFileSystem
  var below: any FileSystem { files }
  private let changes: Atomic<Int>
  private let limit: Int
  /// Whether death comes right after the last change, before the lock's page is told of it; else right before the next.
  private let diesAtOnce: Bool
  /// Called before each change with how many came before it: what somebody else does in between.
  private let meanwhile: @Sendable (Int) -> Void

  init(
    _ files: MemoryFileSystem, changesMax: Int = .max, diesAtOnce: Bool = false,
    meanwhile: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    self.files = files
    changes = Atomic(0)
    limit = changesMax
    self.diesAtOnce = diesAtOnce
    self.meanwhile = meanwhile
  }

  var changeCount: Int { changes.load(ordering: .relaxed) }

  fileprivate func change(_ path: String) throws(HeartlogError) {
    let count = changes.wrappingAdd(1, ordering: .relaxed).oldValue
    if count < limit { meanwhile(count) }
    if count >= limit { throw HeartlogError(operation: "be alive for", path: path, code: 5) }
  }

  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    if mode == .createNew { try change(path) }
    return KillableFile(try files.open(path, mode), self, path)
  }

  func rename(_ path: String, to newPath: String) throws(HeartlogError) {
    try change(path)
    try files.rename(path, to: newPath)
  }

  func remove(_ path: String) throws(HeartlogError) {
    try change(path)
    try files.remove(path)
  }

  func createDirectory(_ path: String) throws(HeartlogError) {
    try change(path)
    try files.createDirectory(path)
  }

  func synchronizeDirectory(_ path: String) throws(HeartlogError) {
    try change(path)
    try files.synchronizeDirectory(path)
  }

  func openLock(_ path: String) throws(HeartlogError) -> any LockFile {
    KillableLock(try files.openLock(path), self)
  }

  fileprivate var isDead: Bool { diesAtOnce ? changeCount >= limit : changeCount > limit }
}

private final class KillableFile: LayeredFile {
  let below: any OpenFile
  let files: KillableFiles
  let path: String

  init(_ file: any OpenFile, _ files: KillableFiles, _ path: String) {
    below = file
    self.files = files
    self.path = path
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(HeartlogError) {
    try files.change(path)
    try below.write(bytes, at: offset)
  }

  func synchronizeData() throws(HeartlogError) {
    try files.change(path)
    try below.synchronizeData()
  }

  func synchronize() throws(HeartlogError) {
    try files.change(path)
    try below.synchronize()
  }

  func truncate(to size: UInt64) throws(HeartlogError) {
    try files.change(path)
    try below.truncate(to: size)
  }
}

/// The dead do not write to the page either.
private final class KillableLock: LayeredLockFile {
  let below: any LockFile
  let files: KillableFiles

  init(_ lock: any LockFile, _ files: KillableFiles) {
    below = lock
    self.files = files
  }

  func store(_ value: UInt64, _ word: Int) {
    if !files.isDead { below.store(value, word) }
  }
}
