import Heartlog

/// The bookmarks file that all browsers import and export.
///
/// An item is a bookmark of its address, with its title as the text, its note as the description, and the names of its collections as tags.
/// What these do not tell exactly is in attributes that browsers pass over: `DATA-HEARTLOG` names the library, `DATA-ID` the item,
/// `DATA-SINCE` its date, and `DATA-FIELDS` has all fields as JSON.
///
/// Source: https://learn.microsoft.com/en-us/previous-versions/windows/internet-explorer/ie-developer/platform-apis/aa753582(v=vs.85)
public struct BookmarksFormat: FileFormat {
  public let name = "bookmarks"
  public let summary = "a bookmarks file, as browsers import and export it"
  public let libraries: Set<String>? = nil
  public let fileExtensions = ["html", "htm"]
  public let isWritten = true

  private static let note = "@note"
  private static let collectionPrefix = "@in/"

  /// The format; it has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8]) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self).lowercased()
    return text.contains("<!doctype netscape-bookmark-file")
      || (text.contains("<dl>") && text.contains("<dt><a "))
  }

  // MARK: Reading

  public func read(
    _ bytes: [UInt8], for library: String, now: Milliseconds
  ) throws(LibraryError) -> FileContents {
    var bookmarks = Bookmarks(bytes)
    var contents = FileContents()
    /// The bookmarks that others gave a tag, by their places in `sound`.
    var tagged: [String: [Int]] = [:]
    var sound: [(line: Int, item: FileItem)] = []
    while let bookmark = bookmarks.next() {
      do throws(LibraryError) {
        let item = try Self.item(bookmark, of: library).checked(for: library)
        for tag in bookmark.tags {
          guard (try? NameRules.checkFieldName(Self.collectionPrefix + tag)) != nil else {
            contents.refuse(
              line: bookmark.line, "a tag that no collection can be called: \(KnownField.shown(tag))")
            continue
          }
          tagged[tag, default: []].append(sound.count)
        }
        sound.append((bookmark.line, item))
      } catch {
        contents.refuse(line: bookmark.line, error.description)
      }
    }
    guard bookmarks.hasList || !sound.isEmpty else { throw .invalidAnswer("HTML without bookmarks") }
    // In a collection they have the order of the file.
    for (tag, places) in tagged {
      for (place, key) in zip(places, OrderKey.spread(places.count)) {
        sound[place].item.set(Self.collectionPrefix + tag, .string(key.text))
      }
    }
    for record in sound { contents.take(record.item, line: record.line) }
    return contents
  }

  private static func item(_ bookmark: Bookmarks.Bookmark, of library: String) throws(LibraryError)
    -> FileItem
  {
    if let named = bookmark.attributes[Bookmarks.libraryName] {
      guard named == library else { throw .invalidItem("an item of \(named), not of \(library)") }
      var item = FileItem(id: bookmark.attributes[Bookmarks.idName] ?? "")
      item.favoritedDate =
        try FileItem.date(bookmark.attributes[Bookmarks.dateName].map { .string($0) }, named: "DATA-SINCE")
        ?? bookmark.date
      try item.takeFields(try Self.json(bookmark.attributes[Bookmarks.fieldsName] ?? "{}"))
      return item
    }
    var item = try BookmarkAddress.item(at: bookmark.address, title: bookmark.title, in: library)
    item.favoritedDate = bookmark.date
    if !bookmark.note.isEmpty { item.set(note, .string(bookmark.note)) }
    return item
  }

  private static func json(_ text: String) throws(LibraryError) -> JSONValue {
    do {
      // The fields are around values as deep as these may be.
      return try JSONValue.parse(text, depthMax: Limits.jsonDepthMax + 1)
    } catch {
      throw .invalidItem("DATA-FIELDS: \(error.reason)")
    }
  }

  // MARK: Writing

  public func write(_ items: [FileItem], of library: String) throws(LibraryError) -> [UInt8] {
    var output = Array(
      """
      <!DOCTYPE NETSCAPE-Bookmark-file-1>
      <META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
      <TITLE>Bookmarks</TITLE>
      <H1>Bookmarks</H1>
      <DL><p>
          <DT><H3>\(library)</H3>
          <DL><p>

      """.utf8)
    for item in items {
      try item.checkWritable()
      guard item.isFavorite else { throw .invalidItem("\(item.id): no favorite, as every bookmark is") }
      Self.append(item, of: library, to: &output)
    }
    output += "    </DL><p>\n</DL><p>\n".utf8
    return output
  }

  private static func append(_ item: FileItem, of library: String, to output: inout [UInt8]) {
    func attribute(_ name: String, _ value: String) {
      output += " \(name.uppercased())=\"".utf8
      HTMLText.append(value, to: &output)
      output.append(UInt8(ascii: "\""))
    }
    output += "        <DT><A".utf8
    attribute(Bookmarks.addressName, BookmarkAddress.url(of: item, in: library))
    if let date = item.favoritedDate {
      attribute(Bookmarks.addDateName, String(date >= 0 ? date / 1_000 : (date - 999) / 1_000))
    }
    let tags = item.fields.filter { $0.name.hasPrefix(collectionPrefix) }
      .map { String($0.name.dropFirst(collectionPrefix.count)) }
    if !tags.isEmpty { attribute(Bookmarks.tagsName, tags.joined(separator: ",")) }
    attribute(Bookmarks.libraryName, library)
    attribute(Bookmarks.idName, item.id)
    if let date = item.favoritedDate { attribute(Bookmarks.dateName, RFC3339.text(date)) }
    var fields = JSONWriter()
    fields.value(item.fields)
    attribute(Bookmarks.fieldsName, String(decoding: fields.bytes, as: UTF8.self))
    output.append(UInt8(ascii: ">"))
    HTMLText.append(Paper.collapsed(BookmarkAddress.title(of: item, in: library)), to: &output)
    output += "</A>\n".utf8
    if let note = item[note]?.text {
      output += "        <DD>".utf8
      HTMLText.append(note, to: &output)
      output.append(UInt8(ascii: "\n"))
    }
  }
}
