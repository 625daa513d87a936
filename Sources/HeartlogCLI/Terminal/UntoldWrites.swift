import Synchronization

/// What a command has written and nobody was told of yet: the error that ends the command names it, so that nobody does it twice.
///
/// A command notes what it wrote as soon as that is safe on disk, before it prints anything of it.
final class UntoldWrites: Sendable {
  private let notes = Mutex<[String]>([])

  /// Notes one more thing that was written: a phrase.
  func add(_ note: String) { notes.withLock { $0.append(note) } }

  /// Notes all that was written so far, in place of what was noted before.
  func set(_ note: String) { notes.withLock { $0 = [note] } }

  /// Somebody was told: what was printed is out.
  func clear() { notes.withLock { $0.removeAll() } }

  /// `Written: cities 2950159 is a favorite now (3f9a12c0:351).`; nil where there is nothing to tell.
  var sentence: String? {
    let notes = notes.withLock { $0 }
    return notes.isEmpty ? nil : DisplayText.visible("Written: \(notes.joined(separator: "; ")).")
  }
}
