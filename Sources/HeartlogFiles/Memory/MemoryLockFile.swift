#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

final class MemoryLockFile: LockFile {
  struct Opened: Sendable {
    /// Nil if there is no file.
    var inode: UInt64?
    /// The number of this open. Locks belong to opens.
    var number: UInt64
    /// The `errno` that prevents writing.
    var refusal: Int32?
  }

  private let fileSystem: MemoryFileSystem
  private let opened: Opened
  private let path: String

  init(_ fileSystem: MemoryFileSystem, _ opened: Opened, path: String) {
    self.fileSystem = fileSystem
    self.opened = opened
    self.path = path
  }

  deinit {
    guard let inode = opened.inode else { return }
    fileSystem.state.withLock {
      $0.unlock(inode, opened.number)
      $0.close(inode)
    }
  }

  func tryLock() throws(FileError) -> Bool {
    let call = SystemCall("lock", path)
    if let refusal = opened.refusal { throw call.error(refusal) }
    guard let inode = opened.inode else { return false }
    return try fileSystem.state.withLock { (state) throws(FileError) in
      try state.tryLock(inode, opened.number, call)
    }
  }

  func unlock() {
    guard let inode = opened.inode else { return }
    fileSystem.state.withLock { $0.unlock(inode, opened.number) }
  }

  var isWritable: Bool { opened.refusal == nil && opened.inode != nil }

  func increment(_ word: Int) {
    precondition(word >= 0 && word < lockPageWords && opened.refusal == nil)
    guard let inode = opened.inode else { return }
    fileSystem.state.withLock { $0.storeWord($0.loadWord(word, inode) &+ 1, word, inode) }
  }

  func announce() {
    guard let inode = opened.inode else { return }
    let watches = fileSystem.state.withLock { $0.watches[inode] ?? [:] }
    for changed in watches.values { changed() }
  }

  func watch(_ changed: @escaping @Sendable () -> Void) throws(FileError) -> any LockFileWatch {
    let call = SystemCall("watch", path)
    guard let inode = opened.inode else { throw call.error(ENOENT) }
    let watch = Watch(fileSystem, inode)
    try fileSystem.state.withLock { (state) throws(FileError) in
      try state.strike(.watch, [state.shown(inode)], call)
      state.watches[inode, default: [:]][ObjectIdentifier(watch)] = changed
    }
    return watch
  }

  private final class Watch: LockFileWatch {
    let fileSystem: MemoryFileSystem
    let inode: UInt64

    init(_ fileSystem: MemoryFileSystem, _ inode: UInt64) {
      self.fileSystem = fileSystem
      self.inode = inode
    }

    deinit {
      fileSystem.state.withLock {
        $0.watches[inode]?[ObjectIdentifier(self)] = nil
        if $0.watches[inode]?.isEmpty == true { $0.watches[inode] = nil }
      }
    }
  }

  func load(_ word: Int) -> UInt64 {
    precondition(word >= 0 && word < lockPageWords)
    guard let inode = opened.inode else { return 0 }
    return fileSystem.state.withLock { $0.loadWord(word, inode) }
  }

  func store(_ value: UInt64, _ word: Int) {
    precondition(word >= 0 && word < lockPageWords && opened.refusal == nil)
    guard let inode = opened.inode else { return }
    fileSystem.state.withLock { $0.storeWord(value, word, inode) }
  }
}
