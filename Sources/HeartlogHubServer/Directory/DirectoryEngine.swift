import Heartlog
import HeartlogFiles
import HeartlogHub
import HeartlogFormat

/// Keeps vaults in the log files of a directory: "The directory engine" in docs/hub.md.
///
/// Unchecked: what changes is guarded by `condition`, and `log` belongs to the writing thread.
final class DirectoryEngine: HubEngine, @unchecked Sendable {
  /// How large things may get.
  struct Limits: Sendable {
    /// Bytes of the objects of a vault.
    var vaultBytesMax = 1 << 30
    var objectsMax = HubLimits.objectsMax
    /// A file that would get larger is closed.
    var fileBytesMax = 256 << 20
  }

  let sessions: any SessionStore = MemorySessions()
  /// Another one at each start: the directory may have been restored from a copy, so numbers may be given a second time.
  private let start = UInt64.random(in: .min ... .max)
  let limits: Limits
  let condition = Condition()
  private let lock: any LockFile
  private var thread: WorkerThread?

  // Guarded by `condition`.
  var index: DirectoryIndex
  var jobs: [Job] = []
  private var isClosing = false
  private var observers: [@Sendable (VaultID) -> Void] = []
  /// Why nothing can be written any more.
  var failure: HeartlogError?

  /// Used by the writing thread alone.
  let log: LogFolder

  /// Opens a directory, which is created if there is none.
  ///
  /// - Throws: `locked` if another process has it, `corrupt` if something in it is damaged.
  init(
    at path: String, limits: Limits = Limits(), files: any FileSystem = POSIXFileSystem()
  ) throws(HeartlogError) {
    self.limits = limits
    let lock = try hubErrors { () throws(FileError) in
      try files.createParents(of: path + "/hub.lock")
      return try files.openLock(path + "/hub.lock")
    }
    guard try hubErrors({ () throws(FileError) in try lock.tryLock() }) else {
      throw HeartlogError(.locked, "another process has this directory", file: path)
    }
    self.lock = lock
    (log, index) = try LogFolder.open(path, files, fileBytesMax: limits.fileBytesMax)
    thread = try WorkerThread { [unowned self] in write() }
  }

  func check() throws(HeartlogError) {
    if let failure = condition.withLock({ failure }) { throw failure }
  }

  // MARK: Reading

  func vaultCount() -> Int { condition.withLock { index.vaults.count } }

  func isAdmitted(_ key: PublicKey, to vault: VaultID) -> Bool {
    condition.withLock { index.vaults[vault]?.isAdmitted(key) ?? false }
  }

  func keys(of vault: VaultID) -> AdmittedKeys? { condition.withLock { index.vaults[vault]?.admitted } }

  func list(after cursor: String?, limit: Int, as member: VaultMember) throws(HeartlogError) -> HubList {
    let after = try ChangeCursor.sent(cursor)
    return try condition.withLock { () throws(HeartlogError) in
      let vault = try index.vault(of: member)
      let generation = vault.generation ^ start
      let isKnown = after?.isKnown(generation: generation, last: vault.last) ?? true
      let found = vault.list(after: isKnown ? after?.number ?? 0 : 0, limit: limit)
      return HubList(
        entries: found.entries,
        cursor: ChangeCursor(generation: generation, number: found.last).description,
        head: ChangeCursor(generation: generation, number: vault.last).description,
        startsOver: !isKnown, hasMore: found.hasMore)
    }
  }

  func get(
    _ name: String, as member: VaultMember, admits: (_ byteCount: Int) -> Bool
  ) throws(HeartlogError) -> GetOutcome {
    let found = try condition.withLock { () throws(HeartlogError) -> (any OpenFile, ObjectPlace)? in
      guard let place = try index.vault(of: member).place(of: name), let file = index.files[place.file] else {
        return nil
      }
      return (file.file, place)
    }
    guard let (file, place) = found else { return .missing }
    guard admits(Int(place.byteCount)) else { return .refused }
    return .bytes(try Self.read(file, place))
  }

  static func read(_ file: any OpenFile, _ place: ObjectPlace) throws(HeartlogError) -> [UInt8] {
    let count = Int(place.byteCount)
    let bytes = try hubErrors { () throws(FileError) in try file.bytes(count, at: UInt64(place.offset)) }
    guard bytes.count == count else { throw HeartlogError(.corrupt, "a log file is shorter than it was") }
    return bytes
  }

  // MARK: Writing

  func createVault(
    _ vault: VaultID, keys: AdmittedKeys, invitation: String?
  ) throws(HeartlogError) -> VaultCreation {
    let invitation = invitation.map { SHA256Hasher.digest(of: Array($0.utf8)) }
    return try waiting { .create(vault, keys, invitation: invitation, done: $0) }
  }

  func removeVault(_ vault: VaultID) throws(HeartlogError) -> Bool {
    let keys = keys(of: vault)?.keys ?? []
    let isRemoved = try waiting { .removal(vault, done: $0) }
    try sessions.end(keys, of: vault)
    return isRemoved
  }

  func changeKeys(
    as member: VaultMember, _ change: @escaping @Sendable (AdmittedKeys) -> Result<KeyChange?, KeyRefusal>
  ) throws(HeartlogError) -> Result<AdmittedKeys, KeyRefusal> {
    let outcome = try waiting { .keys(member, change, done: $0) }
    guard case .success(let change) = outcome else { return outcome.map(\.after) }
    // Those who were removed and admitted again are in with a new session.
    try sessions.end(Array(change.ended), of: member.vault)
    return .success(change.after)
  }

  func put(
    _ name: String, _ bytes: [UInt8], as member: VaultMember,
    done: @escaping @Sendable (Result<PutOutcome, HeartlogError>) -> Void
  ) {
    enqueue(.put(member, name, bytes, done: done))
  }

  func delete(
    _ name: String, as member: VaultMember,
    done: @escaping @Sendable (Result<Void, HeartlogError>) -> Void
  ) {
    enqueue(.delete(member, name, done: done))
  }

  func observe(_ body: @escaping @Sendable (VaultID) -> Void) {
    condition.withLock { observers.append(body) }
  }

  func close() throws(HeartlogError) {
    let thread = condition.withLock {
      isClosing = true
      condition.notify()
      defer { self.thread = nil }
      return self.thread
    }
    guard let thread else { return }
    thread.join()
    lock.unlock()
  }

  deinit { assert(thread == nil, "an engine is closed before it goes") }

  private func enqueue(_ job: Job) {
    let isOpen = condition.withLock {
      guard !isClosing else { return false }
      jobs.append(job)
      condition.notify()
      return true
    }
    if !isOpen { job.fail(HeartlogError(.cancelled, "the hub stops")) }
  }

  private func waiting<Value: Sendable>(
    _ job: (@escaping @Sendable (Result<Value, HeartlogError>) -> Void) -> Job
  ) throws(HeartlogError) -> Value {
    let answer = Answer<Value>()
    enqueue(job { answer.set($0) })
    return try answer.wait().get()
  }

  /// The next jobs, all that wait; `nil` at the end.
  func nextJobs() -> [Job]? {
    condition.withLock {
      while jobs.isEmpty {
        if isClosing { return nil }
        condition.wait()
      }
      defer { jobs = [] }
      return jobs
    }
  }

  func tell(_ vaults: Set<VaultID>) {
    let observers = condition.withLock { self.observers }
    for vault in vaults { for observer in observers { observer(vault) } }
  }
}
