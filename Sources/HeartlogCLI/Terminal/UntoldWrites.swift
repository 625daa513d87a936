import Synchronization

/// What a command has written but not reported yet. An error that ends the command names it, so that nobody repeats it.
///
/// A command notes what it wrote as soon as it is safe on disk, before it prints anything about it.
final class UntoldWrites: Sendable {
  private let notes = Mutex<[String]>([])

  /// Adds a phrase about something that was written.
  func add(_ note: String) { notes.withLock { $0.append(note) } }

  /// Replaces all notes by one about everything that was written so far.
  func set(_ note: String) { notes.withLock { $0 = [note] } }

  /// Removes all notes, after their content was printed and flushed.
  func clear() { notes.withLock { $0.removeAll() } }

  /// `Written: cities 2950159 is a favorite now (3f9a12c0:351).`; nil if there are no notes.
  var sentence: String? {
    let notes = notes.withLock { $0 }
    return notes.isEmpty ? nil : DisplayText.visible("Written: \(notes.joined(separator: "; ")).")
  }
}
