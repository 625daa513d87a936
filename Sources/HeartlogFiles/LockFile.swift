import CHeartlogPlatform
import HeartlogFormat

/// A lock shared by all opens of the same file, in this process and others, and 512 words of shared memory. It is
/// unlocked and closed when the last reference is released.
package protocol LockFile: AnyObject, Sendable {
  /// Takes the lock unless another open holds it. Returns true if this open now holds it.
  ///
  /// - Throws: `ESTALE` or `ENOENT` if the name now refers to another file or no longer exists.
  func tryLock() throws(HeartlogError) -> Bool

  func unlock()

  /// Whether a descriptor is kept for the next `tryLock`.
  var isOpen: Bool { get }

  /// Closes the descriptor, unless the lock is held. The next `tryLock` opens the file again.
  func rest()

  /// Reads word `word` with acquire ordering. - Precondition: 0 ≤ `word` < `lockPageWords`.
  func load(_ word: Int) -> UInt64

  /// Writes word `word` with release ordering. - Precondition: As for `load`, and the file is writable.
  func store(_ value: UInt64, _ word: Int)

  /// Adds 1 to word `word`, in one total order with the increments and fences of all processes. - Precondition: As for `store`.
  func increment(_ word: Int)

  /// The mapped words, valid while this object exists; nil if they can be accessed only with `load` and `store`.
  var words: LockWords? { get }

  /// Whether words can be stored.
  var isWritable: Bool { get }

  /// Calls the functions that were passed to `watch` by any open of the file, in this process and others. - Precondition: The lock is held.
  func announce()

  /// Calls `changed` after each announcement, and sometimes for no reason, until the result is released. It is called on any thread, which
  /// may hold locks: it must only start what it wants to do.
  ///
  /// - Throws: `EMFILE` or `ENOSPC` if the system does not allow another watch, `ENOTSUP` if it has none.
  func watch(_ changed: @escaping @Sendable () -> Void) throws(HeartlogError) -> any LockFileWatch
}

/// A watch on a lock file. It ends when it is released.
package protocol LockFileWatch: AnyObject, Sendable {}

/// The mapped words of a lock file: `lockPageWords` of them, accessed atomically.
///
/// Reading the store's page takes ten loads. Through the protocol they took a tenth of a commit's instructions.
@frozen @usableFromInline
package struct LockWords: @unchecked Sendable {
  @usableFromInline let start: UnsafeMutablePointer<UInt64>

  init(_ start: UnsafeMutablePointer<UInt64>) { self.start = start }

  /// Words in the memory of this process, which stand for mapped ones. Only the first `count` may be accessed.
  package static func allocate(count: Int, filledWith value: UInt64) -> LockWords {
    let start = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
    start.initialize(repeating: value, count: count)
    return LockWords(start)
  }

  /// Frees allocated words.
  package func deallocate() { start.deallocate() }

  /// Reads word `word` with acquire ordering.
  @inlinable package func load(_ word: Int) -> UInt64 {
    precondition(word >= 0 && word < 512)
    return heartlog_load_acquire(start + word)
  }

  /// Writes word `word` with release ordering.
  @inlinable package func store(_ value: UInt64, _ word: Int) {
    precondition(word >= 0 && word < 512)
    heartlog_store_release(start + word, value)
  }

  /// Adds 1 to word `word`, in one total order with the increments and fences of all processes.
  func increment(_ word: Int) {
    precondition(word >= 0 && word < lockPageWords)
    heartlog_increment(start + word)
  }
}

/// The size of a lock file: the smallest page size of the supported platforms.
package let lockPageBytes = 4096

/// The number of words in a lock page.
package let lockPageWords = lockPageBytes / 8

extension LockFile {
  // Defaults for a lock file that needs no descriptor.
  package var isOpen: Bool { false }
  package func rest() {}
  package var words: LockWords? { nil }
  package func increment(_ word: Int) { store(load(word) &+ 1, word) }
  package var isWritable: Bool { true }
  package func announce() {}
  package func watch(_ changed: @escaping @Sendable () -> Void) throws(HeartlogError) -> any LockFileWatch {
    throw HeartlogError(operation: "watch", path: "lock", code: ENOTSUP)
  }
}

/// A process that holds a lock.
package struct LockHolder: Hashable, Sendable, CustomStringConvertible {
  package var process: Int32
  /// The name of its program; nil if that is unknown.
  package var name: String?
  /// Whether a signal or a debugger has stopped it: it does not go on by itself.
  package var isStopped: Bool

  package init(process: Int32, name: String? = nil, isStopped: Bool = false) {
    self.process = process
    self.name = name
    self.isStopped = isStopped
  }

  /// Such as "process 4711 (heartlog)".
  package var description: String { "process \(process)\(name.map { " (\($0))" } ?? "")" }
}
