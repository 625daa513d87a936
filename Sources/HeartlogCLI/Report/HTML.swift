import Heartlog

/// A part of an HTML document.
///
/// Names of elements and attributes come from this program; everything else can enter only escaped: a literal, and what is interpolated
/// into one, is text.
struct HTML: ExpressibleByStringInterpolation {
  enum Element: String {
    case bdi, body, caption, code, data, dd, desc, div, dl, dt, footer, h1, h2, h3, head, header, html, li,
      line,
      main, meta, nav, p, path, pattern, pre, rect, section, span, strong, style, svg, table, tbody, td, text,
      th, thead, time, title, tr, ul, a, defs

    /// Whether a line ends after it.
    fileprivate var isBlock: Bool {
      switch self {
      case .a, .bdi, .code, .data, .dt, .span, .strong, .td, .th, .time: false
      default: true
      }
    }
  }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var html = HTML()

    init(literalCapacity: Int, interpolationCount: Int) {}

    mutating func appendLiteral(_ text: String) { html += HTML(text: text) }
    mutating func appendInterpolation(_ part: HTML) { html += part }
    mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      html += HTML(text: value.description)
    }
  }

  typealias Attributes = KeyValuePairs<StaticString, String>

  private(set) var bytes: [UInt8] = []

  private init() {}

  init(stringLiteral text: String) { self.init(text: text) }

  init(stringInterpolation: StringInterpolation) { self = stringInterpolation.html }

  /// Text on one line. Replaces what would end the text or the attribute, and what would change how the text around it is shown.
  init(text: String) {
    for byte in DisplayText.visible(text).utf8 {
      switch byte {
      case UInt8(ascii: "&"): bytes += "&amp;".utf8
      case UInt8(ascii: "<"): bytes += "&lt;".utf8
      case UInt8(ascii: ">"): bytes += "&gt;".utf8
      case UInt8(ascii: "\""): bytes += "&quot;".utf8
      case UInt8(ascii: "'"): bytes += "&#39;".utf8
      default: bytes.append(byte)
      }
    }
  }

  /// A whole page.
  static func page(_ attributes: Attributes, _ parts: HTML...) -> [UInt8] {
    Array("<!DOCTYPE html>\n".utf8) + HTML(.html, attributes, HTML(parts)).bytes
  }

  init(_ parts: some Sequence<HTML>) {
    for part in parts { bytes += part.bytes }
  }

  /// An element; without content, one that has no end tag.
  init(_ element: Element, _ attributes: Attributes, _ content: HTML...) {
    bytes += "<\(element.rawValue)".utf8
    for (name, value) in attributes {
      bytes += " \(name)=\"".utf8 + HTML(text: value).bytes
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(UInt8(ascii: ">"))
    for part in content { bytes += part.bytes }
    if element != .meta { bytes += "</\(element.rawValue)>".utf8 }
    if element.isBlock { bytes.append(UInt8(ascii: "\n")) }
  }

  init(_ element: Element, _ content: HTML...) { self.init(element, [:], HTML(content)) }

  static func += (first: inout HTML, second: HTML) { first.bytes += second.bytes }

  static func + (first: HTML, second: HTML) -> HTML { HTML([first, second]) }

  /// The style sheet, which is part of this program.
  static func style(_ sheet: StaticString) -> HTML {
    var html = HTML()
    html.bytes += "<style>\n\(sheet)</style>\n".utf8
    return html
  }
}

// MARK: - Values

extension HTML {
  /// A name, id or title that somebody chose: its writing direction ends with it.
  static func name(_ name: String) -> HTML { HTML(.bdi, HTML(text: name)) }

  /// A hash, a key or an id.
  static func code(_ value: some CustomStringConvertible) -> HTML { HTML(.code, "\(value)") }

  static func count(_ number: some BinaryInteger) -> HTML {
    HTML(.data, ["value": "\(number)"], HTML(text: Quantity.count(number)))
  }

  /// A time in UTC.
  static func time(_ time: Milliseconds) -> HTML {
    HTML(.time, ["datetime": RFC3339.text(time)], HTML(text: Zone.utc.text(time)))
  }

  /// Text with its line breaks.
  static func lines(_ text: String) -> HTML {
    var html = HTML()
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      html.bytes += HTML(text: String(line)).bytes + [UInt8(ascii: "\n")]
    }
    return HTML(.pre, html)
  }
}

// MARK: - Tables

extension HTML {
  struct Column {
    let title: String
    let isNumber: Bool

    static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
    static func text(_ title: String) -> Column { Column(title: title, isNumber: false) }
  }

  /// A table of rows with a cell for each column; the first one names its row.
  static func table(caption: String, _ columns: [Column], rows: [[HTML]]) -> HTML {
    let body = rows.map { cells in
      let shown = zip(columns, cells).enumerated().map { index, pair in
        index == 0 ? HTML(.th, ["scope": "row"], pair.1) : cell(pair.1, in: pair.0)
      }
      return HTML(.tr, HTML(shown))
    }
    return table(caption: caption, columns, bodies: [HTML(.tbody, HTML(body))])
  }

  /// A table whose rows are written one by one.
  static func table(caption: String, _ columns: [Column], bodies: [HTML]) -> HTML {
    let titles = columns.map {
      HTML(.th, ["scope": "col", "class": $0.isNumber ? "n" : "t"], HTML(text: $0.title))
    }
    return HTML(
      .table, HTML(.caption, HTML(text: caption)), HTML(.thead, HTML(.tr, HTML(titles))), HTML(bodies))
  }

  static func cell(_ content: HTML, in column: Column) -> HTML {
    column.isNumber ? HTML(.td, ["class": "n"], content) : HTML(.td, content)
  }
}

/// The style sheet of the evidence report.
enum ReportStyle {
  /// Every text color has a contrast of at least 4.5 on both backgrounds, in light and in dark; nothing is said by color alone. Paper is
  /// always light.
  static let sheet: StaticString = """
    :root {
      color-scheme: light dark;
      --paper: #ffffff; --band: #f3f4f6; --ink: #1b1b1f; --faint: #54565c; --line: #83868c;
      --accent: #8f1740; --good: #17602a; --bad: #a31515; --mark: #1f5fa8;
    }
    @media screen and (prefers-color-scheme: dark) {
      :root {
        --paper: #141417; --band: #212126; --ink: #ececf0; --faint: #b3b5bc; --line: #80838a;
        --accent: #ff9db6; --good: #8bd796; --bad: #ff9c94; --mark: #7db8ff;
      }
    }
    @media print { :root { color-scheme: light; } }
    @page { size: A4; margin: 16mm 14mm; }
    * { box-sizing: border-box; }
    body {
      margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; background: var(--paper); color: var(--ink);
      font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
    }
    h1, h2, h3 { line-height: 1.25; margin: 2rem 0 0.5rem; break-after: avoid; }
    h1 { font-size: 1.7rem; margin-top: 0; }
    h2 { font-size: 1.3rem; border-bottom: 1px solid var(--line); padding-bottom: 0.2rem; }
    h3 { font-size: 1.05rem; }
    p, ul, dl { margin: 0.5rem 0; }
    a { color: var(--accent); }
    nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; list-style: none; padding: 0; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; }
    dt, caption, .faint, footer { color: var(--faint); }
    dd { margin: 0; overflow-wrap: anywhere; }
    table { border-collapse: collapse; width: 100%; margin: 0.75rem 0 1.25rem; font-size: 0.9rem; }
    caption { text-align: left; padding-bottom: 0.3rem; }
    th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.6rem 0.2rem 0; font-weight: normal; }
    th, td { overflow-wrap: anywhere; border-bottom: 1px solid var(--band); }
    thead th { font-weight: 600; border-bottom: 1px solid var(--line); overflow-wrap: normal; }
    tbody + tbody { border-top: 1px solid var(--line); }
    tr { break-inside: avoid; }
    .n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
    time { white-space: nowrap; }
    bdi { white-space: pre-wrap; }
    .good { color: var(--good); font-weight: 600; }
    .bad { color: var(--bad); font-weight: 600; }
    code, pre { font: 0.85em/1.4 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
    pre { background: var(--band); padding: 0.5rem 0.75rem; white-space: pre-wrap; break-inside: avoid; }
    svg { display: block; width: 100%; height: auto; margin: 0.5rem 0; break-inside: avoid; }
    svg text { fill: var(--ink); font: 11px system-ui, "DejaVu Sans", sans-serif; }
    svg .axis { stroke: var(--line); stroke-width: 1; }
    svg .gap { stroke: var(--line); stroke-width: 1; stroke-dasharray: 2 3; }
    svg .added { fill: var(--mark); }
    svg .changed { fill: none; stroke: var(--mark); stroke-width: 1; }
    svg .removed { fill: url(#hatch); stroke: var(--mark); stroke-width: 1; }
    svg .hatch { stroke: var(--mark); stroke-width: 1.5; }
    @media print { body { max-width: none; padding: 0; font-size: 9.5pt; } nav { display: none; } }

    """
}
