import HeartlogFormat

/// The format of the files `store` and `ended`: lines of text, the first with the format version, the last with a checksum of the
/// others.
struct ChecksummedText {
  let version: Int
  /// The lines between the version and the checksum. Bytes, not characters: a name may begin with a mark that combines with the space
  /// before it.
  let lines: [ArraySlice<UInt8>]

  static let formatVersion = 1
  /// The start of every such file, in any version.
  static let start = Array("heartlog ".utf8)

  /// Parses a file; nil if it is damaged.
  init?(_ bytes: [UInt8]) {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.popLast()?.isEmpty == true, let last = lines.popLast(),
      let covered = String(validating: bytes[..<last.startIndex], as: UTF8.self),
      Array(last) == Array(Self.checksumLine(of: covered).utf8), let first = lines.first,
      let version = Self.version(in: first)
    else { return nil }
    self.version = version
    self.lines = Array(lines.dropFirst())
  }

  static func encoded(_ lines: [String]) -> [UInt8] {
    let text = (["heartlog \(formatVersion)"] + lines).map { $0 + "\n" }.joined()
    return Array((text + checksumLine(of: text) + "\n").utf8)
  }

  /// The length of the last line, including its line feed.
  static let checksumLineBytes = "checksum 0123456789abcdef\n".utf8.count

  private static func checksumLine(of text: String) -> String {
    let checksum = Array(text.utf8).withUnsafeBytes { Checksum.of($0, seed: 0) }
    return "checksum \(HybridTimestamp(rawValue: checksum))"
  }

  /// The version in a first line; nil if there is none.
  static func version(in line: ArraySlice<UInt8>) -> Int? {
    value(of: "heartlog", in: line).flatMap { Int($0) }.flatMap { $0 >= 1 ? $0 : nil }
  }

  /// The rest of a line after `key` and a space; nil if the line has another key.
  static func value(of key: String, in line: ArraySlice<UInt8>) -> String? {
    let start = Array("\(key) ".utf8)
    guard line.starts(with: start) else { return nil }
    return String(validating: line.dropFirst(start.count), as: UTF8.self)
  }

  /// Checks that this version can read the file.
  ///
  /// - Parameter what: The kind of contents, with its article.
  /// - Throws: `newerFormat`.
  func checkVersion(of what: String, file: String) throws(HeartlogError) {
    guard version <= Self.formatVersion else {
      throw HeartlogError(
        .newerFormat,
        "\(what) of format version \(version); this Heartlog reads versions up to \(Self.formatVersion)",
        file: file)
    }
  }
}
