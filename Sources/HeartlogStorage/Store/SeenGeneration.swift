import HeartlogFiles
import Synchronization

/// The generation of the store that this process has read up to, beside the present one in the lock page.
///
/// Every read compares both. Inlinable: through calls, a look-up took 30 of 440 instructions more.
@usableFromInline
package final class SeenGeneration: Sendable {
  /// Nil if the present generation cannot be accessed without a call, or if nothing is to be compared.
  @usableFromInline let words: LockWords?
  /// Keeps the words mapped. Nil if nothing is to be compared.
  private let file: (any LockFile)?
  @usableFromInline let seen = Atomic<UInt64>(0)

  /// The word of the lock page that every change of the store raises.
  @usableFromInline static let word = 1

  init(_ file: any LockFile) {
    words = file.words
    self.file = file
  }

  /// One that is always current, for a store that does not look, or has no page to look at.
  package init() {
    words = nil
    file = nil
  }

  /// Whether this process has read everything, or failed to. Costs two loads from memory.
  @inlinable package var isCurrent: Bool {
    guard let words else { return isCurrentByCall }
    return words.load(Self.word) == seen.load(ordering: .acquiring)
  }

  @usableFromInline var isCurrentByCall: Bool {
    file.map { $0.load(Self.word) == seen.load(ordering: .acquiring) } ?? true
  }

  /// Records that everything up to this generation was read.
  func note(_ generation: UInt64) { seen.store(generation, ordering: .releasing) }

  /// Records that this process itself raises the generation.
  func raise(from generation: UInt64) {
    if seen.load(ordering: .relaxed) == generation { note(generation &+ 1) }
  }
}
