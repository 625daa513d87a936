/// What the five libraries refuse.
public enum LibraryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A value that no item may have, or a record that lacks what makes it an item.
  case invalidItem(String)
  /// An answer of an API that is none, or that says that it failed.
  case invalidAnswer(String)
  /// An item that is to be added, and is a favorite already; with the words that an app shows.
  case alreadyFavorite(String)

  public var description: String {
    switch self {
    case .invalidItem(let reason), .invalidAnswer(let reason), .alreadyFavorite(let reason): reason
    }
  }
}
