/// Rows and columns of text, as wide as their content but not wider than the terminal.
struct Table: Sendable {
  enum Alignment: Sendable {
    case left
    case right
  }

  struct Column: Sendable {
    var title = ""
    var alignment = Alignment.left
    /// Whether … may replace what does not fit.
    var isFlexible = false
    /// Whether the middle is cut instead of the end: addresses and ids often differ only at the end.
    var keepsEnd = false
  }

  struct Cell: Sendable {
    let text: String
    let role: Style.Role?
    /// Text that follows if there is room, and is cut first.
    let details: String
    fileprivate let textWidth: Int
    /// With the gap before them.
    fileprivate let detailsWidth: Int

    init(_ text: String, _ role: Style.Role? = nil, details: String = "") {
      self.text = DisplayText.visible(text)
      self.role = role
      self.details = DisplayText.visible(details)
      textWidth = DisplayText.width(self.text)
      detailsWidth = details.isEmpty ? 0 : Table.gap + DisplayText.width(self.details)
    }

    /// ♥ for a favorite, ♡ for any other item.
    static func heart(_ isFavorite: Bool) -> Cell {
      Cell(isFavorite ? "♥" : "♡", isFavorite ? .favorite : .faint)
    }

    fileprivate var width: Int { textWidth + detailsWidth }
  }

  /// A flexible column of fewer columns is not readable.
  private static let flexibleWidthMin = 6
  private static let gap = 2

  let columns: [Column]
  private var rows: [[Cell]] = []

  init(_ columns: [Column], rows: [[Cell]] = []) {
    self.columns = columns
    for row in rows { add(row) }
  }

  /// Adds a row with one cell per column.
  mutating func add(_ cells: [Cell]) {
    precondition(cells.count == columns.count, "a row needs one cell per column")
    rows.append(cells)
  }

  /// The lines, after a line of titles if there are any; cut to `width` if it is not nil.
  func lines(style: Style, width: Int? = nil) -> [String] {
    var all = rows
    if columns.contains(where: { !$0.title.isEmpty }) {
      all.insert(columns.map { Cell($0.title, .heading) }, at: 0)
    }
    let widths = fitted(naturalWidths(all), to: width)
    return all.map { line($0, widths: widths, style: style) }
  }

  private func naturalWidths(_ rows: [[Cell]]) -> [Int] {
    var widths = columns.map { _ in 0 }
    for row in rows {
      for (index, cell) in row.enumerated() {
        widths[index] = max(widths[index], cell.width)
      }
    }
    return widths
  }

  /// Shrinks the widest flexible columns until the table fits.
  private func fitted(_ natural: [Int], to width: Int?) -> [Int] {
    guard let width else { return natural }
    var widths = natural
    let gaps = Self.gap * max(0, natural.count { $0 > 0 } - 1)
    var excess = natural.reduce(0, +) + gaps - width
    while excess > 0 {
      let flexible = columns.indices.filter { columns[$0].isFlexible && widths[$0] > Self.flexibleWidthMin }
      guard let widest = flexible.max(by: { widths[$0] < widths[$1] }) else { break }
      let next = flexible.filter { $0 != widest }.map { widths[$0] }.max() ?? Self.flexibleWidthMin
      let step = min(excess, max(1, widths[widest] - max(next, Self.flexibleWidthMin)))
      widths[widest] -= step
      excess -= step
    }
    return widths
  }

  /// A cell, cut to the width of a column.
  private func fitted(_ cell: Cell, to width: Int, in column: Column) -> Cell {
    guard column.isFlexible, cell.width > width else { return cell }
    let rest = width - cell.textWidth - Self.gap
    if !cell.details.isEmpty, rest >= Self.flexibleWidthMin {
      return Cell(cell.text, cell.role, details: DisplayText.truncated(cell.details, to: rest))
    }
    return Cell(
      column.keepsEnd
        ? DisplayText.shortened(cell.text, to: width) : DisplayText.truncated(cell.text, to: width),
      cell.role)
  }

  private func line(_ cells: [Cell], widths: [Int], style: Style) -> String {
    var result = ""
    // Spaces are added only before text, so that no line ends with one.
    var spaces = 0
    var isFirst = true
    // An empty column takes no space.
    for (index, cell) in cells.enumerated() where widths[index] > 0 {
      if !isFirst { spaces += Self.gap }
      isFirst = false
      let cell = fitted(cell, to: widths[index], in: columns[index])
      let padding = max(0, widths[index] - cell.width)
      let isRight = columns[index].alignment == .right
      if isRight { spaces += padding }
      if !cell.text.isEmpty {
        result +=
          String(repeating: " ", count: spaces) + (cell.role.map { style($0, cell.text) } ?? cell.text)
        spaces = 0
      }
      if !cell.details.isEmpty {
        result += String(repeating: " ", count: spaces + Self.gap) + style(.faint, cell.details)
        spaces = 0
      }
      if !isRight { spaces += padding }
    }
    return result
  }
}
