/// The output: headings, and screens with rows.
struct Display {
  private let print: (String) -> Void

  init(_ print: @escaping (String) -> Void) { self.print = print }

  /// Prints the heading of an app.
  func app(_ name: String, _ what: String) { print("\n♥ \(name): \(what)") }

  /// Prints the heading of a step.
  func step(_ what: String) { print("\n\(what)") }

  /// Prints a screen, or a part of one.
  ///
  /// - Parameters:
  ///   - title: its title.
  ///   - rows: its rows.
  ///   - placeholder: printed if there are no rows.
  func screen(_ title: String, _ rows: some Sequence<String>, orElse placeholder: String = "") {
    print("  \(title)")
    let rows = Array(rows)
    for row in rows.isEmpty ? [placeholder] : rows { print("    \(row)") }
  }

  /// Prints an alert, if there is one.
  func alert(_ text: String?) {
    if let text { print("  ⚠ \(text)") }
  }
}

/// The heart in a row.
func heart(_ isFavorite: Bool) -> String { isFavorite ? "♥" : "♡" }

extension String {
  /// The text, cut to at most `count` characters.
  func cut(to count: Int) -> String { self.count <= count ? self : "\(prefix(count - 1))…" }
}
