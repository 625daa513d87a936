/// What a row of the library says of a book.
public enum BookRowStatus: String, Hashable, Sendable, CaseIterable {
  /// At its beginning, or of a duration that is not known.
  case started = "Started"
  /// Somewhere between.
  case inProgress = "In-Progress"
  /// At 0.99 of its duration or later.
  case done = "Done"
}

extension Book {
  /// How much of the book was heard: 0 to 1; 0 where its duration is not known.
  public var progress: Double {
    guard duration > 0, currentPosition > 0 else { return 0 }
    return min(1, currentPosition / duration)
  }

  /// Done from 0.99 on, in progress above 0; a book at its beginning is "Started", as the app has it.
  public var rowStatus: BookRowStatus {
    switch progress {
    case 0.99...: .done
    case let progress where progress > 0: .inProgress
    default: .started
    }
  }

  /// A position as this book can have it: 0…duration, or 0 and more where the duration is not known.
  func clamped(_ position: Double) -> Double { Self.clamped(position, duration: duration) }

  static func clamped(_ position: Double, duration: Double) -> Double {
    max(0, duration > 0 ? min(position, duration) : position)
  }
}
