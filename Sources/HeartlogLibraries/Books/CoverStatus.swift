#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How a search for a cover stands, as a book keeps it.
public enum CoverSearch: String, Codable, Hashable, Sendable {
  /// A search is under way, or was when the app ended.
  case searching
  /// A search found nothing.
  case failed
}

/// Whether a book has a cover, and if not, why.
public enum CoverStatus: Hashable, Sendable {
  /// There is no cover, and nobody searched for one.
  case none
  /// A search is under way, or was when the app ended.
  case searching
  /// The cover is here.
  case found(URL)
  /// A search found nothing: to be tried again.
  case failed
}

extension Book {
  /// A cover that is there is found, whatever a search said.
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

  /// The title as a search for a cover takes it: without every `[…]`, and without white space at its ends.
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
