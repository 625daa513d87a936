import Foundation

extension Program {
  /// The lines between the head and the foot.
  var height: Int { max(1, size.rows - 5) }

  /// The screen as it is now. Reading it inside `withObservationTracking` tells when it changes.
  var frame: Frame {
    _ = revision
    let columns = size.columns
    let panes = app.panes
    let titles = panes.enumerated().map { index, pane in
      let count = pane.count ?? pane.rows.count { $0.item != nil }
      let title = count == 0 ? pane.title : "\(pane.title) \(count)"
      return index == place.pane ? "[\(title)]" : " \(title) "
    }
    let names = apps.enumerated().map { index, app in index == current ? "[\(app.name)]" : " \(app.name) " }
    let field: String? =
      if case .search = mode { "/\(app.query)_" } else { app.query.isEmpty ? nil : "/\(app.query)" }

    var lines = [
      Frame.Line(text: columns.edges("♥ " + names.joined(separator: " "), store.name), style: .bold),
      Frame.Line(text: columns.edges("  " + titles.joined(separator: " "), field ?? "")),
      Frame.Line(text: String(repeating: "─", count: columns), style: .faint),
    ]
    var body: [Frame.Line]
    var keys = "⏎ open  space ♥  u undo  / search  ←→ list  ⇥ app  s sync  ? keys  q quit"
    switch mode {
    case .help: body = Self.help.map { Frame.Line(text: "  " + $0) }
    case .detail(let row, let history, let first):
      body = detail(row, history)
      body.removeFirst(min(first, max(0, body.count - height)))
      keys = "esc back  space ♥  n note  u undo  ↑↓ scroll  s sync  ? keys  q quit"
    case .note(let row, let text):
      body = [Frame.Line(text: "  " + row.text, style: .bold), Frame.Line(text: "  Note: \(text)_")]
      keys = "⏎ save  esc cancel"
    case .list, .search:
      let pane = panes[place.pane]
      body = list(pane)
      if !pane.keys.isEmpty { keys = pane.keys + "  space ♥  u undo  s sync  ? keys  q quit" }
    }
    lines += body.prefix(height)
    lines += Array(repeating: Frame.Line(text: ""), count: max(0, height - body.count))
    lines.append(Frame.Line(text: message, style: .bold))
    lines.append(Frame.Line(text: keys, style: .faint))
    return Frame(
      lines: lines.prefix(size.rows).map { Frame.Line(text: $0.text.fitted(to: columns), style: $0.style) })
  }

  private func list(_ pane: Pane) -> [Frame.Line] {
    guard !pane.rows.isEmpty else { return [Frame.Line(text: "  " + pane.placeholder, style: .faint)] }
    let selected = selected(in: pane)
    // The selected row stays in the middle while there are rows on both sides.
    let first = max(0, min(selected - height / 2, pane.rows.count - height))
    return pane.rows.indices.dropFirst(first).prefix(height).map { index in
      let row = pane.rows[index]
      let heart = row.heart.map { $0 ? "♥ " : "♡ " } ?? ""
      return Frame.Line(
        text: size.columns.edges((index == selected ? "▸ " : "  ") + heart + row.text, row.trailing),
        style: index == selected ? .selected : .plain)
    }
  }

  func detail(_ row: Row, _ history: [String]) -> [Frame.Line] {
    guard let item = row.item else { return [] }
    let since = item.library.item(item.id)?.favoritedDate.map { "since \(Date(milliseconds: $0).minute)" }
    var lines = [Frame.Line(text: "\(item.isFavorite ? "♥" : "♡") \(row.text)", style: .bold)]
    lines.append(Frame.Line(text: "Favorite: \(since ?? "no")"))
    lines.append(Frame.Line(text: "Note: \(item.library.note(of: item.id) ?? "none")"))
    lines.append(Frame.Line(text: ""))
    lines.append(Frame.Line(text: "History", style: .bold))
    lines += history.map { Frame.Line(text: $0) }
    lines.append(Frame.Line(text: ""))
    do {
      lines += try app.detail(of: row).flatMap { $0.wrapped(to: size.columns - 4) }.map {
        Frame.Line(text: $0)
      }
    } catch { lines.append(Frame.Line(text: "⚠ \(error)")) }
    return lines.map { Frame.Line(text: "  " + $0.text, style: $0.style) }
  }

  static let help = [
    "↑ ↓  k j        move; page up and page down, too", "← →  h l        the other lists of the app",
    "⇥  ⇧⇥           the next and the previous app", "⏎               open, choose",
    "esc             back; ends a search",
    "space           toggle the heart", "n               edit the note, in a detail screen",
    "u               undo the last action of this run, then the one before", "/               search",
    "s               sync with the second device", "q  ctrl-c       quit",
  ]
}

extension Int {
  /// A line of so many columns with texts at both edges; the left one is cut.
  fileprivate func edges(_ left: String, _ right: String) -> String {
    guard !right.isEmpty else { return left.fitted(to: self) }
    let right = right.fitted(to: Swift.min(right.columns, self / 2))
    return left.fitted(to: Swift.max(0, self - right.columns - 2)) + "  " + right
  }
}
