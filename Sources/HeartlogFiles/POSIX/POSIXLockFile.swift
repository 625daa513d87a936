import CHeartlogPlatform
import HeartlogFormat

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
  private let opened = Monitor(Opened())
  /// `lockPageBytes` of shared mapping; nil if the file is missing or empty. The file is never truncated, which
  /// would make an access to the page a fault.
  private let page: LockWords?
  /// The `errno` that prevents writing; nil if the file is writable.
  private let refusal: Int32?

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

  private init(path: String, identity: Identity?, page: LockWords?, refusal: Int32?) {
    self.path = path
    self.identity = identity
    self.page = page
    self.refusal = refusal
  }

  deinit {
    if let page { munmap(page.start, lockPageBytes) }
    // Not unlocked: in a forked process that would release the parent's lock.
    opened.withLock { if let held = $0.descriptor { close(held) } }
  }

  static func open(_ path: String) throws(HeartlogError) -> POSIXLockFile {
    let call = SystemCall("open", path)
    do throws(HeartlogError) {
      let descriptor = try call.run { heartlog_open($0, O_RDWR | O_CREAT | O_NONBLOCK, 0o600) }
      return try map(descriptor, path, refusal: nil)
    } catch {
      guard error.code == .readOnly else { throw error }
      do throws(HeartlogError) {
        let descriptor = try call.run { heartlog_open($0, O_RDONLY | O_NONBLOCK, 0) }
        return try map(descriptor, path, refusal: error.systemCode)
      } catch let second {
        guard second.isNotFound else { throw second }
        return POSIXLockFile(path: path, identity: nil, page: nil, refusal: error.systemCode)
      }
    }
  }

  private static func map(
    _ descriptor: Int32, _ path: String, refusal: Int32?
  ) throws(HeartlogError) -> POSIXLockFile {
    let call = SystemCall("open", path)
    defer { close(descriptor) }
    if refusal == nil { try fill(descriptor, path, call) }
    var page: LockWords?
    let status = try status(of: descriptor, call)
    // Bytes after the end of a short file read as zeros in its last page. An empty file has no page.
    if status.st_size > 0 {
      let protection = refusal == nil ? PROT_READ | PROT_WRITE : PROT_READ
      guard let start = mmap(nil, lockPageBytes, protection, MAP_SHARED, descriptor, 0), start != MAP_FAILED
      else { throw call.error(errno) }
      page = LockWords(start.assumingMemoryBound(to: UInt64.self))
    }
    return POSIXLockFile(path: path, identity: Identity(status), page: page, refusal: refusal)
  }

  /// Writes the zeros that a new file lacks: with a mapped hole on a full disk, the first store would be a fault.
  /// The lock is held so that no words are overwritten; a process that holds it longer has filled the page before. Nobody waits for it
  /// here: a process may be stopped at this very place.
  private static func fill(_ descriptor: Int32, _ path: String, _ call: SystemCall) throws(HeartlogError) {
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

  private static func status(of descriptor: Int32, _ call: SystemCall) throws(HeartlogError) -> stat {
    var status = stat()
    try call.run { fstat(descriptor, &status) }
    return status
  }

  func tryLock() throws(HeartlogError) -> Bool {
    let call = SystemCall("lock", path)
    if let refusal { throw call.error(refusal) }
    return try opened.withLock { (opened) throws(HeartlogError) in
      if opened.isLocked { return true }
      let descriptor: Int32
      if let kept = opened.descriptor {
        try checkName(call)
        descriptor = kept
      } else {
        descriptor = try open(call)
        opened.descriptor = descriptor
      }
      do throws(HeartlogError) {
        try call.run { flock(descriptor, LOCK_EX | LOCK_NB) }
        opened.isLocked = true
        return true
      } catch {
        if error.isBusy { return false }
        throw error
      }
    }
  }

  /// The name must still refer to the file whose page is mapped: a lock on another file would exclude nobody.
  private func checkName(_ call: SystemCall) throws(HeartlogError) {
    var status = stat()
    try call.run(withPath: { stat($0, &status) })
    guard Identity(status) == identity else { throw call.error(ESTALE) }
  }

  private func open(_ call: SystemCall) throws(HeartlogError) -> Int32 {
    let descriptor = try call.run { heartlog_open($0, O_RDWR, 0) }
    do throws(HeartlogError) {
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

  var words: LockWords? { refusal == nil ? page : nil }

  var isWritable: Bool { refusal == nil && page != nil }

  func increment(_ word: Int) {
    precondition(refusal == nil)
    page?.increment(word)
  }

  func announce() {
    #if canImport(Darwin)
      if let identity { DarwinNotification.post(identity.notification) }
    #else
      // Where it fails, watchers learn of the change from the next announcement, or from their next read.
      opened.withLock { if let held = $0.descriptor { _ = futimens(held, nil) } }
    #endif
  }

  func watch(_ changed: @escaping @Sendable () -> Void) throws(HeartlogError) -> any LockFileWatch {
    #if canImport(Darwin)
      guard let identity else { throw SystemCall("watch", path).error(ENOENT) }
      return try DarwinNotification(identity.notification, path: path, changed)
    #else
      return try InotifyWatches.shared.watch(path, changed)
    #endif
  }

  func load(_ word: Int) -> UInt64 { page?.load(word) ?? 0 }

  func store(_ value: UInt64, _ word: Int) {
    precondition(refusal == nil)
    page?.store(value, word)
  }
}

#if os(Linux)
  import Dispatch

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// The files that this process watches, with one inotify instance for all of them: a user may have 128. There is none while nothing is
  /// watched.
  ///
  /// A store to a mapped page is no event, so a change is announced by setting the file's times.
  final class InotifyWatches: Sendable {
    static let shared = InotifyWatches()

    private struct State {
      var instance: (descriptor: Int32, source: any DispatchSourceRead)?
      /// By the number that the system gives each file.
      var watches: [Int32: [ObjectIdentifier: @Sendable () -> Void]] = [:]
    }

    private let state = Monitor(State())

    /// Ends when it is released.
    private final class Watch: LockFileWatch {
      let number = Monitor<Int32?>(nil)

      deinit { if let number = number.withLock({ $0 }) { InotifyWatches.shared.remove(self, number) } }
    }

    /// Calls `changed` after each announcement at a file, on any thread.
    ///
    /// - Throws: `EMFILE` or `ENOSPC` if the user has too many instances or watches.
    func watch(_ path: String, _ changed: @escaping @Sendable () -> Void) throws(HeartlogError)
      -> any LockFileWatch
    {
      let call = SystemCall("watch", path)
      let watch = Watch()
      try state.withLock { (state) throws(HeartlogError) in
        let descriptor: Int32 =
          if let instance = state.instance { instance.descriptor } else { try begin(&state, call) }
        do throws(HeartlogError) {
          let number = try call.run { inotify_add_watch(descriptor, $0, UInt32(IN_ATTRIB)) }
          state.watches[number, default: [:]][ObjectIdentifier(watch)] = changed
          watch.number.withLock { $0 = number }
        } catch {
          endIfUnused(&state)
          throw error
        }
      }
      return watch
    }

    private func begin(_ state: inout State, _ call: SystemCall) throws(HeartlogError) -> Int32 {
      let descriptor = try call.run { _ in inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)) }
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
      source.setEventHandler { @Sendable in InotifyWatches.shared.takeEvents(from: descriptor) }
      source.setCancelHandler { @Sendable in close(descriptor) }
      source.activate()
      state.instance = (descriptor, source)
      return descriptor
    }

    private func endIfUnused(_ state: inout State) {
      guard state.watches.isEmpty else { return }
      state.instance?.source.cancel()
      state.instance = nil
    }

    private func remove(_ watch: Watch, _ number: Int32) {
      state.withLock { state in
        state.watches[number]?[ObjectIdentifier(watch)] = nil
        guard state.watches[number]?.isEmpty == true, let descriptor = state.instance?.descriptor else {
          return
        }
        state.watches[number] = nil
        // Fails if the file is gone, and its watch with it.
        _ = inotify_rm_watch(descriptor, number)
        endIfUnused(&state)
      }
    }

    private func takeEvents(from descriptor: Int32) {
      var numbers: Set<Int32> = []
      // Events of a file, and not of a folder, have no name behind them.
      withUnsafeTemporaryAllocation(of: inotify_event.self, capacity: 64) { buffer in
        while true {
          let count = read(descriptor, buffer.baseAddress, buffer.count * MemoryLayout<inotify_event>.stride)
          guard count > 0 else { break }
          for event in buffer.prefix(count / MemoryLayout<inotify_event>.stride) { numbers.insert(event.wd) }
        }
      }
      let changed = state.withLock { state in
        // -1 says that events were left out.
        numbers.contains(-1)
          ? state.watches.values.flatMap(\.values)
          : numbers.flatMap { state.watches[$0].map { Array($0.values) } ?? [] }
      }
      for changed in changed { changed() }
    }
  }
#endif

#if canImport(Darwin)
  import Dispatch
  import notify

  /// A notification that all processes of a machine can post and receive, apps and their extensions included: notify(3).
  final class DarwinNotification: LockFileWatch {
    private let token: Int32

    /// Calls `received` after each post, until it is released.
    init(_ name: String, path: String, _ received: @escaping @Sendable () -> Void) throws(HeartlogError) {
      var token: Int32 = 0
      let status = notify_register_dispatch(name, &token, DispatchQueue.global()) { _ in received() }
      guard status == UInt32(NOTIFY_STATUS_OK) else {
        throw SystemCall("watch", path).error(Int32(ENOSPC))
      }
      self.token = token
    }

    deinit { notify_cancel(token) }

    static func post(_ name: String) { notify_post(name) }
  }
#endif
