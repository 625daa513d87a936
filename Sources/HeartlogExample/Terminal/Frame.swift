/// What a screen shows: lines of equal width.
struct Frame: Equatable {
  enum Style: Equatable { case plain, bold, faint, selected }

  struct Line: Equatable {
    var text: String
    var style = Style.plain
  }

  struct Size: Equatable {
    var columns = 80
    var rows = 24
  }

  let lines: [Line]

  /// The lines without styles.
  var text: String {
    lines.map { line in String(line.text.reversed().drop { $0 == " " }.reversed()) + "\n" }.joined()
  }

  /// What a terminal must be sent so that it shows this frame: the lines that differ from what it shows.
  func sequences(after shown: Frame?) -> String {
    var output = ""
    for (row, line) in lines.enumerated() where shown?.lines.count != lines.count || shown?.lines[row] != line
    {
      let style =
        switch line.style {
        case .plain: ""
        case .bold: "\u{1B}[1m"
        case .faint: "\u{1B}[2m"
        case .selected: "\u{1B}[7m"
        }
      output += "\u{1B}[\(row + 1);1H\(style)\(line.text)\u{1B}[0m\u{1B}[K"
    }
    return output
  }
}
