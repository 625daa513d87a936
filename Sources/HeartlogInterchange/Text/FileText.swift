import CHeartlogPlatform
import Heartlog
import HeartlogLibraries

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The text of a file in UTF-8, whatever encoding the file has.
///
/// The encoding is the one that the caller names, else that of a byte order mark, else the one that the file
/// declares, else UTF-8. If it is UTF-8 that the caller does not name, a line that is not UTF-8 is Windows-1252. Text is
/// never replaced by U+FFFD.
public struct FileText: Sendable {
  /// The text in UTF-8, without a byte order mark.
  public let bytes: [UInt8]
  /// The name of the file's encoding: "UTF-8" unless another one was named or found.
  package let encoding: String
  /// The numbers of the lines that were read as Windows-1252 because they are not UTF-8; the first line is 1.
  package let linesReadAsWindows1252: [Int]

  /// Reads the text of a file.
  ///
  /// - Parameters:
  ///   - bytes: the whole file.
  ///   - encoding: the name of its encoding, as iconv knows it; `nil` to find it.
  /// - Throws: `invalidAnswer` if the encoding is unknown, or the file is not text in it.
  public init(_ bytes: [UInt8], encoding: String? = nil) throws(LibraryError) {
    if let encoding {
      try self.init(bytes, named: encoding)
    } else if let mark = Self.mark(of: bytes), mark.encoding != "UTF-8" {
      try self.init(Array(bytes.dropFirst(mark.byteCount)), named: mark.encoding)
    } else if !bytes.starts(with: Self.utf8Mark), let declared = DeclaredEncoding(bytes),
      declared.name != "UTF-8"
    {
      try self.init(bytes, declared: declared)
    } else {
      try self.init(lines: bytes)
    }
  }

  private init(text: [UInt8], encoding: String, assumed: [Int] = []) {
    bytes = text.starts(with: Self.utf8Mark) ? Array(text.dropFirst(3)) : text
    self.encoding = encoding
    linesReadAsWindows1252 = assumed
  }

  private init(_ bytes: [UInt8], named encoding: String) throws(LibraryError) {
    switch EncodingName.key(encoding) {
    case "utf8":
      guard let line = Self.firstLineThatIsNotUTF8(bytes) else {
        self.init(text: bytes, encoding: "UTF-8")
        return
      }
      throw .invalidAnswer("line \(line) is not UTF-8")
    case "windows1252", "cp1252":
      guard let text = Windows1252.decoded(bytes[...]) else {
        throw .invalidAnswer("the text is not in the encoding Windows-1252")
      }
      self.init(text: text, encoding: "Windows-1252")
    default: self.init(text: try Self.converted(bytes, from: encoding), encoding: encoding)
    }
  }

  private init(_ bytes: [UInt8], declared: DeclaredEncoding) throws(LibraryError) {
    if declared.isKnown {
      try self.init(bytes, named: declared.name)
    } else if Self.firstLineThatIsNotUTF8(bytes) == nil {
      self.init(text: bytes, encoding: "UTF-8")
    } else {
      throw .invalidAnswer(
        "the file declares the encoding \(declared.name.quoted), which is unknown here; name another one")
    }
  }

  private init(lines bytes: [UInt8]) throws(LibraryError) {
    if String(validating: bytes, as: UTF8.self) != nil {
      self.init(text: bytes, encoding: "UTF-8")
      return
    }
    guard !bytes.contains(0) else { throw .invalidAnswer("the file is not text") }
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + bytes.count / 8)
    var assumed: [Int] = []
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      if index > 0 { text.append(0x0A) }
      if String(validating: line, as: UTF8.self) != nil {
        text += line
        continue
      }
      guard let decoded = Windows1252.decoded(line) else {
        throw .invalidAnswer("line \(index + 1) is neither UTF-8 nor Windows-1252; name the file's encoding")
      }
      text += decoded
      assumed.append(index + 1)
    }
    self.init(text: text, encoding: "UTF-8", assumed: assumed)
  }

  private static let utf8Mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// The encoding that the first bytes show: a byte order mark, or the zeros of ASCII in UTF-16, as in RFC 4627.
  package static func mark(of bytes: some Collection<UInt8>) -> (encoding: String, byteCount: Int)? {
    let marks: [([UInt8], String)] = [
      // The mark of UTF-16LE is also the beginning of that of UTF-32LE.
      (utf8Mark, "UTF-8"), ([0xFF, 0xFE, 0, 0], "UTF-32LE"), ([0, 0, 0xFE, 0xFF], "UTF-32BE"),
      ([0xFF, 0xFE], "UTF-16LE"), ([0xFE, 0xFF], "UTF-16BE"),
    ]
    if let (mark, encoding) = marks.first(where: { bytes.starts(with: $0.0) }) {
      return (encoding, mark.count)
    }
    let isZero = bytes.prefix(4).map { $0 == 0 }
    if isZero == [false, true, false, true] { return ("UTF-16LE", 0) }
    return isZero == [true, false, true, false] ? ("UTF-16BE", 0) : nil
  }

  private static func firstLineThatIsNotUTF8(_ bytes: [UInt8]) -> Int? {
    guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    return lines.firstIndex { String(validating: $0, as: UTF8.self) == nil }.map { $0 + 1 }
  }

  private static func converted(_ bytes: [UInt8], from encoding: String) throws(LibraryError) -> [UInt8] {
    var output: UnsafeMutableRawPointer?
    var (outputCount, failedAt) = (0, 0)
    // An empty name is the encoding of the process, and a slash begins an option of iconv.
    let isName =
      !encoding.isEmpty && encoding.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
    let code =
      !isName
      ? EINVAL
      : bytes.withUnsafeBytes {
        heartlog_convert_to_utf8(encoding, $0.baseAddress, $0.count, &output, &outputCount, &failedAt)
      }
    defer { free(output) }
    switch code {
    case 0: return Array(UnsafeRawBufferPointer(start: output, count: outputCount))
    case EINVAL:
      throw .invalidAnswer("the encoding \(encoding.quoted) is unknown; \"iconv -l\" lists the names")
    case EILSEQ:
      throw .invalidAnswer("the text is not in the encoding \(encoding): error at byte \(failedAt)")
    default: throw .invalidAnswer("there is not enough memory to convert the text")
    }
  }

  /// Whether iconv knows an encoding.
  fileprivate static func isKnown(_ encoding: String) -> Bool { (try? converted([], from: encoding)) != nil }
}

/// Comparison of the names of encodings.
private enum EncodingName {
  /// The letters and digits of a name, in lower case.
  static func key(_ name: String) -> String { name.lowercased().filter { $0.isLetter || $0.isNumber } }
}

/// The encoding that a file declares in its first lines: in HTML, XML, and as editors of BibTeX do.
private struct DeclaredEncoding {
  /// The name as iconv knows it, or as it is declared.
  let name: String
  let isKnown: Bool

  /// Where declarations are.
  private static let byteCountMax = 2_048

  init?(_ bytes: [UInt8]) {
    let ascii = bytes.prefix(Self.byteCountMax).map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }
    let head = String(decoding: ascii, as: UTF8.self)
    let start = head.drop(while: \.isWhitespace)
    guard start.first != "{", start.first != "[" else { return nil }
    let found = start.first == "<" ? Self.inMarkup(start) : Self.inComments(start)
    guard let found, !found.isEmpty else { return nil }
    let key = EncodingName.key(found)
    // A text in which these words can be read as ASCII is not in such an encoding.
    guard !["utf16", "utf32", "ucs2", "ucs4"].contains(where: key.hasPrefix) else { return nil }
    let alternatives = [Self.names[key], found, String(found.map { $0 == "_" ? "-" : $0 })]
    let known = alternatives.compactMap { $0 }.first { $0 == "UTF-8" || FileText.isKnown($0) }
    name = known ?? found
    isKnown = known != nil
  }

  /// The names by which other programs mean an encoding. As in browsers, the encodings of the first column are
  /// read as the larger ones that are used under their names: https://encoding.spec.whatwg.org/#names-and-labels
  private static let names: [String: String] = [
    "utf8": "UTF-8", "unicodeutf8": "UTF-8", "iso88591": "CP1252", "latin1": "CP1252", "88591": "CP1252",
    "ascii": "CP1252", "usascii": "CP1252", "westernascii": "CP1252", "westernisolatin1": "CP1252",
    "windows1252": "CP1252", "westernwindowslatin1": "CP1252", "macroman": "MACINTOSH",
    "xmacroman": "MACINTOSH", "westernmacosroman": "MACINTOSH", "shiftjis": "CP932", "xsjis": "CP932",
    "gb2312": "GB18030", "gbk": "GB18030", "euckr": "CP949", "ksc56011987": "CP949",
  ]

  /// `<meta charset=…>`, `<meta … content="text/html; charset=…">`, `<?xml … encoding="…"?>`.
  private static func inMarkup(_ head: Substring) -> String? {
    for tag in head.split(separator: "<") {
      let tag = tag.prefix { $0 != ">" }
      let lowered = tag.lowercased()
      let label = lowered.hasPrefix("meta") ? "charset=" : lowered.hasPrefix("?xml") ? "encoding=" : nil
      guard let label, let range = lowered.firstRange(of: label) else { continue }
      let value = lowered[range.upperBound...].drop { "\"' ".contains($0) }
      return String(value.prefix { !"\"' ;/?".contains($0) })
    }
    return nil
  }

  /// `% Encoding: …` of JabRef, `%% Saved with string encoding …` of BibDesk, `x-kbibtex-encoding=…` of KBibTeX,
  /// and `-*- coding: … -*-` of Emacs.
  private static func inComments(_ head: Substring) -> String? {
    for line in head.split(whereSeparator: \.isNewline) {
      let isComment = line.first == "%"
      let text = line.drop { $0 == "%" || $0 == " " || $0 == "\t" }
      let lowered = text.lowercased()
      if let range = lowered.firstRange(of: "x-kbibtex-encoding=") {
        return String(lowered[range.upperBound...].prefix { $0 != "}" })
      }
      if text.first == "@" { return nil }
      for label in ["encoding:", "saved with string encoding "] where lowered.hasPrefix(label) {
        return text.dropFirst(label.count).withoutOuterWhiteSpace
      }
      if isComment, let range = lowered.firstRange(of: "coding:") {
        let value = lowered[range.upperBound...].drop { $0 == " " }
        return String(value.prefix { $0 != " " && $0 != ";" })
      }
    }
    return nil
  }
}

/// The encoding of older Windows programs in the West.
private enum Windows1252 {
  /// The characters 0x80 to 0x9F; 0 where there is none.
  private static let characters: [UInt16] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,
    0x017D,
    0, 0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,
    0x017E, 0x0178,
  ]

  /// The text in UTF-8; `nil` if a byte is no character.
  static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + bytes.count / 4)
    for byte in bytes {
      guard byte >= 0x80 else {
        text.append(byte)
        continue
      }
      let code = byte < 0xA0 ? characters[Int(byte) - 0x80] : UInt16(byte)
      guard code != 0, let scalar = Unicode.Scalar(code), let units = UTF8.encode(scalar) else { return nil }
      text += units
    }
    return text
  }
}
