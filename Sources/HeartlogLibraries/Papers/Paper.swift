import Heartlog

/// A paper on arXiv in one of its versions. Each version is a separate paper.
public struct Paper: FavoriteItem, Hashable {
  public static let library = "papers"

  /// The identifier with the version: "2006.08594v1", "quant-ph/0201082v1".
  public var id: String
  /// The title, on one line.
  public var title: String
  /// The abstract, with its original line breaks.
  public var summary: String
  /// The authors, in the order of the paper.
  public var authors: [String]
  /// The categories as arXiv names them, "cs.SE", in the order of the record.
  public var categories: [String]
  /// When the first version was published.
  public var publishedDate: Date
  /// When this version was published; `nil` if it is not known.
  public var updatedDate: Date?
  /// The address of the PDF at arXiv.
  public var pdfURL: URL
  /// The address of the abstract at arXiv.
  public var linkURL: URL
  /// Whether the paper was a favorite when it was read; never written to the store.
  public var isFavorite: Bool
  /// When the paper became a favorite; `nil` if it was not one when it was read. Never written to the store.
  public var favoritedDate: Date?

  /// Creates a paper.
  public init(
    id: String, title: String, summary: String = "", authors: [String] = [], categories: [String] = [],
    publishedDate: Date, updatedDate: Date? = nil, pdfURL: URL, linkURL: URL, isFavorite: Bool = false,
    favoritedDate: Date? = nil
  ) {
    self.id = id
    self.title = title
    self.summary = summary
    self.authors = authors
    self.categories = categories
    self.publishedDate = publishedDate
    self.updatedDate = updatedDate
    self.pdfURL = pdfURL
    self.linkURL = linkURL
    self.isFavorite = isFavorite
    self.favoritedDate = favoritedDate
  }

  /// The address of the abstract (`abs`) or the PDF (`pdf`) of a paper at arXiv.
  package static func url(_ kind: String, of id: String) throws(LibraryError) -> URL {
    guard let url = URL(string: "https://arxiv.org/\(kind)/\(id)") else {
      throw .invalidItem("\"\(id)\" is no arXiv identifier")
    }
    return url
  }
}

/// The identifier of an arXiv paper: `2006.08594` or `quant-ph/0201082`, with or without a version (`v1`).
///
/// Source: https://info.arxiv.org/help/arxiv_identifier.html.
package struct ArXivIdentifier: Hashable, Sendable {
  /// The identifier without the version.
  package let base: String
  /// The version, "v1"; `nil` if there is none.
  package let version: String?

  /// The identifier as arXiv writes it; also the id of a `Paper`.
  package var text: String { base + (version ?? "") }

  /// Parses a text that consists of an identifier only.
  package init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    guard let (found, end) = Self.identifier(in: bytes, at: 0), end == bytes.count else { return nil }
    self = found
  }

  private init(base: ArraySlice<UInt8>, version: ArraySlice<UInt8>?) {
    self.base = String(decoding: base, as: UTF8.self)
    self.version = version.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Parses the value of an identifier field: "arXiv:2006.08594v1 [cs]", "2006.08594", "0201082" with the
  /// class "quant-ph".
  package init?(eprint text: String, primaryClass: String?) {
    let text = text.withoutOuterWhiteSpace
    if let found = Self(text) ?? Self(text.prefix { $0 != " " }) ?? Self.first(in: text) {
      self = found
    } else if let archive = primaryClass?.split(separator: ".").first, let found = Self("\(archive)/\(text)")
    {
      self = found
    } else {
      return nil
    }
  }

  /// The first identifier in a text that is marked as one: an address at arxiv.org, "arXiv:…", or a DOI
  /// assigned by arXiv.
  package static func first(in text: String) -> ArXivIdentifier? {
    let bytes = Array(text.utf8)
    var offset = 0
    while let start = bytes.firstIndex(ofLowercase: "arxiv", from: offset) {
      offset = start + 5
      var next = offset
      if bytes.has(".org/", at: next) {
        next += 5
        // The kind of page: abs, pdf, html, …
        guard let slash = bytes[next...].prefix(10).firstIndex(of: UInt8(ascii: "/")) else { continue }
        next = slash + 1
      } else if next < bytes.count, [UInt8(ascii: ":"), UInt8(ascii: ".")].contains(bytes[next]) {
        next += 1
        while next < bytes.count, next < offset + 4, bytes[next] == 0x20 { next += 1 }
      } else {
        continue
      }
      if let (found, end) = identifier(in: bytes, at: next), !bytes.continuesWord(at: end) { return found }
    }
    return nil
  }

  /// Parses an identifier that starts at an offset, and returns it with its end.
  private static func identifier(in bytes: [UInt8], at start: Int) -> (ArXivIdentifier, Int)? {
    guard let baseEnd = newBaseEnd(bytes, start) ?? oldBaseEnd(bytes, start) else { return nil }
    var end = baseEnd
    if end < bytes.count, bytes[end] == UInt8(ascii: "v") {
      let digits = bytes.digitCount(from: end + 1)
      if (1...4).contains(digits), bytes[end + 1] != UInt8(ascii: "0") { end += 1 + digits }
    }
    let version = end > baseEnd ? bytes[baseEnd..<end] : nil
    return (ArXivIdentifier(base: bytes[start..<baseEnd], version: version), end)
  }

  /// The end of `YYMM.NNNN` or, since 2015, `YYMM.NNNNN`.
  private static func newBaseEnd(_ bytes: [UInt8], _ start: Int) -> Int? {
    guard bytes.digitCount(from: start) == 4, isMonth(bytes, start + 2), bytes.has(".", at: start + 4) else {
      return nil
    }
    let digits = bytes.digitCount(from: start + 5)
    return (4...5).contains(digits) ? start + 5 + digits : nil
  }

  /// The end of `archive/YYMMNNN` or `archive.CL/YYMMNNN`.
  private static func oldBaseEnd(_ bytes: [UInt8], _ start: Int) -> Int? {
    guard let slash = bytes[min(start, bytes.count)...].prefix(20).firstIndex(of: UInt8(ascii: "/")) else {
      return nil
    }
    let name = String(decoding: bytes[start..<slash], as: UTF8.self)
    let archive = name.prefix { $0 != "." }
    let subject = name.dropFirst(archive.count)
    guard archives.contains(String(archive)), subject.isEmpty || (3...10).contains(subject.utf8.count),
      subject.dropFirst().utf8.allSatisfy({ $0 == 0x2D || (0x41...0x5A).contains($0 & 0xDF) }),
      bytes.digitCount(from: slash + 1) == 7, isMonth(bytes, slash + 3)
    else { return nil }
    return slash + 8
  }

  private static func isMonth(_ bytes: [UInt8], _ offset: Int) -> Bool {
    let month = Int(bytes[offset] - 0x30) * 10 + Int(bytes[offset + 1] - 0x30)
    return (1...12).contains(month)
  }

  /// The archives to which papers were submitted before April 2007.
  private static let archives: Set<String> = [
    "acc-phys", "adap-org", "alg-geom", "ao-sci", "astro-ph", "atom-ph", "bayes-an", "chao-dyn", "chem-ph",
    "cmp-lg", "comp-gas", "cond-mat", "cs", "dg-ga", "funct-an", "gr-qc", "hep-ex", "hep-lat", "hep-ph",
    "hep-th", "math", "math-ph", "mtrl-th", "nlin", "nucl-ex", "nucl-th", "patt-sol", "physics", "plasm-ph",
    "q-alg", "q-bio", "quant-ph", "solv-int", "stat", "supr-con",
  ]
}

extension [UInt8] {
  fileprivate func digitCount(from offset: Int) -> Int {
    guard offset < count else { return 0 }
    return self[offset...].prefix(8).prefix { (0x30...0x39).contains($0) }.count
  }

  /// Whether there is a lower-case letter or a digit at this offset. BibSonomy appends the next word of a text:
  /// "arxiv:1412.6980Comment".
  fileprivate func continuesWord(at offset: Int) -> Bool {
    offset < count && ((0x30...0x39).contains(self[offset]) || (0x61...0x7A).contains(self[offset]))
  }

  /// The offset of a lower-case word, ignoring case in the text.
  fileprivate func firstIndex(ofLowercase word: StaticString, from start: Int) -> Int? {
    let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard count - start >= expected.count else { return nil }
    return (start...count - expected.count).first { offset in
      self[offset..<offset + expected.count].lazy.map { $0 | 0x20 }.elementsEqual(expected)
    }
  }
}
