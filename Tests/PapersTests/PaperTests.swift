import Foundation
import Heartlog
import HeartlogFormat
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("papers: what arXiv sends becomes a Paper")
struct PaperTests {
  @Test(
    "real feeds, each paper surviving the store", .needsRealData,
    arguments: [
      ("feed-100", 100), ("feed-10", 10), ("single", 1), ("old-style-id", 1), ("old-style-id-versioned", 1),
      ("empty", 0),
    ])
  func feeds(name: String, count: Int) throws {
    let papers = try Paper.papers(atom: RealData.bytes("papers/\(name).atom.xml"))
    #expect(papers.count == count && Set(papers.map(\.id)).count == count)
    for paper in papers {
      #expect(paper.id.contains("v") && !paper.authors.isEmpty && !paper.categories.isEmpty)
      #expect(!paper.summary.isEmpty && !paper.title.contains("\n"))
      #expect(paper.pdfURL.absoluteString == "https://arxiv.org/pdf/\(paper.id)")
      #expect(try stored(paper) == paper)
      var favorite = paper
      favorite.isFavorite = true
      favorite.favoritedDate = Date(timeIntervalSince1970: 1_709_294_400.123)
      #expect(try stored(favorite, isFavorite: true, favoritedDate: favorite.favoritedDate) == favorite)
    }
  }

  @Test("papers: the id has its version, and an old one its slash")
  func oldIdentifier() throws {
    let feed = try Data(contentsOf: TestFile.fixture("api/papers-old-style-id-versioned.atom.xml"))
    let paper = try #require(Paper.papers(atom: feed).first)
    #expect(paper.id == "quant-ph/0201082v1" && paper.authors == ["Stephen Blaha"])
    #expect(paper.categories == ["quant-ph", "cs.PL"] && paper.summary.hasPrefix("We show"))
    #expect(paper.publishedDate == Date(timeIntervalSince1970: 1_011_366_485))
    #expect(paper.linkURL.absoluteString == "https://arxiv.org/abs/quant-ph/0201082v1")
  }

  @Test("an answer that is an error says what arXiv says", .needsRealData)
  func errorAnswer() throws {
    let error = #expect(throws: LibraryError.self) {
      try Paper.papers(atom: RealData.bytes("papers/error.atom.xml"))
    }
    #expect(error == .invalidAnswer("arXiv answers: incorrect id format for abc"))
  }

  @Test("two hundred records of the snapshot, as their last versions", .needsRealData)
  func snapshot() throws {
    let lines = try RealData.bytes("papers/metadata-200.jsonl").split(separator: UInt8(ascii: "\n"))
    let papers = try lines.map { try Paper(snapshot: JSONValue.parse(Array($0))) }
    #expect(papers.count == 200 && Set(papers.map(\.id)).count == 200)
    #expect(papers[0].id == "0704.0001v2")
    #expect(papers[0].authors == ["C. Balázs", "E. L. Berger", "P. M. Nadolsky", "C. -P. Yuan"])
    #expect(
      papers[0].title
        == "Calculation of prompt diphoton production cross sections at Tevatron and LHC energies")
    #expect(papers[0].publishedDate == Date(timeIntervalSince1970: 1_175_541_522))
    for paper in papers { #expect(try stored(paper) == paper) }
  }

  static let entry = """
    <?xml version="1.0"?><!-- a feed --><feed><entry>
    <id>http://arxiv.org/abs/1v1</id><title>A &lt;B&gt; &amp; &#233;&#x1F600;
      C</title><published>2024-03-01T00:00:00Z</published><summary><![CDATA[ x < y ]]></summary>
    <author><name>N</name><affiliation/></author><category term='a"b'/></entry></feed>

    """

  @Test("entities, references, CDATA and missing links")
  func markup() throws {
    let paper = try #require(Paper.papers(atom: Array(Self.entry.utf8)).first)
    #expect(paper.title == "A <B> & é😀 C" && paper.summary == "x < y" && paper.categories == ["a\"b"])
    #expect(paper.pdfURL.absoluteString == "https://arxiv.org/pdf/1v1" && paper.updatedDate == nil)
  }

  @Test("what is no feed, or a feed cut short, is refused")
  func refused() {
    let bytes = Array(Self.entry.utf8)
    let whole = Self.entry.trimmingCharacters(in: .whitespacesAndNewlines).utf8.count
    for end in 0..<whole {
      #expect(throws: LibraryError.self) { try Paper.papers(atom: Array(bytes[..<end])) }
    }
    for text in [
      "<html/>", "<feed></feed><feed/>", "<feed>&nbsp;</feed>", "<feed>&#0;</feed>", "<feed>&#xD800;</feed>",
      "<feed>&#+1;</feed>", "<feed a='1' a='2'/>", "<feed a=1/>", "<feed><a></feed></a>",
      "<!DOCTYPE feed [<!ENTITY a 'b'>]><feed/>", "<feed><entry><id>x</id></entry></feed>",
      "<feed><entry><id>http://arxiv.org/abs/</id></entry></feed>",
      "<feed><entry><id>http://arxiv.org/abs/1v1</id><title/><published>today</published></entry></feed>",
      String(repeating: "<a>", count: 100_000),
    ] {
      #expect(throws: LibraryError.self, "\(text.prefix(80))") { try Paper.papers(atom: Array(text.utf8)) }
    }
    #expect(throws: LibraryError.self) { try Paper.papers(atom: [0x3C, 0xFF]) }
  }
}
