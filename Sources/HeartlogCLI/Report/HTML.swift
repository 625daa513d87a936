import Heartlog

/// An HTML document as it is written.
///
/// Names of elements and attributes come from this program; everything else can enter only escaped.
struct HTML {
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

    /// Whether it has neither content nor an end tag.
    fileprivate var isVoid: Bool { self == .meta }
  }

  typealias Attributes = KeyValuePairs<StaticString, String>

  private(set) var bytes = Array("<!DOCTYPE html>\n".utf8)

  mutating func element(
    _ element: Element, _ attributes: Attributes = [:], _ content: (inout HTML) -> Void = { _ in }
  ) {
    bytes += "<\(element.rawValue)".utf8
    for (name, value) in attributes {
      bytes += " \(name)=\"".utf8
      escape(value)
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(UInt8(ascii: ">"))
    if !element.isVoid {
      content(&self)
      bytes += "</\(element.rawValue)>".utf8
    }
    if element.isBlock { bytes.append(UInt8(ascii: "\n")) }
  }

  mutating func element(_ element: Element, _ attributes: Attributes = [:], text: String) {
    self.element(element, attributes) { $0.text(text) }
  }

  /// Text on one line.
  mutating func text(_ text: String) { escape(text) }

  /// The style sheet, which is part of this program.
  mutating func style(_ sheet: StaticString) {
    bytes += "<style>\n\(sheet)</style>\n".utf8
  }

  /// Replaces what would end the text or the attribute, and what would change how the text around it is shown.
  private mutating func escape(_ text: String) {
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
}

// MARK: - Values

extension HTML {
  /// A name, id or title that somebody chose: its writing direction ends with it.
  mutating func name(_ name: String) { element(.bdi, text: name) }

  /// A hash, a key or an id.
  mutating func code(_ text: String) { element(.code, text: text) }

  mutating func count(_ number: some BinaryInteger) {
    element(.data, ["value": "\(number)"], text: Quantity.count(UInt64(clamping: number)))
  }

  /// A time in UTC.
  mutating func time(_ time: Milliseconds) {
    element(.time, ["datetime": RFC3339.text(time)], text: TimeStyle.utc.text(time))
  }

  /// Text with its line breaks.
  mutating func lines(_ text: String) {
    element(.pre) { html in
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        html.text(String(line))
        html.bytes.append(UInt8(ascii: "\n"))
      }
    }
  }
}

// MARK: - Tables

extension HTML {
  struct Column {
    let title: String
    var isNumber = false

    static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
    static func text(_ title: String) -> Column { Column(title: title) }
  }

  /// A table; `body` writes its rows.
  mutating func table(
    caption: String, _ columns: [Column], _ body: (inout HTML) -> Void
  ) {
    element(.table) { html in
      html.element(.caption, text: caption)
      html.element(.thead) { html in
        html.element(.tr) { html in
          for column in columns {
            html.element(
              .th, ["scope": "col", "class": column.isNumber ? "n" : "t"], text: column.title)
          }
        }
      }
      body(&html)
    }
  }

  mutating func row(_ content: (inout HTML) -> Void) { element(.tr, [:], content) }

  /// The cell that names its row.
  mutating func rowHeading(_ content: (inout HTML) -> Void) { element(.th, ["scope": "row"], content) }

  mutating func cell(_ content: (inout HTML) -> Void) { element(.td, [:], content) }

  mutating func number(_ number: some BinaryInteger) {
    element(.td, ["class": "n"]) { $0.count(number) }
  }
}
