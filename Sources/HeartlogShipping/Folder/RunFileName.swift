import Heartlog

/// What a run file is called: its commits, the root that they lead to, and its content, each in 16 digits.
///
/// `<first>-<last>-<root>-<content>.run`; the commits in decimal digits, the first eight bytes of the two hashes in hexadecimal
/// ones. A file without commits, whose last is the one before its first, tells that the stream ends there.
struct RunFileName: Hashable {
  let first: UInt64
  let last: UInt64
  /// The root after `last`.
  let root: RootPrefix
  /// Of the SHA-256 at the end of the file.
  let content: RootPrefix

  static let ending = ".run"
  private static let stemBytes = 4 * 16 + 3

  init(first: UInt64, last: UInt64, root: RootPrefix, content: RootPrefix) {
    self.first = first
    self.last = last
    self.root = root
    self.content = content
  }

  /// Reads exactly such a name.
  init?(_ name: String) {
    guard name.hasSuffix(Self.ending), name.utf8.count == Self.stemBytes + Self.ending.utf8.count else {
      return nil
    }
    self.init(stem: name.prefix(Self.stemBytes))
  }

  /// Reads the name that a file had before a file-syncing program put words between it and its ending: "… 2.run",
  /// "… (conflicted copy).run".
  init?(copy name: String) {
    guard name.hasSuffix(Self.ending), name.utf8.count > Self.stemBytes + Self.ending.utf8.count else {
      return nil
    }
    self.init(stem: name.prefix(Self.stemBytes))
  }

  /// Reads the name of a file that is in the cloud and not here: ".….run.icloud".
  init?(placeholder name: String) {
    guard name.hasPrefix("."), name.hasSuffix(".icloud") else { return nil }
    self.init(String(name.dropFirst().dropLast(".icloud".count)))
  }

  private init?(stem: Substring) {
    let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 4, parts.allSatisfy({ $0.utf8.count == 16 }),
      let first = Self.decimal(parts[0]), let last = Self.decimal(parts[1]),
      let root = Self.prefix(parts[2]), let content = Self.prefix(parts[3]),
      first >= 1, last <= Limits.numberMax, first <= last + 1
    else { return nil }
    self.init(first: first, last: last, root: root, content: content)
  }

  var text: String {
    "\(Self.digits(first))-\(Self.digits(last))-\(root.text)-\(content.text)\(Self.ending)"
  }

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

  /// Lower-case digits only: a name has one spelling.
  private static func prefix(_ digits: Substring) -> RootPrefix? {
    guard let bytes = Hexadecimal.bytes(digits), Hexadecimal.text(bytes) == digits else { return nil }
    return RootPrefix(word: bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
  }
}
