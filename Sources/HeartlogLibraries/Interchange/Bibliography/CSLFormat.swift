import Heartlog
import HeartlogEvents

/// CSL-JSON, as Zotero, pandoc and citation processors read and write it: an array of items, or one.
///
/// Source: https://github.com/citation-style-language/schema, csl-data.json 1.0.2. Its dates are days; times stand in `custom`.
public struct CSLFormat: FileFormat {
  public let name = "csl-json"
  public let summary = "CSL-JSON, as citation processors read it"
  public let libraries: Set<String>? = [Paper.library]
  public let fileExtensions = ["json", "csljson"]
  public let isWritten = true

  /// The format; it has no settings.
  public init() {}

  /// An object or array of JSON with a type of CSL near its beginning.
  public func recognizes(_ beginning: [UInt8]) -> Bool {
    let start = beginning.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
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
    _ bytes: [UInt8], for library: String, now: Milliseconds
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    for element in try JSONElements(bytes).elements {
      contents.take(line: element.line) { () throws(LibraryError) in
        let json: JSONValue
        do throws(MalformedError) {
          json = try JSONValue.parse(Array(bytes[element.range]), depthMax: Limits.jsonDepthMax + 8)
        } catch {
          throw .invalidItem(error.reason)
        }
        return try PaperReference(csl: json).item()
      }
    }
    return contents
  }

  public func write(_ items: [FileItem], of library: String) throws(LibraryError) -> [UInt8] {
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
