/// The identifier of an arXiv paper: `2006.08594` or `quant-ph/0201082`, with a version (`v1`) or without.
///
/// Source: https://info.arxiv.org/help/arxiv_identifier.html.
struct ArXivIdentifier: Hashable, Sendable {
  /// Without the version.
  let base: String
  /// "v1"; nil where none is told.
  let version: String?

  /// As arXiv writes it, and as papers are called here.
  var text: String { base + (version ?? "") }

  /// An identifier and nothing else.
  init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    guard let (found, end) = Self.identifier(in: bytes, at: 0), end == bytes.count else { return nil }
    self = found
  }

  private init(base: ArraySlice<UInt8>, version: ArraySlice<UInt8>?) {
    self.base = String(decoding: base, as: UTF8.self)
    self.version = version.map { String(decoding: $0, as: UTF8.self) }
  }

  /// What a field for identifiers says: "arXiv:2006.08594v1 [cs]", "2006.08594", "0201082" with the class "quant-ph".
  init?(eprint text: String, primaryClass: String?) {
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

  /// The first identifier that a text names as such: an address at arxiv.org, "arXiv:…", a DOI of arXiv's own.
  static func first(in text: String) -> ArXivIdentifier? {
    let bytes = Array(text.utf8)
    var place = 0
    while let start = bytes.firstPlace(ofLowercase: "arxiv", from: place) {
      place = start + 5
      var next = place
      if bytes.has(".org/", at: next) {
        next += 5
        // A kind of page: abs, pdf, html, …
        guard let slash = bytes[next...].prefix(10).firstIndex(of: UInt8(ascii: "/")) else { continue }
        next = slash + 1
      } else if next < bytes.count, [UInt8(ascii: ":"), UInt8(ascii: ".")].contains(bytes[next]) {
        next += 1
        while next < bytes.count, next < place + 4, bytes[next] == 0x20 { next += 1 }
      } else {
        continue
      }
      if let (found, end) = identifier(in: bytes, at: next), !bytes.continuesWord(at: end) { return found }
    }
    return nil
  }

  /// An identifier that begins at a place, and where it ends.
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

  /// `YYMM.NNNN` and, since 2015, `YYMM.NNNNN`.
  private static func newBaseEnd(_ bytes: [UInt8], _ start: Int) -> Int? {
    guard bytes.digitCount(from: start) == 4, isMonth(bytes, start + 2), bytes.has(".", at: start + 4) else {
      return nil
    }
    let digits = bytes.digitCount(from: start + 5)
    return (4...5).contains(digits) ? start + 5 + digits : nil
  }

  /// `archive/YYMMNNN` and `archive.CL/YYMMNNN`.
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

  private static func isMonth(_ bytes: [UInt8], _ place: Int) -> Bool {
    let month = Int(bytes[place] - 0x30) * 10 + Int(bytes[place + 1] - 0x30)
    return (1...12).contains(month)
  }

  /// The archives that papers were submitted to before April 2007.
  private static let archives: Set<String> = [
    "acc-phys", "adap-org", "alg-geom", "ao-sci", "astro-ph", "atom-ph", "bayes-an", "chao-dyn", "chem-ph",
    "cmp-lg", "comp-gas", "cond-mat", "cs", "dg-ga", "funct-an", "gr-qc", "hep-ex", "hep-lat", "hep-ph",
    "hep-th", "math", "math-ph", "mtrl-th", "nlin", "nucl-ex", "nucl-th", "patt-sol", "physics", "plasm-ph",
    "q-alg", "q-bio", "quant-ph", "solv-int", "stat", "supr-con",
  ]
}

extension [UInt8] {
  fileprivate func has(_ text: StaticString, at place: Int) -> Bool {
    let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    return place >= 0 && count - place >= expected.count
      && self[place..<place + expected.count].elementsEqual(expected)
  }

  fileprivate func digitCount(from place: Int) -> Int {
    guard place < count else { return 0 }
    return self[place...].prefix(8).prefix { (0x30...0x39).contains($0) }.count
  }

  /// Whether a letter or a digit stands there.
  fileprivate func continuesWord(at place: Int) -> Bool {
    place < count && ((0x30...0x39).contains(self[place]) || (0x41...0x5A).contains(self[place] & 0xDF))
  }

  /// Where a word in lower case stands, however it is written.
  fileprivate func firstPlace(ofLowercase word: StaticString, from start: Int) -> Int? {
    let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard count - start >= expected.count else { return nil }
    return (start...count - expected.count).first { place in
      self[place..<place + expected.count].lazy.map { $0 | 0x20 }.elementsEqual(expected)
    }
  }
}
