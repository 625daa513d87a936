import HeartlogEvents

/// The files `store` and `ended`: lines of text, the format's version first, a checksum of them all last.
struct ChecksummedText {
  let version: Int
  /// Those between the version and the checksum. Bytes, not characters: a name may begin with a mark that combines with the space before
  /// it.
  let lines: [ArraySlice<UInt8>]

  static let formatVersion = 1
  /// What every such file of any version begins with.
  static let start = Array("heartlog ".utf8)

  /// Reads a file; nil where it is damaged.
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

  /// The last line and its line feed.
  static let checksumLineBytes = "checksum 0123456789abcdef\n".utf8.count

  private static func checksumLine(of text: String) -> String {
    let checksum = Array(text.utf8).withUnsafeBytes { Checksum.of($0, seed: 0) }
    return "checksum \(HybridTimestamp(rawValue: checksum))"
  }

  /// The version that a first line names.
  static func version(in line: ArraySlice<UInt8>) -> Int? {
    value(of: "heartlog", in: line).flatMap { Int($0) }.flatMap { $0 >= 1 ? $0 : nil }
  }

  /// What stands in a line behind `key` and a space.
  static func value(of key: String, in line: ArraySlice<UInt8>) -> String? {
    let start = Array("\(key) ".utf8)
    guard line.starts(with: start) else { return nil }
    return String(validating: line.dropFirst(start.count), as: UTF8.self)
  }

  /// - Parameter what: what the file says, with its article.
  func checkVersion(of what: String, file: String) throws(StorageError) {
    guard version <= Self.formatVersion else {
      throw StorageError(
        .newerFormat,
        "\(what) of format version \(version), this Heartlog reads up to \(Self.formatVersion)", file: file)
    }
  }
}
