/// Colors, if the output is a terminal.
struct Style: Sendable {
  enum Role: Sendable {
    case heading
    case name
    case favorite
    case faint
    case good
    case failure

    /// The parameters of "select graphic rendition" (ECMA-48).
    fileprivate var parameters: String {
      switch self {
      case .heading: "1"
      case .name: "36"
      case .favorite: "31"
      case .faint: "2"
      case .good: "32"
      case .failure: "1;31"
      }
    }
  }

  let isEnabled: Bool

  func callAsFunction(_ role: Role, _ text: String) -> String {
    isEnabled && !text.isEmpty ? "\u{1B}[\(role.parameters)m\(text)\u{1B}[0m" : text
  }

  /// ♥ for a favorite, ♡ for any other item.
  func heart(_ isFavorite: Bool) -> String { isFavorite ? self(.favorite, "♥") : self(.faint, "♡") }

  /// False if NO_COLOR is not empty (no-color.org), or the terminal is dumb.
  static func isWanted(_ environment: [String: String]) -> Bool {
    (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }
}
