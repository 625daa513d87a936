import Foundation
import Testing

/// Every Swift example of the articles stands in this target's sources, line by line: what is shown
/// compiles, and is run by a test.
@Suite("Examples of the documentation")
struct VerbatimTests {
  private static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The files below a folder with one of these extensions, by their paths.
  private static func files(in folder: String, _ pathExtension: String) -> [String] {
    let root = package.appending(path: folder).path
    let paths = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
    return paths.filter { $0.hasSuffix(".\(pathExtension)") }.map { "\(folder)/\($0)" }.sorted()
  }

  private static func lines(of path: String) throws -> [String] {
    try String(contentsOf: package.appending(path: path), encoding: .utf8).components(separatedBy: "\n")
  }

  static let articles = files(in: "Sources", "md").filter { $0.contains(".docc/") }

  private static func sources() throws -> [[String]] {
    try files(in: "Tests/DocumentationTests", "swift").map(lines)
  }

  /// Whether `block` stands in `source`, all of its lines as far to the right as the first.
  private func contains(_ source: [String], _ block: ArraySlice<String>) -> Bool {
    guard let first = block.first else { return false }
    return source.indices.contains { start in
      guard source[start].hasSuffix(first), start + block.count <= source.count else { return false }
      let indent = String(source[start].dropLast(first.count))
      guard indent.allSatisfy({ $0 == " " }) else { return false }
      return zip(source[start...], block).allSatisfy { $0 == ($1.isEmpty ? "" : indent + $1) }
    }
  }

  @Test("there are articles with examples")
  func some() throws {
    #expect(Self.articles.count > 10)
    #expect(try Self.articles.flatMap(Self.lines).count { $0 == "```swift" } > 10)
  }

  @Test("the examples of an article are compiled", arguments: articles)
  func article(path: String) throws {
    let lines = try Self.lines(of: path)
    let sources = try Self.sources()
    for begin in lines.indices where lines[begin] == "```swift" {
      let block = lines[(begin + 1)...].prefix { $0 != "```" }
      #expect(
        sources.contains { contains($0, block) },
        "\(path):\(begin + 1): the example is in no source of the tests")
    }
  }

  @Test("all of it is compiled once more where the default isolation is the main actor")
  func onMainActor() throws {
    let links = Self.package.appending(path: "Tests/DocumentationOnMainActorTests")
    let sources = Self.files(in: "Tests/DocumentationTests", "swift").filter {
      !$0.hasSuffix("VerbatimTests.swift")
    }
    for source in sources + ["Tests/HeartlogTests/ReadmeExampleTests.swift"] {
      let link = links.appending(path: URL(filePath: source).lastPathComponent)
      let target = try FileManager.default.destinationOfSymbolicLink(atPath: link.path)
      #expect(target == source.replacing("Tests/", with: "../", maxReplacements: 1))
    }
  }
}
