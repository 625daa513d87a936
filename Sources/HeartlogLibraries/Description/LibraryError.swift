#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Errors of the ready-made libraries.
public enum LibraryError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
  /// A value that no item may have, or a record that lacks a required part of an item.
  case invalidItem(String)
  /// An answer of an API that is malformed, or that reports an error.
  case invalidAnswer(String)
  /// An item to be added is a favorite already. The text is the message that an app shows.
  case alreadyFavorite(String)

  public var description: String {
    switch self {
    case .invalidItem(let reason), .invalidAnswer(let reason), .alreadyFavorite(let reason): reason
    }
  }

  /// The same sentence, for alerts.
  public var errorDescription: String? { description }
}
