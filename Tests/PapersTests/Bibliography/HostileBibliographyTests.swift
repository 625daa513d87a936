import Foundation
import Heartlog
import HeartlogLibraries
import HeartlogTesting
import Testing

@testable import HeartlogInterchange

@Suite("papers: bytes that are no bibliography")
struct HostileBibliographyTests {
  /// The formats that read what anybody wrote.
  static let formats = FileFormats.standard.formats(onlyFor: Paper.library).map(\.name)

  private func read(_ bytes: [UInt8], _ name: String) throws -> FileContents? {
    let format = try #require(FileFormats.standard.named(name))
    _ = format.recognizes(Array(bytes.prefix(4_096)), for: Paper.descriptor)
    let contents = try? format.read(bytes, for: Paper.descriptor)
    let lines = bytes.count + 1
    #expect(contents?.refusals.allSatisfy { (1...lines).contains($0.line) } != false)
    return contents
  }

  @Test("random bytes, and random signs, are refused or passed over", arguments: formats)
  func random(name: String) throws {
    let seed = SeededRandom.testSeed()
    var random = SeededRandom(seed: seed)
    let signs = Array("@{}()\"=,#%\\$~^'`\n\r \tabcvH0129.:/-<>&;[]TYERAUPDA".utf8)
    for round in 0..<400 {
      let count = Int.random(in: 0...300, using: &random)
      let bytes = (0..<count).map { _ in
        round % 2 == 0
          ? UInt8.random(in: 0...255, using: &random) : signs[Int.random(in: 0..<signs.count, using: &random)]
      }
      _ = try read(bytes, name)
      _ = try read(
        Array("@misc{a, title = {".utf8) + bytes + Array("}, author = {".utf8) + bytes + Array("}}".utf8),
        name)
      _ = try read(Array("TY  - JOUR\nAU  - ".utf8) + bytes + Array("\nDA  - ".utf8) + bytes, name)
      _ = try read(Array("[{\"type\":\"book\",\"id\":\"".utf8) + bytes, name)
    }
  }

  @Test("real files with bytes changed, taken out and put in", arguments: formats)
  func mutated(name: String) throws {
    let seed = SeededRandom.testSeed()
    var random = SeededRandom(seed: seed)
    let feed = try Bibliography.fixture("papers-feed-10.atom.xml")
    let items = try Bibliography.items(Array(Paper.papers(atom: feed).prefix(3)))
    let format = try #require(FileFormats.standard.named(name))
    let file = format.isWritten ? try format.write(items, of: Paper.descriptor) : Array(feed.prefix(6_000))
    for _ in 0..<60 {
      var bytes = file
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, place + Int.random(in: 0...40, using: &random))
        let piece = (0..<Int.random(in: 0...4, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        bytes.replaceSubrange(place..<end, with: piece)
      }
      _ = try read(bytes, name)
    }
  }

  @Test(
    "large files of one sign, and deep nesting, take time in proportion to their size", arguments: formats)
  func large(name: String) throws {
    func many(_ text: String, _ count: Int) -> [UInt8] { Array(String(repeating: text, count: count).utf8) }
    let size = 1 << 16
    for text in [
      "@", "@a{", "@a{b,", "@a{b,\n", "\n@a{", "@comment{", "@string{a=", "{", "\\", "$", "\\'", "\\'{",
      "$${", "${$", " ", "\n", "\r", "TY  - \n", "AU  - a\n",
      "ER  - \n", "[", "{\"a\":", "[{", "\"", "arxiv:", "10.", ",",
      "%", "%@a{", "@a{b, c={@a{b, c={}x} ", "@a{b c, ", "@preamble{",
    ] {
      let bytes = many(text, size / text.utf8.count)
      _ = try read(bytes, name)
    }
    for text in [
      "{", "\\'{", "\\'", "$", "$${", "${", "\\$", "\\c ", " and ", ",", "arxiv.org/", "}{",
      "\\(", "\\textsuperscript{", "\\url{", "\\enquote{", "$<$",
    ] {
      let inside = many(text, size / 2 / text.utf8.count)
      let close = inside.reduce(0) { $0 + ($1 == 0x7B ? 1 : $1 == 0x7D ? -1 : 0) }
      let value = inside + many("}", max(0, close))
      for field in ["title", "author", "url", "doi", "eprint", "note"] {
        _ = try read(Array("@misc{a, \(field) = {".utf8) + value + Array("}}".utf8), name)
      }
      _ = try read(
        Array("TY  - JOUR\nTI  - ".utf8) + value + Array("\nAU  - ".utf8) + value + Array("\nUR  - ".utf8)
          + value, name)
    }
  }

  @Test("five megabytes of @ are no bibliography, and macros do not grow without end")
  func megabytes() throws {
    #expect(try read(Array(repeating: UInt8(ascii: "@"), count: 5_000_000), "bibtex") == nil)
    var text = "@string{a0 = {0123456789abcdef}}\n"
    for index in 1...40 { text += "@string{a\(index) = a\(index - 1) # a\(index - 1)}\n" }
    text += (0..<100).map { "@misc{k\($0), x = a16 # a16}\n" }.joined()
    let bomb = try #require(try read(Array(text.utf8), "bibtex"))
    #expect(bomb.refusals.contains { $0.reason == "macros of more than 4 MiB" })
    #expect(bomb.refusals.contains { $0.reason == "macros that expand to more than 64 MiB" })
  }

  @Test("a hundred thousand braces are text")
  func deep() throws {
    let deep = String(repeating: "{", count: 100_000) + "x" + String(repeating: "}", count: 100_000)
    let contents = try #require(
      try read(Array("@misc{a, title = {\(deep)}, author = {\(deep) and \(deep)}}".utf8), "bibtex"))
    #expect(contents.records.first?.item["title"] == .string("x") && contents.refusals.isEmpty)
  }
}
