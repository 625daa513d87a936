#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The state of a search for a cover, as stored with a book.
public enum CoverSearch: String, Codable, Hashable, Sendable {
  /// A search is running, or was running when the app ended.
  case searching
  /// A search found nothing.
  case failed
}

/// Whether a book has a cover, and if not, why not.
public enum CoverStatus: Hashable, Sendable {
  /// There is no cover, and it has not been searched for.
  case none
  /// A search is running, or was running when the app ended.
  case searching
  /// The cover was found.
  case found(URL)
  /// A search found nothing; it should be repeated.
  case failed
}

extension Book {
  /// The state of the cover. If there is a cover, it is found, whatever the state of the search.
  public var coverStatus: CoverStatus {
    get {
      if let coverImageURL { return .found(coverImageURL) }
      return switch coverSearch {
      case .searching: .searching
      case .failed: .failed
      case nil: .none
      }
    }
    set {
      coverImageURL = if case .found(let url) = newValue { url } else { nil }
      coverSearch =
        switch newValue {
        case .none, .found: nil
        case .searching: .searching
        case .failed: .failed
        }
    }
  }

  /// The title for a cover search: without any `[…]`, and without white space at its ends.
  public var coverSearchTitle: String {
    var cleaned = ""
    var rest = title[...]
    while let open = rest.firstIndex(of: "["), let close = rest[open...].firstIndex(of: "]") {
      cleaned += rest[..<open]
      rest = rest[rest.index(after: close)...]
    }
    return (cleaned + rest).withoutOuterWhiteSpace
  }
}
