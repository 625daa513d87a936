import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles

/// A file system in memory of which a test decides single answers, and in whose calls it does something else.
final class InterceptedFiles: LayeredFileSystem {
  struct Hooks: Sendable {
    /// Changes what is said of a file.
    var describe: @Sendable (inout FileInfo) -> Void = { _ in }
    /// Called before a file is opened, with its path.
    var beforeOpen: @Sendable (String) -> Void = { _ in }
    /// Called after the lock was let go.
    var afterUnlock: @Sendable () -> Void = {}
    /// Called where the process is asked for.
    var beforeProcessID: @Sendable () -> Void = {}
    /// Called before data is made durable.
    var beforeSync: @Sendable () throws(HeartlogError) -> Void = {}
    /// Called after each word that is stored in the lock's page.
    var afterStore: @Sendable () -> Void = {}
    /// Whether permissions can be changed.
    var canRestrict = true
    var userID: UInt32 = 0
  }

  private let files: MemoryFileSystem
  var below: any FileSystem { files }
  private let hooks: Monitor<Hooks>
  private let paths = Monitor<[String]>([])

  init(_ files: MemoryFileSystem, _ hooks: Hooks = Hooks()) {
    self.files = files
    self.hooks = Monitor(hooks)
  }

  /// The paths that were closed to others, in order.
  var restrictedPaths: [String] { paths.withLock { $0 } }

  /// Changes what happens from now on.
  func change(_ body: (inout Hooks) -> Void) { hooks.withLock { body(&$0) } }

  /// Does something once from now on: at the call with this number, from one on, before a file is opened or after the
  /// lock was let go.
  ///
  /// - Returns: How many such calls there were.
  func doAtCall(_ place: Int, _ body: @escaping @Sendable () -> Void) -> Monitor<Int> {
    let count = Monitor(0)
    change {
      let act: @Sendable () -> Void = {
        let isTime = count.withLock { count in
          count += 1
          return count == place
        }
        if isTime { body() }
      }
      $0.beforeOpen = { _ in act() }
      $0.afterUnlock = act
    }
    return count
  }

  fileprivate func beforeSync() throws(HeartlogError) { try hooks.withLock(\.beforeSync)() }
  fileprivate func afterUnlock() { hooks.withLock(\.afterUnlock)() }
  fileprivate func afterStore() { hooks.withLock(\.afterStore)() }

  func info(_ path: String) throws(HeartlogError) -> FileInfo? {
    guard var info = try files.info(path) else { return nil }
    hooks.withLock(\.describe)(&info)
    if restrictedPaths.contains(path) { info.permissions &= 0o700 }
    return info
  }

  func restrict(_ path: String, of owner: UInt32, followingLink: Bool) throws(HeartlogError) -> Bool {
    guard hooks.withLock(\.canRestrict) else { return false }
    paths.withLock { $0.append(path) }
    return true
  }

  func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile {
    hooks.withLock(\.beforeOpen)(path)
    return InterceptedFile(try files.open(path, mode), self)
  }

  func openLock(_ path: String) throws(HeartlogError) -> any LockFile {
    InterceptedLock(try files.openLock(path), self)
  }

  var processID: Int32 {
    hooks.withLock(\.beforeProcessID)()
    return files.processID
  }
  var userID: UInt32 { hooks.withLock(\.userID) }
}

private final class InterceptedFile: LayeredFile {
  let below: any OpenFile
  private let files: InterceptedFiles

  init(_ file: any OpenFile, _ files: InterceptedFiles) {
    below = file
    self.files = files
  }

  func synchronizeData() throws(HeartlogError) {
    try files.beforeSync()
    try below.synchronizeData()
  }
}

private final class InterceptedLock: LayeredLockFile {
  let below: any LockFile
  private let files: InterceptedFiles

  init(_ file: any LockFile, _ files: InterceptedFiles) {
    below = file
    self.files = files
  }

  func store(_ value: UInt64, _ word: Int) {
    below.store(value, word)
    files.afterStore()
  }

  func unlock() {
    below.unlock()
    files.afterUnlock()
  }
}
