import Heartlog
import HeartlogLibraries

/// A bookmark of another program's file, or of one of this program.
struct Bookmark {
  let line: Int
  var attributes: [String: String]
  /// The names of the folders that it is in, the outermost first.
  var folders: [String] = []
  var title = ""
  var note = ""

  static let addressName = "href"
  static let addDateName = "add_date"
  /// Pocket's name.
  static let addTimeName = "time_added"
  static let tagsName = "tags"
  static let libraryName = "data-heartlog"
  static let idName = "data-id"
  static let dateName = "data-since"
  static let fieldsName = "data-fields"

  /// Whether this program wrote it. Its fields then contain tags, and collections with their order.
  var isOwn: Bool { attributes[Self.libraryName] != nil }

  var address: String { (attributes[Self.addressName] ?? "").withoutOuterWhiteSpace }

  var tags: [String] { ItemColumns.tags(attributes[Self.tagsName] ?? "") }

  /// The date it was added; `nil` if there is none, or none that can be read.
  var date: Milliseconds? {
    let text = (attributes[Self.addDateName] ?? attributes[Self.addTimeName] ?? "").withoutOuterWhiteSpace
    guard let number = Double(text) else { return try? FileDate.time(text) }
    return number > 0 ? FileDate.time(number) : nil
  }
}

/// The bookmarks of an HTML file in order.
///
/// Browsers write a heading H3 and a list DL for each folder; Pocket and Instapaper write H1 and UL or OL.
struct Bookmarks {
  /// Whether the file contains a list at all, with or without bookmarks.
  private(set) var hasList = false

  private var tokens: HTMLTokens
  private var bookmark: Bookmark?
  /// The element that text belongs to.
  private enum Element {
    case other, title, note, heading
  }
  private var element = Element.other
  private var heading: (tag: String, text: String)?
  /// The names of the open lists; `nil` for a list without a heading.
  private var folders: [String?] = []

  init(_ bytes: [UInt8]) {
    tokens = HTMLTokens(
      bytes,
      attributes: [
        Bookmark.addressName, Bookmark.addDateName, Bookmark.addTimeName, Bookmark.tagsName,
        Bookmark.libraryName, Bookmark.idName, Bookmark.dateName, Bookmark.fieldsName,
      ])
  }

  mutating func next() -> Bookmark? {
    while let (line, token) = tokens.next() {
      switch token {
      // A link in a description is text of the description.
      case .open("a", _) where element == .note: break
      case .open("a", let attributes):
        let finished = finished()
        bookmark = Bookmark(line: line, attributes: attributes, folders: folders.compactMap { $0 })
        element = .title
        if let finished { return finished }
      case .close("a") where element == .title: element = .other
      case .open("dd", _): element = bookmark == nil ? .other : .note
      case .open("br", _) where element == .note: bookmark?.note += "\n"
      case .open(let tag, _) where ["h1", "h2", "h3"].contains(tag):
        let finished = finished()
        heading = (tag, "")
        element = .heading
        if let finished { return finished }
      case .close(let tag) where ["h1", "h2", "h3"].contains(tag): if element == .heading { element = .other }
      case .open(let tag, _) where ["dl", "ul", "ol"].contains(tag):
        let finished = finished()
        hasList = true
        // H1 is the title of a browser's file.
        let isTitle = tag == "dl" && heading?.tag == "h1"
        folders.append(isTitle ? nil : heading.map(\.text.collapsed).flatMap { $0.isEmpty ? nil : $0 })
        heading = nil
        if let finished { return finished }
      case .close(let tag) where ["dl", "ul", "ol"].contains(tag):
        _ = folders.popLast()
        if let finished = finished() { return finished }
      case .open("dt", _), .open("li", _), .open("hr", _):
        if let finished = finished() { return finished }
      case .text(let text):
        switch element {
        case .title: bookmark?.title += text
        case .note: bookmark?.note += text
        case .heading: heading?.text += text
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

/// The bookmarks in the JSON of browsers: Firefox's backup, and the file in which Chrome and its relatives keep them.
enum BrowserJSON {
  /// Deeper folders are not read.
  private static let depthMax = 128

  /// Whether a JSON text is one of these, by its first members.
  static func isRecognized(_ document: JSONDocument) -> Bool {
    guard document.isObject(document.root) else { return false }
    let members = document.members(of: document.root).members
    if let type = members["type"], let text = try? document.value(type).string {
      return text == "text/x-moz-place-container"
    }
    return members["roots"].map(document.isObject) == true
      && (members["checksum"] != nil || members["version"] != nil)
  }

  /// The bookmarks in order.
  static func bookmarks(in document: JSONDocument) -> [Bookmark] {
    var bookmarks: [Bookmark] = []
    append(document.root, in: document, folders: [], depth: 0, to: &bookmarks)
    return bookmarks
  }

  private static func append(
    _ node: JSONDocument.Node, in document: JSONDocument, folders: [String], depth: Int,
    to bookmarks: inout [Bookmark]
  ) {
    guard depth < depthMax, document.isObject(node) else { return }
    let members = document.members(of: node).members
    func text(_ name: String) -> String? {
      switch members[name].flatMap({ try? document.value($0) }) {
      case .string(let text)?: text
      case .int64(let number)?: String(number)
      default: nil
      }
    }
    let title = (text("title") ?? text("name") ?? "").collapsed
    if let roots = members["roots"] {
      for root in document.members(of: roots).members {
        append(root.value, in: document, folders: folders, depth: depth + 1, to: &bookmarks)
      }
    } else if let children = members["children"] {
      let inner = title.isEmpty ? folders : folders + [title]
      for element in document.elements(of: children).elements {
        append(element, in: document, folders: inner, depth: depth + 1, to: &bookmarks)
      }
    } else if let address = text("uri") ?? text("url") {
      var bookmark = Bookmark(line: node.line, attributes: [Bookmark.addressName: address], folders: folders)
      bookmark.title = title
      bookmark.attributes[Bookmark.addDateName] = text("dateAdded") ?? text("date_added")
      bookmark.attributes[Bookmark.tagsName] = text("tags")
      bookmarks.append(bookmark)
    }
  }
}
