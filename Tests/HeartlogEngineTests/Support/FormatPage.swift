import HeartlogFiles
import Testing

@testable import HeartlogFormat

/// The worked examples of docs/format.md: fenced blocks whose info string is `hex` or `text`, and a name.
struct FormatPage {
  private var blocks: [String: [String]] = [:]

  init() throws {
    let file = try POSIXFileSystem().open("\(Golden.repository)/docs/format.md", .read)
    let page = String(decoding: try file.bytes(Int(try file.size()), at: 0), as: UTF8.self)
    var name: String?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```"), name == nil {
        let words = line.dropFirst(3).split(separator: " ")
        name = words.count == 2 ? words.joined(separator: " ") : "other"
      } else if line.hasPrefix("```") {
        name = nil
      } else if let name {
        blocks[name, default: []].append(String(line))
      }
    }
  }

  /// The lines of a text, each ended by a line feed.
  func text(_ name: String) throws -> [UInt8] {
    let lines = try #require(blocks["text \(name)"], "no text \(name)")
    return lines.flatMap { Array("\($0)\n".utf8) }
  }

  /// Bytes; what follows a semicolon is a comment.
  func bytes(_ name: String) throws -> [UInt8] {
    let lines = try #require(blocks["hex \(name)"], "no example \(name)")
    return try lines.flatMap { line in
      try #require(Hexadecimal.bytes(line.prefix { $0 != ";" }.filter { $0 != " " }), "\(name): \(line)")
    }
  }
}
