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
public struct BookmarksFormat: FileFormat {
  public let name = "bookmarks"
  public let summary = "a bookmarks file, as browsers import and export it"
  public let fileExtensions = ["html", "htm"]
  public let isWritten = true

  /// The scheme of addresses for items that have no web page: `heartlog:recipes/ribollita`.
  private static let scheme = "heartlog:"
  private static let note = "@note"
  private static let collectionPrefix = FileCollections.prefix

  /// Creates the format, which has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    if beginning.first(where: { !$0.isASCIIWhiteSpace }) == UInt8(ascii: "{") {
      return BrowserJSON.isRecognized(JSONDocument(beginning))
    }
    let text = String(decoding: beginning, as: UTF8.self).lowercased()
    return text.contains("<!doctype netscape-bookmark-file")
      || (text.contains("<dl>") && text.contains("<dt><a "))
      || ["<title>pocket export</title>", "<title>instapaper"].contains { text.contains($0) }
  }

  // MARK: Reading

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    var collections = FileCollections()
    func take(_ bookmark: Bookmark) {
      var unusable: [String] = []
      contents.takeNumbered(line: bookmark.line, id: bookmark.address) { () throws(LibraryError) in
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
        unusable += names.filter { !collections.insert(item.id, into: $0) }
        return item
      }
      for name in unusable {
        contents.remark(
          line: bookmark.line, "a collection cannot have the name \(name.quoted); it was left out")
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
    if !bookmark.note.isEmpty { item.set(note, .string(bookmark.note)) }
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
    do {
      // The object of fields contains values of the maximum depth.
      return try JSONValue.parse(text, depthMax: Limits.jsonDepthMax + 1)
    } catch {
      throw .invalidItem("DATA-FIELDS: \(error.reason)")
    }
  }

  // MARK: Writing

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
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
    let collections = item.fields.filter { $0.name.hasPrefix(collectionPrefix) }
      .map { String($0.name.dropFirst(collectionPrefix.count)) }
    let tags = (item["tags"]?.jsonValue.array ?? []).compactMap(\.string) + collections
    if !tags.isEmpty { attribute(Bookmark.tagsName, tags.joined(separator: ",")) }
    attribute(Bookmark.libraryName, library.name)
    attribute(Bookmark.idName, item.id)
    if let date = item.favoritedDate { attribute(Bookmark.dateName, RFC3339.text(date)) }
    var fields = JSONWriter()
    fields.value(item.fields)
    attribute(Bookmark.fieldsName, String(decoding: fields.bytes, as: UTF8.self))
    output.append(UInt8(ascii: ">"))
    HTMLText.append(library.bookmarkTitle(of: item).collapsed, to: &output)
    output += "</A>\n".utf8
    if let note = item[note]?.text {
      output += "        <DD>".utf8
      HTMLText.append(note, to: &output)
      output.append(UInt8(ascii: "\n"))
    }
  }
}
