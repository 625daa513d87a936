import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Testing

@testable import HeartlogInterchange

@Suite("papers: files of arXiv")
struct ArXivFormatTests {
  private func read(_ bytes: [UInt8]) throws -> FileContents {
    let format = try #require(FileFormats.standard.guess(bytes, name: nil, for: Paper.library))
    #expect(format.name.hasPrefix("arxiv-") && !format.isWritten)
    return try format.read(bytes, for: Paper.descriptor)
  }

  @Test("a feed is imported as the papers that it holds")
  func feed() throws {
    let bytes = try Bibliography.fixture("papers-feed-10.atom.xml")
    let contents = try read(bytes)
    #expect(
      try contents.records.map { try $0.item.decoded(as: Paper.self).id }
        == Paper.papers(atom: bytes).map(\.id))
    #expect(contents.refusals == [] && contents.records.count == 10)
    let lines = contents.records.map(\.line)
    #expect(lines == lines.sorted() && Set(lines).count == 10)
    #expect(try read(Bibliography.fixture("papers-empty.atom.xml")).records.isEmpty)
  }

  @Test("an answer that is an error is refused in arXiv's own words")
  func error() throws {
    let error = #expect(throws: LibraryError.self) { try read(Bibliography.fixture("papers-error.atom.xml")) }
    #expect(error == .invalidAnswer("arXiv answers: incorrect id format for abc"))
  }

  @Test("an entry that is no paper is refused with its line, and takes no other with it")
  func badEntry() throws {
    let text = """
      <feed><!-- arxiv.org/ -->
      <entry><id>http://arxiv.org/abs/1v1</id><title>A</title><published>2024-03-01T00:00:00Z</published></entry>
      <entry><id>http://arxiv.org/abs/2v1</id><title>B</title></entry>
      <entry><id>http://arxiv.org/abs/3v1</id><title>C</title><published>2024-03-01T00:00:00Z</published></entry></feed>
      """
    let contents = try read(Array(text.utf8))
    #expect(contents.records.map(\.item.id) == ["1v1", "3v1"])
    #expect(contents.refusals == [.init(line: 3, reason: "the entry 2v1 without a title or a date")])
  }

  @Test("real feeds and the snapshot", .needsRealData)
  func real() throws {
    for (name, count) in [("feed-100", 100), ("old-style-id", 1), ("single", 1), ("empty", 0)] {
      let contents = try read(RealData.bytes("papers/\(name).atom.xml"))
      #expect(contents.records.count == count && contents.refusals == [])
    }
    let bytes = try RealData.bytes("papers/metadata-200.jsonl")
    let contents = try read(bytes)
    #expect(contents.records.count == 200 && contents.refusals == [] && contents.records[199].line == 200)
    #expect(contents.records[0].item.id == "0704.0001v2")
    let cut = try read(Array(bytes.prefix(5_000)) + Array("\n\n{}\n".utf8))
    #expect(
      cut.records.count + cut.refusals.count == bytes.prefix(5_000).count { $0 == 0x0A } + 2
        && cut.refusals.count == 2)
  }
}
