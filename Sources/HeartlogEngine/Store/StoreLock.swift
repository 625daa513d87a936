import HeartlogFiles
import HeartlogFormat
import Synchronization

/// The file `lock`, which determines who may write and where the tail is.
final class StoreLock: Sendable {
  private let file: any LockFile
  /// The file's words, if they can be accessed without a call.
  private let words: LockWords?
  private let path: String
  private let fileSystem: any FileSystem
  /// Shared mappings are not shared over a network. In that case the page holds no information.
  let hasPage: Bool
  /// What this process has read of the store. Always current if there is no page.
  let seen: SeenGeneration
  private let scheduler: any Scheduler
  /// The generation and the word `awaited` when this process last announced a change.
  private let announcedGeneration = Atomic<UInt64>(0)
  private let announcedTo = Atomic<UInt64>(0)

  /// Opens the file of the lock, and creates it if it is missing. Waits for at most as long as for the lock while another process does
  /// that.
  init(_ directory: StoreDirectory, _ options: StorageOptions = StorageOptions()) throws(HeartlogError) {
    path = directory.lockPath
    fileSystem = directory.fileSystem
    scheduler = options.scheduler
    hasPage = try !directory.fileSystem.isOnNetwork(directory.path)
    var wait = Wait(options.lockMillisecondsMax, path, fileSystem, scheduler)
    var opened: (any LockFile)?
    while opened == nil {
      do throws(HeartlogError) { opened = try fileSystem.openLock(path) } catch {
        guard error.isBusy else { throw error }
        try wait.check()
        wait.pause()
      }
    }
    guard let opened else { preconditionFailure("a lock that was not opened") }
    file = opened
    words = file.words
    seen = SeenGeneration(hasPage ? file : nil)
  }

  private enum Word {
    static let sequence = 0
    static let generation = SeenGeneration.word
    static let segment = 2
    static let writtenBytes = 4
    static let durableBytes = 5
    static let firstCommit = 6
    static let isWanted = 7
    static let structure = 8
    static let replica = 9
    static let received = 11
    static let awaited = 12
  }

  /// Acquires the lock. Waits for at most `milliseconds`.
  ///
  /// Waiting is a series of attempts, each of which sets the page's "wanted" word. A waiter that is killed leaves nothing behind that the
  /// next holder does not clear. A count of waiters would stay wrong forever.
  ///
  /// The time is measured: pauses take longer than requested, so they are not counted.
  ///
  /// A process that is stopped while it holds the lock is not waited for that long.
  func acquire(waitingAtMost milliseconds: Int) throws(HeartlogError) {
    var wait = Wait(milliseconds, path, fileSystem, scheduler)
    while true {
      if try file.tryLock() {
        if load(Word.isWanted) != 0 { store(0, Word.isWanted) }
        return
      }
      try wait.check()
      store(1, Word.isWanted)
      wait.pause()
    }
  }

  /// A wait for the process that holds the lock.
  private struct Wait {
    private static let pauseMicroseconds: UInt32 = 200
    /// When to look whether the holder is stopped. If it is so twice in a row, nobody waits for it. From the second look on they are close
    /// together: a holder that went on at one of them and was stopped again is found before a second has passed.
    private static let firstLookNanoseconds: UInt64 = 400_000_000
    private static let secondLookNanoseconds: UInt64 = 800_000_000
    private static let lookNanoseconds: UInt64 = 50_000_000
    /// A longer pause is one in which this process was stopped itself, or the machine slept. The rest of it does not count.
    private static let pauseNanosecondsMax: UInt64 = 1_000_000_000

    private let milliseconds: Int
    private let path: String
    private let fileSystem: any FileSystem
    private let scheduler: any Scheduler
    private var lastCheck: UInt64?
    /// How long this process has waited while it could run.
    private var waitedNanoseconds: UInt64 = 0
    private var nextLook = firstLookNanoseconds
    /// The holder that was stopped when it was last looked at.
    private var stopped: LockHolder?

    init(
      _ milliseconds: Int, _ path: String, _ fileSystem: any FileSystem, _ scheduler: any Scheduler
    ) {
      self.milliseconds = max(0, milliseconds)
      self.path = path
      self.fileSystem = fileSystem
      self.scheduler = scheduler
    }

    func pause() { scheduler.sleep(microseconds: Self.pauseMicroseconds) }

    /// Decides whether to wait on.
    ///
    /// - Throws: `locked` if not. The error names the process that holds the lock, if that is known.
    mutating func check() throws(HeartlogError) {
      let limit = UInt64(milliseconds) * 1_000_000
      let now = scheduler.uptimeNanoseconds()
      // No pause uses up the wait: the holder gets time after each.
      waitedNanoseconds += min(now - (lastCheck ?? now), Self.pauseNanosecondsMax, limit / 2)
      lastCheck = now
      guard waitedNanoseconds < limit else {
        let holder = fileSystem.lockHolder(of: path)
        throw holder.flatMap(refusal)
          ?? HeartlogError(
            .locked,
            "\(holder.map(\.description) ?? "another process") has been writing to the store for \(milliseconds) ms",
            file: path)
      }
      guard waitedNanoseconds >= nextLook else { return }
      nextLook = max(Self.secondLookNanoseconds, waitedNanoseconds + Self.lookNanoseconds)
      let holder = fileSystem.lockHolder(of: path)
      if let holder, holder == stopped, let refusal = refusal(holder) { throw refusal }
      stopped = holder?.isStopped == true ? holder : nil
    }

    /// The error for a holder that is stopped; nil for another one.
    private func refusal(_ holder: LockHolder) -> HeartlogError? {
      guard holder.isStopped else { return nil }
      return HeartlogError(
        .locked, "\(holder) holds the store's lock and is stopped: continue it, or end it", file: path)
    }
  }

  func release() {
    announce()
    file.unlock()
  }

  // MARK: - Announcements

  /// Begins to wait for the next change. The caller then looks whether it has missed one.
  func awaitChange() { file.increment(Word.awaited) }

  /// Calls `changed` when another process changes the store after `awaitChange`, until the result is released. Nil if nothing would tell:
  /// this process cannot write to the page, or the system does not allow another watch.
  func watch(_ changed: @escaping @Sendable () -> Void) -> (any LockFileWatch)? {
    hasPage && file.isWritable ? try? file.watch(changed) : nil
  }

  /// Tells the processes that wait that the store has changed. Only the lock holder may call this.
  ///
  /// A process that waits raises the word, then looks. This one changes the generation, then looks at the word. So one of them sees what the
  /// other did. Where nobody has raised the word since this process announced something, everybody who waits is awake already.
  func announce() {
    let changed = generation
    guard announcedGeneration.exchange(changed, ordering: .relaxed) != changed else { return }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    let awaited = load(Word.awaited)
    if announcedTo.exchange(awaited, ordering: .relaxed) != awaited { file.announce() }
  }

  /// Whether another open holds the lock at this moment. Takes it for the length of one attempt, and changes nothing.
  func isHeldByOthers() throws(HeartlogError) -> Bool {
    guard try file.tryLock() else { return true }
    file.unlock()
    file.rest()
    return false
  }

  /// Whether the lock's file is open.
  var isOpen: Bool { file.isOpen }

  /// Closes the lock's file, unless the lock is held.
  func rest() { file.rest() }

  /// Whether another process waits for the lock.
  var isWanted: Bool { load(Word.isWanted) != 0 }

  /// Gives a waiter enough time for one attempt.
  func yield() { scheduler.sleep(microseconds: 1_000) }

  /// Raised by every change of the store.
  var generation: UInt64 { load(Word.generation) }
  /// Raised whenever the names of the store's files change.
  var structure: UInt64 { load(Word.structure) }

  /// Records that a run of a stream is about to be written. Only the lock holder may call this and `endReceiving`.
  func beginReceiving(_ replica: ReplicaID) { store(Self.mark(of: replica), Word.received) }

  /// Records that what was received is durable, or was taken back.
  func endReceiving() { store(0, Word.received) }

  /// Whether the last run of a stream may not be durable: it is being written, its receiver was killed, or its fsync failed.
  func isReceiving(_ replica: ReplicaID) -> Bool { load(Word.received) == Self.mark(of: replica) }

  /// Whether that is so for any stream.
  var isReceiving: Bool { load(Word.received) != 0 }

  /// One word, so that it is never half written. Two streams with the same one are both copied.
  private static func mark(of replica: ReplicaID) -> UInt64 { max(1, replica.high) }

  private func load(_ word: Int) -> UInt64 { words?.load(word) ?? file.load(word) }

  private func store(_ value: UInt64, _ word: Int) {
    if let words { words.store(value, word) } else { file.store(value, word) }
  }

  /// What the page records about the tail.
  struct Page: Equatable, Sendable {
    var generation: UInt64 = 0
    var structure: UInt64 = 0
    /// The stream that all fields below refer to.
    var replica = ReplicaID(high: 0, low: 0)
    var segment = SegmentID(words: (0, 0))
    var firstCommit: UInt64 = 0
    var writtenBytes: UInt64 = 0
    var durableBytes: UInt64 = 0
  }

  /// Returns one consistent reading of the page, without the lock.
  func page() -> Page {
    guard hasPage else { return Page() }
    var tries = 0
    while true {
      let before = load(Word.sequence)
      let page = Page(
        generation: load(Word.generation), structure: load(Word.structure),
        replica: ReplicaID(high: load(Word.replica), low: load(Word.replica + 1)),
        segment: SegmentID(words: (load(Word.segment), load(Word.segment + 1))),
        firstCommit: load(Word.firstCommit), writtenBytes: load(Word.writtenBytes),
        durableBytes: load(Word.durableBytes))
      if before % 2 == 0, load(Word.sequence) == before { return page }
      tries += 1
      // A writer that is killed during an update leaves the word odd until the next writer. Until then, the page holds no information.
      if tries > 1_000 { return Page(generation: page.generation, structure: page.structure) }
    }
  }

  /// Records that something changes. Only the lock holder may call this and the functions below.
  func touch() { change {} }

  /// Raises the written length.
  func raise(writtenBytes: UInt64) { change { store(writtenBytes, Word.writtenBytes) } }

  /// Raises the durable length.
  func raise(durableBytes: UInt64) { change { store(durableBytes, Word.durableBytes) } }

  /// Like `update`, for only the words that `stores` changes.
  private func change(_ stores: () -> Void) {
    var sequence = load(Word.sequence)
    if sequence % 2 != 0 {
      // Another writer died during an update. What it changed only in part must not count again.
      update { _ in }
      sequence = load(Word.sequence)
    }
    sequence |= 1
    store(sequence, Word.sequence)
    let generation = load(Word.generation)
    seen.raise(from: generation)
    store(generation &+ 1, Word.generation)
    stores()
    store(sequence &+ 1, Word.sequence)
  }

  /// Changes the page.
  func update(_ change: (inout Page) -> Void) {
    var page = page()
    change(&page)
    seen.raise(from: page.generation)
    page.generation &+= 1
    let sequence = load(Word.sequence) | 1
    store(sequence, Word.sequence)
    store(page.generation, Word.generation)
    store(page.structure, Word.structure)
    store(page.replica.high, Word.replica)
    store(page.replica.low, Word.replica + 1)
    store(page.segment.words.0, Word.segment)
    store(page.segment.words.1, Word.segment + 1)
    store(page.firstCommit, Word.firstCommit)
    store(page.writtenBytes, Word.writtenBytes)
    store(page.durableBytes, Word.durableBytes)
    store(sequence &+ 1, Word.sequence)
  }
}

/// The generation of the store that this process has read up to, beside the present one in the lock page.
///
/// Every read compares both. Inlinable, because of the 370 instructions of a look-up two calls would be a tenth.
@usableFromInline
package final class SeenGeneration: Sendable {
  /// The mapped words of the lock page; stand-ins if there are none, so that a read need not ask.
  @usableFromInline let words: LockWords
  private let hasStandIns: Bool
  /// Nil if there is nothing to compare.
  private let file: (any LockFile)?
  @usableFromInline let seen = Atomic<UInt64>(0)

  /// The word of the lock page that every change of the store raises.
  @usableFromInline static let word = 1

  /// - Parameter file: the lock file; nil for a store that does not look, or has no page to look at: it is always current.
  package init(_ file: (any LockFile)? = nil) {
    self.file = file
    let mapped = file?.words
    hasStandIns = mapped == nil
    // No generation is seen that is as large, so `isCurrentByCall` decides.
    words = mapped ?? .allocate(count: Self.word + 1, filledWith: file == nil ? 0 : .max - 1)
  }

  deinit { if hasStandIns { words.deallocate() } }

  /// Whether this process has read everything, or failed to. Costs two loads from memory.
  @inlinable package var isCurrent: Bool {
    words.load(Self.word) == seen.load(ordering: .acquiring) || isCurrentByCall
  }

  @usableFromInline var isCurrentByCall: Bool {
    guard hasStandIns, let file else { return false }
    return file.load(Self.word) == seen.load(ordering: .acquiring)
  }

  /// Records that everything up to this generation was read.
  func note(_ generation: UInt64) { seen.store(generation, ordering: .releasing) }

  /// Makes the next reader look, even if nothing has changed.
  func forget() { note(.max) }

  /// Records that this process itself raises the generation.
  func raise(from generation: UInt64) {
    if seen.load(ordering: .relaxed) == generation { note(generation &+ 1) }
  }
}
