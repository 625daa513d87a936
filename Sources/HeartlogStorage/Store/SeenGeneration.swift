import HeartlogFiles
import Synchronization

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
