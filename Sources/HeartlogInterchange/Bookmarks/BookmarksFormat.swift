import Heartlog
import HeartlogLibraries

/// The bookmarks file that all browsers import and export.
///
/// An item is a bookmark of its address, with its title as the text, its note as the description, and the
/// names of its collections as tags. What these do not express exactly is in attributes that browsers ignore:
/// `DATA-HEARTLOG` names the library, `DATA-ID` the item, `DATA-SINCE` its date, and `DATA-FIELDS` contains
/// all fields as JSON.
///
/// It also reads the lists of Pocket and Instapaper, and the JSON of Firefox and Chrome.
///
/// Source:
/// https://learn.microsoft.com/en-us/previous-versions/windows/internet-explorer/ie-developer/platform-apis/aa753582(v=vs.85)
struct BookmarksFormat: FileFormat {
  let name = "bookmarks"
  let summary = "a bookmarks file, as browsers import and export it"
  let fileExtensions = ["html", "htm"]
  let isWritten = true

  /// The scheme of addresses for items that have no web page: `heartlog:recipes/ribollita`.
  private static let scheme = "heartlog:"

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    if beginning.first(where: { !$0.isASCIIWhiteSpace }) == UInt8(ascii: "{") {
      return BrowserJSON.isRecognized(JSONDocument(beginning))
    }
    let text = String(decoding: beginning, as: UTF8.self).lowercased()
    return text.contains("<!doctype netscape-bookmark-file")
      || (text.contains("<dl>") && text.contains("<dt><a "))
      || ["<title>pocket export</title>", "<title>instapaper"].contains { text.contains($0) }
  }

  // MARK: Reading

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    var collections = FileCollections()
    func take(_ bookmark: Bookmark) {
      contents.take(line: bookmark.line, id: bookmark.address, isNumbered: true) { () throws(LibraryError) in
        var item = try library.checked(try Self.item(bookmark, of: library))
        guard !bookmark.isOwn else { return item }
        // The folder of an export has the name of its library.
        var names = bookmark.folders.filter { $0 != library.name }
        // An app has no field for tags.
        if library.isOpaque || library.field("tags") != nil {
          try item.setTags(bookmark.tags)
        } else {
          names += bookmark.tags
        }
        collections.insert(item.id, into: names, line: bookmark.line)
        return item
      }
    }
    if bytes.first(where: { !$0.isASCIIWhiteSpace }) == UInt8(ascii: "{") {
      let document = JSONDocument(bytes)
      guard BrowserJSON.isRecognized(document) else {
        throw .invalidAnswer("the JSON is not a browser's bookmarks")
      }
      for bookmark in BrowserJSON.bookmarks(in: document) { take(bookmark) }
    } else {
      var bookmarks = Bookmarks(bytes)
      while let bookmark = bookmarks.next() { take(bookmark) }
      guard bookmarks.hasList || !contents.records.isEmpty || !contents.refusals.isEmpty else {
        throw .invalidAnswer("the file has no bookmarks")
      }
    }
    collections.apply(to: &contents)
    return contents
  }

  private static func item(_ bookmark: Bookmark, of library: any LibraryDescriptor)
    throws(LibraryError)
    -> FileItem
  {
    if let named = bookmark.attributes[Bookmark.libraryName] {
      guard named == library.name else {
        throw .invalidItem("the item belongs to \(named), not to \(library.name)")
      }
      var item = FileItem(id: bookmark.attributes[Bookmark.idName] ?? "")
      item.favoritedDate =
        try FileItem.date(bookmark.attributes[Bookmark.dateName].map { .string($0) }, named: "DATA-SINCE")
        ?? bookmark.date
      try item.takeFields(try Self.json(bookmark.attributes[Bookmark.fieldsName] ?? "{}"))
      return item
    }
    var item = try item(at: bookmark.address, title: bookmark.title, in: library)
    item.favoritedDate = bookmark.date
    if !bookmark.note.isEmpty { item.set(FavoritesLibrary.noteField, .string(bookmark.note)) }
    return item
  }

  /// The item for the address of a bookmark.
  private static func item(
    at address: String, title: String, in library: any LibraryDescriptor
  ) throws(LibraryError) -> FileItem {
    guard !address.isEmpty else { throw .invalidItem("a bookmark without an address") }
    if address.hasPrefix(scheme) {
      let parts = address.dropFirst(scheme.count).split(separator: "/", maxSplits: 1)
      guard parts.count == 2, parts[0] == library.name, let id = parts[1].percentDecoded else {
        throw .invalidItem("\(address.quoted) does not belong to \(library.name)")
      }
      return FileItem(id: id)
    }
    guard let item = try library.item(at: address, title: title) else {
      throw .invalidItem("\(address.quoted) is not the address of an item of \(library.name)")
    }
    return item
  }

  private static func json(_ text: String) throws(LibraryError) -> JSONValue {
    // The object of fields contains values of the maximum depth.
    try LibraryError.checking(
      JSONValue.parse(text, depthMax: Limits.jsonDepthMax + 1), in: "DATA-FIELDS: ")
  }

  // MARK: Writing

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    var output = Array(
      """
      <!DOCTYPE NETSCAPE-Bookmark-file-1>
      <META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
      <TITLE>Bookmarks</TITLE>
      <H1>Bookmarks</H1>
      <DL><p>
          <DT><H3>\(library.name)</H3>
          <DL><p>

      """.utf8)
    for item in items {
      try item.checkWritable()
      guard item.isFavorite else {
        throw .invalidItem("\(item.id): the item is not a favorite, and bookmarks hold only favorites")
      }
      Self.append(item, of: library, to: &output)
    }
    output += "    </DL><p>\n</DL><p>\n".utf8
    return output
  }

  private static func append(
    _ item: FileItem, of library: any LibraryDescriptor, to output: inout [UInt8]
  ) {
    func attribute(_ name: String, _ value: String) {
      output += " \(name.uppercased())=\"".utf8
      HTMLText.append(value, to: &output)
      output.append(UInt8(ascii: "\""))
    }
    output += "        <DT><A".utf8
    attribute(
      Bookmark.addressName,
      library.address(of: item) ?? "\(scheme)\(library.name)/\(item.id.percentEncoded)")
    if let date = item.favoritedDate {
      attribute(Bookmark.addDateName, String(date >= 0 ? date / 1_000 : (date - 999) / 1_000))
    }
    let collections = item.fields.compactMap { CollectionField.collection(of: $0.name) }
    let tags = (item["tags"]?.texts ?? []) + collections
    if !tags.isEmpty { attribute(Bookmark.tagsName, tags.joined(separator: ",")) }
    attribute(Bookmark.libraryName, library.name)
    attribute(Bookmark.idName, item.id)
    if let date = item.favoritedDate { attribute(Bookmark.dateName, RFC3339.text(date)) }
    attribute(Bookmark.fieldsName, item.fields.jsonObject.jsonText)
    output.append(UInt8(ascii: ">"))
    HTMLText.append(library.bookmarkTitle(of: item).collapsed, to: &output)
    output += "</A>\n".utf8
    if let note = item[FavoritesLibrary.noteField]?.text {
      output += "        <DD>".utf8
      HTMLText.append(note, to: &output)
      output.append(UInt8(ascii: "\n"))
    }
  }
}

/// The tags and texts of an HTML file in order, parsed as leniently as in browsers: nothing is an error.
///
/// Names of tags and attributes are in lower case. Parsing takes one pass. The values of attributes that are
/// not wanted, such as images of a megabyte, are skipped.
struct HTMLTokens {
  enum Token {
    case open(String, attributes: [String: String])
    case close(String)
    case text(String)
  }

  private let bytes: [UInt8]
  private let wanted: Set<String>
  private var offset = 0
  private var line = 1

  /// - Parameters:
  ///   - bytes: the file.
  ///   - attributes: the names of the attributes that are wanted.
  init(_ bytes: [UInt8], attributes: Set<String>) {
    self.bytes = bytes
    wanted = attributes
  }

  /// The next token, with the line at which it begins; `nil` at the end.
  mutating func next() -> (line: Int, token: Token)? {
    while offset < bytes.count {
      let start = line
      guard bytes[offset] == UInt8(ascii: "<"), offset + 1 < bytes.count else { return (start, text()) }
      switch bytes[offset + 1] {
      case UInt8(ascii: "!"), UInt8(ascii: "?"): skipDeclaration()
      case UInt8(ascii: "/"):
        advance(2)
        let name = name()
        _ = attributes()
        return (start, .close(name))
      case let byte where Self.isLetter(byte):
        advance(1)
        let name = name()
        return (start, .open(name, attributes: attributes()))
      default: return (start, text())
      }
    }
    return nil
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where offset < bytes.count {
      if bytes[offset] == 0x0A { line += 1 }
      offset += 1
    }
  }

  private mutating func skip(while condition: (UInt8) -> Bool) {
    while offset < bytes.count, condition(bytes[offset]) { advance() }
  }

  /// Reads at least one byte, up to the next `<`.
  private mutating func text() -> Token {
    let start = offset
    advance()
    skip { $0 != UInt8(ascii: "<") }
    return .text(HTMLText.decoded(bytes[start..<offset]))
  }

  private mutating func skipDeclaration() {
    guard bytes[offset...].starts(with: "<!--".utf8) else {
      skip { $0 != UInt8(ascii: ">") }
      return advance()
    }
    advance(4)
    while offset < bytes.count, !bytes[offset...].starts(with: "-->".utf8) { advance() }
    advance(3)
  }

  private mutating func name() -> String {
    let start = offset
    skip {
      !$0.isASCIIWhiteSpace && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=")
    }
    return String(decoding: bytes[start..<offset], as: UTF8.self).lowercased()
  }

  /// Reads attributes up to and including the end of the tag.
  private mutating func attributes() -> [String: String] {
    var attributes: [String: String] = [:]
    while true {
      skip { $0.isASCIIWhiteSpace || $0 == UInt8(ascii: "/") }
      guard offset < bytes.count, bytes[offset] != UInt8(ascii: ">") else { break }
      let name = name()
      skip(while: \.isASCIIWhiteSpace)
      guard offset < bytes.count, bytes[offset] == UInt8(ascii: "=") else { continue }
      advance()
      let value = value()
      if wanted.contains(name), attributes[name] == nil { attributes[name] = HTMLText.decoded(bytes[value]) }
    }
    advance()
    return attributes
  }

  private mutating func value() -> Range<Int> {
    skip(while: \.isASCIIWhiteSpace)
    guard offset < bytes.count else { return offset..<offset }
    let quote = bytes[offset]
    let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
    if isQuoted { advance() }
    let start = offset
    skip { isQuoted ? $0 != quote : !$0.isASCIIWhiteSpace && $0 != UInt8(ascii: ">") }
    let end = offset
    if isQuoted { advance() }
    return start..<end
  }
}

/// Encoding and decoding of text in HTML and in quoted attributes.
enum HTMLText {
  /// Replaces character references; unknown ones are left unchanged. Bytes that are not UTF-8 become U+FFFD.
  static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    let ampersand = UInt8(ascii: "&")
    guard bytes.contains(ampersand) else { return String(decoding: bytes, as: UTF8.self) }
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var offset = bytes.startIndex
    while offset < bytes.endIndex {
      let byte = bytes[offset]
      offset += 1
      if byte == ampersand,
        let end = bytes[offset...].prefix(CharacterReference.bytesMax).firstIndex(of: UInt8(ascii: ";")),
        let text = text(of: String(decoding: bytes[offset..<end], as: UTF8.self))
      {
        output += text.utf8
        offset = end + 1
      } else {
        output.append(byte)
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// The text for a reference. Besides the common references, only the no-break space is known: browsers do
  /// not write the many other entities of HTML here.
  private static func text(of reference: String) -> String? {
    reference == "nbsp" ? "\u{A0}" : CharacterReference.text(reference)
  }

  /// Appends a text, escaped.
  static func append(_ text: String, to output: inout [UInt8]) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): output += "&amp;".utf8
      case UInt8(ascii: "<"): output += "&lt;".utf8
      case UInt8(ascii: ">"): output += "&gt;".utf8
      case UInt8(ascii: "\""): output += "&quot;".utf8
      // A reader would turn it into a line feed.
      case 0x0D: output += "&#13;".utf8
      default: output.append(byte)
      }
    }
  }
}
