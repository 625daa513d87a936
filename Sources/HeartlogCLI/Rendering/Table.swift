/// Rows and columns of text, as wide as what they hold and no wider than the terminal.
struct Table: Sendable {
  enum Alignment: Sendable {
    case left
    case right
  }

  struct Column: Sendable {
    var title = ""
    var alignment = Alignment.left
    /// True where … may cut what does not fit.
    var isFlexible = false
    /// True where it cuts the middle: addresses and ids begin alike, and differ at the end.
    var keepsEnd = false
  }

  struct Cell: Sendable {
    let text: String
    let role: Style.Role?

    init(_ text: String, _ role: Style.Role? = nil) {
      self.text = DisplayText.visible(text)
      self.role = role
    }
  }

  /// Below this a flexible column says nothing any more.
  private static let flexibleWidthMin = 6
  private static let gap = 2

  let columns: [Column]
  private var rows: [[Cell]] = []

  init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row with one cell a column.
  mutating func add(_ cells: [Cell]) {
    precondition(cells.count == columns.count, "a row has a cell for each column")
    rows.append(cells)
  }

  /// The lines, headed by the titles where there are any; cut to `width` where it is given.
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
        widths[index] = max(widths[index], DisplayText.width(cell.text))
      }
    }
    return widths
  }

  /// Takes what is too much from the widest flexible columns.
  private func fitted(_ natural: [Int], to width: Int?) -> [Int] {
    guard let width else { return natural }
    var widths = natural
    var excess = natural.reduce(0, +) + Self.gap * (columns.count - 1) - width
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

  private func fitted(_ text: String, to width: Int, in column: Column) -> String {
    guard column.isFlexible else { return text }
    return column.keepsEnd
      ? DisplayText.shortened(text, to: width) : DisplayText.truncated(text, to: width)
  }

  private func line(_ cells: [Cell], widths: [Int], style: Style) -> String {
    var result = ""
    // Spaces wait until something follows them: no line ends in one.
    var spaces = 0
    for (index, cell) in cells.enumerated() {
      if index > 0 { spaces += Self.gap }
      let text = fitted(cell.text, to: widths[index], in: columns[index])
      let padding = max(0, widths[index] - DisplayText.width(text))
      let isRight = columns[index].alignment == .right
      if isRight { spaces += padding }
      if !text.isEmpty {
        result += String(repeating: " ", count: spaces) + (cell.role.map { style($0, text) } ?? text)
        spaces = 0
      }
      if !isRight { spaces += padding }
    }
    return result
  }
}
