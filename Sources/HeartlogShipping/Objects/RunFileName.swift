import Heartlog

/// The name of a run file: `<first>-<last>-<root>-<content>.run`.
///
/// Each of the four parts has 16 digits: the first and last commit in decimal, and the first eight bytes of
/// the root after the last commit and of the content hash in hexadecimal. A file without commits, whose last
/// commit is the one before its first, says that the stream ends there.
package struct RunFileName: Hashable {
  let first: UInt64
  let last: UInt64
  /// The root after `last`.
  let root: RootPrefix
  /// The prefix of the SHA-256 at the end of the file.
  let content: RootPrefix

  package static let ending = ".run"
  private static let stemBytes = 4 * 16 + 3

  init(first: UInt64, last: UInt64, root: RootPrefix, content: RootPrefix) {
    self.first = first
    self.last = last
    self.root = root
    self.content = content
  }

  /// Parses exactly such a name, with this ending or that of a file beside it.
  package init?(_ name: String, ending: String = ending) {
    guard name.hasSuffix(ending), name.utf8.count == Self.stemBytes + ending.utf8.count else {
      return nil
    }
    self.init(stem: name.dropLast(ending.utf8.count))
  }

  /// Parses the name of a copy: a file-syncing program inserted words before the ending, as in "… 2.run" or
  /// "… (conflicted copy).run".
  init?(copy name: String) {
    guard name.hasSuffix(Self.ending), name.utf8.count > Self.stemBytes + Self.ending.utf8.count else {
      return nil
    }
    self.init(stem: name.prefix(Self.stemBytes))
  }

  /// Parses the name of a file that is in the cloud and not downloaded: ".….run.icloud".
  init?(placeholder name: String) {
    guard name.hasPrefix("."), name.hasSuffix(".icloud") else { return nil }
    self.init(String(name.dropFirst().dropLast(".icloud".count)))
  }

  private init?(stem: Substring) {
    let parts = stem.parts(separatedBy: "-")
    guard parts.count == 4, parts.allSatisfy({ $0.utf8.count == 16 }),
      let first = Self.decimal(parts[0]), let last = Self.decimal(parts[1]),
      let root = Self.prefix(parts[2]), let content = Self.prefix(parts[3]),
      first >= 1, last <= Limits.numberMax, first <= last + 1
    else { return nil }
    self.init(first: first, last: last, root: root, content: content)
  }

  package var text: String { stem + Self.ending }

  /// The name without its ending.
  var stem: String { "\(Self.digits(first))-\(Self.digits(last))-\(root.text)-\(content.text)" }

  var commits: UInt64 { last + 1 - first }
  var isEnd: Bool { commits == 0 }

  private static func digits(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  private static func decimal(_ digits: Substring) -> UInt64? {
    guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return UInt64(digits)
  }

  /// Parses lower-case hexadecimal digits only, so that each name has one spelling.
  private static func prefix(_ digits: Substring) -> RootPrefix? {
    guard let bytes = Hexadecimal.bytes(digits), Hexadecimal.text(bytes) == digits else { return nil }
    return RootPrefix(word: bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
  }
}
