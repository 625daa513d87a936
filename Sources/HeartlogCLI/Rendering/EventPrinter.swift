import Heartlog

/// Prints events as they come: JSON at once, text in pages with aligned columns.
struct EventPrinter {
  private let context: CommandContext
  private var page: [EventLine] = []
  private var isHeaded = false

  /// Enough lines for even columns, few enough to print soon.
  private static let pageLinesMax = 500

  init(_ context: CommandContext) { self.context = context }

  mutating func take(_ line: EventLine) throws {
    if context.isJSON { return try context.jsonLine { line.write(to: &$0) } }
    page.append(line)
    if page.count >= Self.pageLinesMax { try flush() }
  }

  /// Prints the current page.
  mutating func flush() throws {
    guard !page.isEmpty else { return }
    var table = Table(EventLine.columns)
    for line in page { table.add(line.cells(context.times)) }
    let lines = zip(page, table.lines(style: context.style, width: context.width)).flatMap {
      [$1] + $0.marks(context.style)
    }
    if isHeaded {
      for line in lines { try context.output.line(line) }
    } else {
      try context.linesWithTimes(lines)
    }
    page.removeAll(keepingCapacity: true)
    isHeaded = true
  }
}
