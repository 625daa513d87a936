import Heartlog
import HeartlogLibraries

/// The bookmarks of a file in order, in whatever folders they are.
struct Bookmarks {
  struct Bookmark {
    let line: Int
    let attributes: [String: String]
    var title = ""
    var note = ""

    var address: String { (attributes[Bookmarks.addressName] ?? "").withoutOuterWhiteSpace }

    /// The tags of a bookmark written by another program. In Heartlog's own files, the fields contain the
    /// collections with their order.
    var tags: [String] {
      guard attributes[Bookmarks.libraryName] == nil, let text = attributes[Bookmarks.tagsName] else {
        return []
      }
      var tags: [String] = []
      for tag in text.split(separator: ",").map(\.withoutOuterWhiteSpace) where !tag.isEmpty {
        if !tags.contains(where: { $0.utf8.elementsEqual(tag.utf8) }) { tags.append(tag) }
      }
      return tags
    }

    /// The date it was added; `nil` if there is none. The unit is seconds since 1970, but Firefox has written
    /// microseconds, and others milliseconds.
    var date: Milliseconds? {
      guard let number = attributes[Bookmarks.addDateName].flatMap({ Int64($0.withoutOuterWhiteSpace) }),
        number > 0
      else { return nil }
      return number < 100_000_000_000
        ? number * 1_000 : number < 100_000_000_000_000 ? number : number / 1_000
    }
  }

  static let addressName = "href"
  static let addDateName = "add_date"
  static let tagsName = "tags"
  static let libraryName = "data-heartlog"
  static let idName = "data-id"
  static let dateName = "data-since"
  static let fieldsName = "data-fields"

  /// Whether the file contains a list at all, with or without bookmarks.
  private(set) var hasList = false

  private var tokens: HTMLTokens
  private var bookmark: Bookmark?
  /// The element that text belongs to.
  private enum Element {
    case other, title, note
  }
  private var element = Element.other

  init(_ bytes: [UInt8]) {
    tokens = HTMLTokens(
      bytes,
      attributes: [
        Self.addressName, Self.addDateName, Self.tagsName, Self.libraryName, Self.idName, Self.dateName,
        Self.fieldsName,
      ])
  }

  mutating func next() -> Bookmark? {
    while let (line, token) = tokens.next() {
      switch token {
      case .open("a", let attributes):
        let finished = finished()
        bookmark = Bookmark(line: line, attributes: attributes)
        element = .title
        if let finished { return finished }
      case .close("a"): element = .other
      case .open("dd", _): element = bookmark == nil ? .other : .note
      case .open("br", _) where element == .note: bookmark?.note += "\n"
      case .open("dl", _), .close("dl"), .open("dt", _), .open("h3", _), .open("hr", _):
        if case .open("dl", _) = token { hasList = true }
        if let finished = finished() { return finished }
      case .text(let text):
        switch element {
        case .title: bookmark?.title += text
        case .note: bookmark?.note += text
        case .other: break
        }
      default: break
      }
    }
    return finished()
  }

  /// Ends and returns the current bookmark. The text that follows does not belong to it.
  private mutating func finished() -> Bookmark? {
    element = .other
    defer { bookmark = nil }
    guard var finished = bookmark else { return nil }
    finished.title = finished.title.collapsed
    finished.note = finished.note.withoutOuterWhiteSpace
    return finished
  }
}
