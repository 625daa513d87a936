import HeartlogFiles

/// Inputs in files.
package enum Corpus {
  package struct Input: Sendable {
    package let path: String
    package let bytes: [UInt8]
  }

  /// Reads a file, or the files of a folder in the order of their names.
  package static func inputs(at path: String) throws -> [Input] {
    let files = POSIXFileSystem()
    let isFolder = try files.info(path)?.kind == .directory
    let paths = isFolder ? try files.entries(of: path).map { "\(path)/\($0)" } : [path]
    return try paths.map { path in
      let file = try files.open(path, .read)
      return Input(path: path, bytes: try file.bytes(Int(try file.size()), at: 0))
    }
  }

  /// A word as libFuzzer's dictionaries have it.
  package static func escaped(_ word: String) -> String {
    word.utf8.map { byte in
      byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        ? String(UnicodeScalar(byte)) : "\\x\(String(byte >> 4, radix: 16))\(String(byte & 15, radix: 16))"
    }.joined()
  }
}

/// The folder `fixtures` of the project.
package struct Fixtures: Sendable {
  private let path: String

  package init(_ path: String) { self.path = path }

  /// The beginning of a file, up to the end of a line.
  func lines(_ name: String, byteCountMax: Int) throws -> [UInt8] {
    let bytes = try Corpus.inputs(at: "\(path)/\(name)").flatMap(\.bytes)
    guard bytes.count > byteCountMax, let end = bytes[..<byteCountMax].lastIndex(of: UInt8(ascii: "\n"))
    else {
      return bytes
    }
    return Array(bytes[...end])
  }
}
