import CHeartlogPlatform

/// A lock shared with other opens of the same file, in this process and in others, and 512 words of memory
/// that all of them see. It unlocks and closes itself when the last reference goes.
package protocol LockFile: AnyObject, Sendable {
  /// Takes the lock unless another open holds it; true where this open holds it now.
  ///
  /// Throws `ESTALE` or `ENOENT` where the name stands for another file by now, or for none.
  func tryLock() throws(FileError) -> Bool

  func unlock()

  /// Whether a descriptor is kept for the next `tryLock`.
  var isOpen: Bool { get }

  /// Gives back the descriptor, unless the lock is held; the next `tryLock` opens the file again.
  func rest()

  /// Reads word `word`, with acquire order. - Precondition: 0 ≤ `word` < `lockPageWords`.
  func load(_ word: Int) -> UInt64

  /// Writes word `word`, with release order. - Precondition: as for `load`, and the file can be written.
  func store(_ value: UInt64, _ word: Int)

  /// The words where they are mapped, for as long as the object lives; nil where only `load` and `store` reach them.
  var words: LockWords? { get }
}

/// The mapped words of a lock file: `lockPageWords` of them, accessed atomically.
///
/// A look at the store's page makes ten loads. Through the protocol they took a tenth of a commit's instructions.
@frozen @usableFromInline
package struct LockWords: @unchecked Sendable {
  @usableFromInline let start: UnsafeMutablePointer<UInt64>

  init(_ start: UnsafeMutablePointer<UInt64>) { self.start = start }

  /// Reads word `word`, with acquire order.
  @inlinable package func load(_ word: Int) -> UInt64 {
    precondition(word >= 0 && word < 512)
    return heartlog_load_acquire(start + word)
  }

  /// Writes word `word`, with release order.
  @inlinable package func store(_ value: UInt64, _ word: Int) {
    precondition(word >= 0 && word < 512)
    heartlog_store_release(start + word, value)
  }
}

/// A lock file's size: one page of the smallest page size that the platforms have.
package let lockPageBytes = 4096

/// The words of a lock page.
package let lockPageWords = lockPageBytes / 8

extension LockFile {
  // Of a lock file that needs no descriptor.
  package var isOpen: Bool { false }
  package func rest() {}
  package var words: LockWords? { nil }
}
