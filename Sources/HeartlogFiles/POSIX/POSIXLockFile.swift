import CHeartlogPlatform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A lock file that uses `flock` and a shared mapping.
///
/// `flock` belongs to the open file description. Each lock has its own, so that two stores in one process exclude
/// each other like two processes. A mapping needs no descriptor, so one is open only between the first `tryLock`
/// and `rest`: a store that is not written holds none.
///
/// Unchecked: the pointer never changes, and the words are accessed only atomically.
final class POSIXLockFile: LockFile, @unchecked Sendable {
  private let path: String
  /// The file that the page belongs to, even if its name now refers to another one.
  private let identity: Identity?
  private struct Opened {
    /// Nil if the lock was neither held nor tried since the last `rest`.
    var descriptor: Int32?
    var isLocked = false
  }
  private let opened = Locked(Opened())
  /// `lockPageBytes` of shared mapping; nil if the file is missing or empty. The file is never truncated, which
  /// would make an access to the page a fault.
  private let page: UnsafeMutableRawPointer?
  /// The `errno` that prevents writing; 0 if the file is writable.
  private let refusal: Int32

  private struct Identity: Equatable {
    var device: dev_t
    var inode: ino_t

    init(_ status: stat) {
      device = status.st_dev
      inode = status.st_ino
    }

    #if canImport(Darwin)
      /// The same in every process that has the file open.
      var notification: String { "heartlog.changed.\(device).\(inode)" }
    #endif
  }

  private init(path: String, identity: Identity?, page: UnsafeMutableRawPointer?, refusal: Int32) {
    self.path = path
    self.identity = identity
    self.page = page
    self.refusal = refusal
  }

  deinit {
    if let page { munmap(page, lockPageBytes) }
    // Not unlocked: in a forked process that would release the parent's lock.
    opened.withLock { if let held = $0.descriptor { close(held) } }
  }

  static func open(_ path: String) throws(FileError) -> POSIXLockFile {
    let call = SystemCall("open", path)
    do throws(FileError) {
      let descriptor = try call.run { heartlog_open($0, O_RDWR | O_CREAT | O_NONBLOCK, 0o600) }
      return try map(descriptor, path, refusal: 0)
    } catch {
      guard error.isReadOnly else { throw error }
      do throws(FileError) {
        let descriptor = try call.run { heartlog_open($0, O_RDONLY | O_NONBLOCK, 0) }
        return try map(descriptor, path, refusal: error.code)
      } catch let second {
        guard second.isNotFound else { throw second }
        return POSIXLockFile(path: path, identity: nil, page: nil, refusal: error.code)
      }
    }
  }

  private static func map(
    _ descriptor: Int32, _ path: String, refusal: Int32
  ) throws(FileError) -> POSIXLockFile {
    let call = SystemCall("open", path)
    defer { close(descriptor) }
    if refusal == 0 { try fill(descriptor, path, call) }
    var page: UnsafeMutableRawPointer?
    let status = try status(of: descriptor, call)
    // Bytes after the end of a short file read as zeros in its last page. An empty file has no page.
    if status.st_size > 0 {
      let protection = refusal == 0 ? PROT_READ | PROT_WRITE : PROT_READ
      page = mmap(nil, lockPageBytes, protection, MAP_SHARED, descriptor, 0)
      if page == MAP_FAILED { throw call.error(errno) }
    }
    return POSIXLockFile(path: path, identity: Identity(status), page: page, refusal: refusal)
  }

  /// Writes the zeros that a new file lacks: with a mapped hole on a full disk, the first store would be a fault.
  /// The lock is held so that no words are overwritten; a process that holds it longer has filled the page before. Nobody waits for it
  /// here: a process may be stopped at this very place.
  private static func fill(_ descriptor: Int32, _ path: String, _ call: SystemCall) throws(FileError) {
    if try status(of: descriptor, call).st_size >= lockPageBytes { return }
    try POSIXFileSystem.giveToOwner(ofFolderOf: path, descriptor, call)
    try call.run { flock(descriptor, LOCK_EX | LOCK_NB) }
    defer { _ = flock(descriptor, LOCK_UN) }
    var size = Int(try status(of: descriptor, call).st_size)
    let zeros = [UInt8](repeating: 0, count: lockPageBytes)
    while size < lockPageBytes {
      let count = try call.run { pwrite(descriptor, zeros, lockPageBytes - size, off_t(size)) }
      if count == 0 { throw call.error(EIO) }
      size += count
    }
  }

  private static func status(of descriptor: Int32, _ call: SystemCall) throws(FileError) -> stat {
    var status = stat()
    try call.run { fstat(descriptor, &status) }
    return status
  }

  func tryLock() throws(FileError) -> Bool {
    let call = SystemCall("lock", path)
    if refusal != 0 { throw call.error(refusal) }
    return try opened.withLock { (opened) throws(FileError) in
      if opened.isLocked { return true }
      let descriptor: Int32
      if let kept = opened.descriptor {
        try checkName(call)
        descriptor = kept
      } else {
        descriptor = try open(call)
        opened.descriptor = descriptor
      }
      do throws(FileError) {
        try call.run { flock(descriptor, LOCK_EX | LOCK_NB) }
        opened.isLocked = true
        return true
      } catch {
        if error.code == EWOULDBLOCK { return false }
        throw error
      }
    }
  }

  /// The name must still refer to the file whose page is mapped: a lock on another file would exclude nobody.
  private func checkName(_ call: SystemCall) throws(FileError) {
    var status = stat()
    try call.run(withPath: { stat($0, &status) })
    guard Identity(status) == identity else { throw call.error(ESTALE) }
  }

  private func open(_ call: SystemCall) throws(FileError) -> Int32 {
    let descriptor = try call.run { heartlog_open($0, O_RDWR, 0) }
    do throws(FileError) {
      guard Identity(try Self.status(of: descriptor, call)) == identity else { throw call.error(ESTALE) }
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  func unlock() {
    opened.withLock { opened in
      guard opened.isLocked, let held = opened.descriptor else { return }
      // A process forked since then has the descriptor too, so closing it in this process would not release the
      // lock.
      _ = flock(held, LOCK_UN)
      opened.isLocked = false
    }
  }

  var isOpen: Bool { opened.withLock { $0.descriptor != nil } }

  func rest() {
    opened.withLock { opened in
      guard !opened.isLocked, let kept = opened.descriptor else { return }
      close(kept)
      opened.descriptor = nil
    }
  }

  var words: LockWords? {
    guard refusal == 0 else { return nil }
    return page.map { LockWords($0.assumingMemoryBound(to: UInt64.self)) }
  }

  var isWritable: Bool { refusal == 0 && page != nil }

  func increment(_ word: Int) {
    precondition(word >= 0 && word < lockPageWords && refusal == 0)
    guard let page else { return }
    heartlog_increment(page.assumingMemoryBound(to: UInt64.self) + word)
  }

  func announce() {
    #if canImport(Darwin)
      if let identity { DarwinNotification.post(identity.notification) }
    #else
      // Where it fails, watchers learn of the change from the next announcement, or from their next read.
      opened.withLock { if let held = $0.descriptor { _ = futimens(held, nil) } }
    #endif
  }

  func watch(_ changed: @escaping @Sendable () -> Void) throws(FileError) -> any LockFileWatch {
    #if canImport(Darwin)
      guard let identity else { throw SystemCall("watch", path).error(ENOENT) }
      return try DarwinNotification(identity.notification, path: path, changed)
    #else
      return try InotifyWatches.shared.watch(path, changed)
    #endif
  }

  func load(_ word: Int) -> UInt64 {
    precondition(word >= 0 && word < lockPageWords)
    guard let page else { return 0 }
    return heartlog_load_acquire(page.assumingMemoryBound(to: UInt64.self) + word)
  }

  func store(_ value: UInt64, _ word: Int) {
    precondition(word >= 0 && word < lockPageWords && refusal == 0)
    guard let page else { return }
    heartlog_store_release(page.assumingMemoryBound(to: UInt64.self) + word, value)
  }
}
