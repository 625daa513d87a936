import Heartlog
import HeartlogLibraries
import HeartlogFormat
import Testing

@testable import HeartlogInterchange

@Suite("papers: CSL-JSON of other programs")
struct CSLFormatTests {
  private func read(_ text: String) throws -> FileContents { try Bibliography.read(text, as: CSLFormat()) }

  @Test("names, dates and identifiers in all their forms")
  func foreign() throws {
    let contents = try read(
      #"""
      [
        {"id":"http://zotero.org/users/1/items/A","type":"article","title":"One <i>x</i>","publisher":"arXiv","number":"arXiv:2006.08594",
         "URL":"http://arxiv.org/abs/2006.08594v2","note":"arXiv:2006.08594 [cs]\nRead it","abstract":"a\nb",
         "author":[{"family":"Beethoven","given":"Ludwig","non-dropping-particle":"van"},{"literal":"ATLAS, Inc."},
                   {"family":"King","given":"Martin Luther","suffix":"III"},{"family":"Fontaine","given":"Jean","dropping-particle":"de la"},{}],
         "issued":{"date-parts":[["2020",6,15]]},"accessed":{"date-parts":[[2024,3,5]]},"keyword":"a, b"},
        {"id":17,"type":"book","issued":{"raw":"2019-04"}},
        {"id":"x","type":"article-journal","DOI":"10.1000/ABC","issued":{"date-parts":[[2001]]}},
        {"id":"y","type":"article","archive":"arXiv","archive_location":"quant-ph/0201082v1","custom":{"other":1}},
        {"id":"bad","type":},
        17,
        {"type":"book"},
        {"id":"z","type":"book","issued":{"literal":"about 1800"},"custom":{"heartlog":{"fields":{"rating":5}}}}
      ]
      """#)
    let items = contents.records.map(\.item)
    #expect(items.map(\.id) == ["2006.08594v2", "17", "doi:10.1000/abc", "quant-ph/0201082v1", "z"])
    #expect(contents.records.map(\.line) == [2, 7, 8, 9, 13])
    #expect(contents.refusals.map(\.line) == [10, 11, 12])
    let paper = try FileItem(id: "x", fields: items[0].fields + items[0].defaults).decoded(as: Paper.self)
    #expect(
      paper.authors == [
        "Ludwig van Beethoven", "ATLAS, Inc.", "Martin Luther King III", "Jean de la Fontaine",
      ])
    #expect(paper.categories == ["a", "b"] && paper.title == "One <i>x</i>" && paper.summary == "a\nb")
    #expect(items[0].favoritedDate == 1_709_596_800_000 && items[0]["@note"] == .string("Read it"))
    #expect(
      items.map { $0.value(of: "publishedDate") } == [
        .string("2020-06-15T00:00:00.000Z"), .string("2019-04-01T00:00:00.000Z"),
        .string("2001-01-01T00:00:00.000Z"),
        .string("2002-01-01T00:00:00.000Z"), nil,
      ])
    #expect(items[4]["rating"] == .int64(5))
  }

  @Test("one object, an object of items, and what is cut short")
  func shapes() throws {
    #expect(try read(#"{"id":"a","type":"book"}"#).records.map(\.item.id) == ["a"])
    #expect(
      try read(#" { "items" : [ {"id":"a","type":"book"}, {"id":"b"} ] }"#).records.map(\.item.id) == [
        "a", "b",
      ])
    let cut = try read(#"[{"id":"a","type":"book"},{"id":"b","#)
    #expect(cut.records.map(\.item.id) == ["a"] && cut.refusals.count == 1)
    #expect(try read("[]").records.isEmpty && read("[]").refusals.isEmpty && read("[").refusals.count == 1)
    #expect(throws: LibraryError.self) { try read("17") }
    #expect(throws: LibraryError.self) { try read("") }
  }

  @Test("an item has the usual variables, with times beside its days")
  func written() throws {
    let papers = try Paper.papers(atom: Bibliography.fixture("papers-old-style-id-versioned.atom.xml"))
    let json = try JSONValue.parse(CSLFormat().write(Bibliography.items(papers), of: Paper.descriptor))
    let item = try #require(json.array?.first)
    #expect(item["title"] == .string(papers[0].title) && item["abstract"] == .string(papers[0].summary))
    #expect(item["URL"] == .string("https://arxiv.org/abs/quant-ph/0201082v1"))
    #expect(item["keyword"] == .string("quant-ph, cs.PL"))
    #expect(item["author"] == (try JSONValue.parse(#"[{"family":"Blaha","given":"Stephen"}]"#)))
    #expect(item["issued"] == (try JSONValue.parse(#"{"date-parts":[[2002,1,18]]}"#)))
    #expect(item["accessed"] == (try JSONValue.parse(#"{"date-parts":[[2026,2,25]]}"#)))
    #expect(item["number"] == .string("arXiv:quant-ph/0201082v1") && item["type"] == .string("article"))
    #expect(item["custom"]?["heartlog"]?["favoritedDate"] == .string("2026-02-25T06:13:20.000Z"))
  }

  @Test("the format of a file is told from its beginning")
  func guessed() {
    func guess(_ text: String, _ name: String? = nil) -> String? {
      FileFormats.standard.guess(Array(text.utf8), name: name, for: Paper.library)?.name
    }
    #expect(
      guess(#"[{"id":"a","type":"article-journal"}]"#) == "csl-json"
        && guess("\n\nTY  - JOUR\r\nER  - ") == "ris")
    #expect(
      guess("% comment\n@article{a,\n title={x}}") == "bibtex"
        && guess("@string(a = {b})", "x.txt") == "bibtex")
    #expect(guess(#"{"id":"a","fields":{"type":"x"}}"#) == "jsonl" && guess("mail@example.org") == nil)
    #expect(guess("", "library.bib") == "bibtex" && guess("", "library.RIS") == "ris")
  }
}
