/// What is to be seen: headings, and screens of rows.
struct Display {
  private let print: (String) -> Void

  init(_ print: @escaping (String) -> Void) { self.print = print }

  /// An app begins.
  func app(_ name: String, _ what: String) { print("\n♥ \(name): \(what)") }

  /// Something happens.
  func step(_ what: String) { print("\n\(what)") }

  /// A screen, or a part of one.
  ///
  /// - Parameter placeholder: what it shows where it has no rows.
  func screen(_ title: String, _ rows: some Sequence<String>, orElse placeholder: String = "") {
    print("  \(title)")
    let rows = Array(rows)
    for row in rows.isEmpty ? [placeholder] : rows { print("    \(row)") }
  }

  /// What an alert says.
  func alert(_ text: String?) {
    if let text { print("  ⚠ \(text)") }
  }
}

/// The heart of a row.
func heart(_ isFavorite: Bool) -> String { isFavorite ? "♥" : "♡" }

extension String {
  /// At most that many characters.
  func cut(to count: Int) -> String { self.count <= count ? self : "\(prefix(count - 1))…" }
}
