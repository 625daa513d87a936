import Testing

@testable import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The worked examples of docs/format.md: fenced blocks whose info string is `hex` and a name.
struct FormatPage {
  private let examples: [String: [[UInt8]]]

  /// Reads the page. In a block, what follows a semicolon is a comment.
  init(path: String = #filePath) throws {
    let root = URL(fileURLWithPath: path)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appendingPathComponent("docs/format.md"), encoding: .utf8)
    var examples: [String: [[UInt8]]] = [:]
    var name: String?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```hex ") {
        name = String(line.dropFirst(7))
        examples[name!] = []
      } else if line.hasPrefix("```") {
        name = nil
      } else if let name {
        let digits = line.prefix { $0 != ";" }.filter { $0 != " " }
        examples[name, default: []].append(try #require(Hexadecimal.bytes(digits), "\(name): \(line)"))
      }
    }
    self.examples = examples
  }

  /// The lines of an example, each on its own.
  func lines(_ name: String) throws -> [[UInt8]] { try #require(examples[name], "no example \(name)") }

  /// All bytes of an example.
  func bytes(_ name: String) throws -> [UInt8] { try lines(name).flatMap { $0 } }

  /// An example that is digests one after the other.
  func digests(_ name: String) throws -> [Digest] {
    let bytes = try bytes(name)
    return stride(from: 0, to: bytes.count, by: 32).map { Digest(Array(bytes[$0..<$0 + 32])) }
  }
}
