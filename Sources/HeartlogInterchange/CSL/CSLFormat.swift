import Heartlog
import HeartlogEvents
import HeartlogLibraries

/// CSL-JSON, as Zotero, pandoc and citation processors read and write it: an array of items, or one.
///
/// Source: https://github.com/citation-style-language/schema, csl-data.json 1.0.2. Its dates are days; times stand in `custom`.
public struct CSLFormat: FileFormat {
  public let name = "csl-json"
  public let summary = "CSL-JSON, as citation processors read it"
  public let fileExtensions = ["json", "csljson"]
  public let isWritten = true

  /// The format; it has no settings.
  public init() {}

  public func fits(_ library: any LibraryDescriptor) -> Bool {
    library.isOpaque || library.traits.contains(.publications)
  }

  /// An object or array of JSON with a type of CSL near its beginning.
  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let start = beginning.drop(while: \.isASCIIWhiteSpace)
    guard start.first == UInt8(ascii: "[") || start.first == UInt8(ascii: "{") else { return false }
    let text = String(decoding: start, as: UTF8.self)
    for piece in text.split(separator: "\"type\"", omittingEmptySubsequences: false).dropFirst() {
      let value = piece.drop(while: \.isWhitespace)
      guard value.first == ":" else { continue }
      let word = value.dropFirst().drop(while: \.isWhitespace).dropFirst().prefix { $0 != "\"" }
      if Self.types.contains(String(word)) { return true }
    }
    return false
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    guard document.isArray(document.root) || document.isObject(document.root) else {
      throw .invalidAnswer("JSON that is no array of items")
    }
    var contents = FileContents()
    guard let list = Self.list(in: document) else {
      contents.take([document.root], of: document, Self.item)
      return contents
    }
    let (records, failure) = document.elements(of: list)
    contents.take(records, of: document, Self.item)
    // Of a list that is cut short the last record says so.
    let isTold = records.last.map { $0.line == contents.refusals.last?.line } ?? false
    if let failure, !isTold { contents.refuse(line: failure.line, failure.reason) }
    return contents
  }

  /// An array, or the `items` that an object begins with; nil for an object that is an item.
  private static func list(in document: JSONDocument) -> JSONDocument.Node? {
    if document.isArray(document.root) { return document.root }
    guard let first = document.members(of: document.root).members.first, first.name == "items",
      document.isArray(first.value)
    else { return nil }
    return first.value
  }

  private static func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    try PaperReference(csl: record).item()
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    var output = Array("[".utf8)
    for (index, item) in items.enumerated() {
      var reference = PaperReference(item)
      reference.key = item.id
      let restored = try? PaperReference(csl: reference.csl).item()
      reference.rest = ItemRest(from: restored, to: item)
      var writer = JSONWriter()
      writer.value(reference.csl)
      output += Array(index == 0 ? "\n".utf8 : ",\n".utf8) + writer.bytes
    }
    return output + Array("\n]\n".utf8)
  }

  private static let types: Set<String> = [
    "article", "article-journal", "article-magazine", "article-newspaper", "bill", "book", "broadcast",
    "chapter", "classic", "collection", "dataset", "document", "entry", "entry-dictionary",
    "entry-encyclopedia", "event", "figure", "graphic", "hearing", "interview", "legal_case", "legislation",
    "manuscript", "map", "motion_picture", "musical_score", "pamphlet", "paper-conference", "patent",
    "performance", "periodical", "personal_communication", "post", "post-weblog", "regulation", "report",
    "review", "review-book", "software", "song", "speech", "standard", "thesis", "treaty", "webpage",
  ]
}
