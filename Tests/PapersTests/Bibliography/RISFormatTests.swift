import Heartlog
import HeartlogLibraries
import Testing

@testable import HeartlogInterchange

@Suite("papers: RIS of other programs")
struct RISFormatTests {
  private func read(_ text: String) throws -> FileContents { try Bibliography.read(text, as: RISFormat()) }

  @Test("an export with carriage returns, continued lines, unknown tags, and a record that does not end")
  func foreign() throws {
    let contents = try read(
      """
      TY  - JOUR\r
      T1  - A title that\r
        goes on\r
      A1  - van Beethoven, Ludwig\r
      A1  - King, Martin Luther, III\r
      A1  - Plato\r
      Y1  - 2009/5//Spring\r
      N2  - First line\r
      second line\r
      \r
      after an empty one\r
      XX  - passed over\r
      DO  - https://doi.org/10.1000/ABC\r
      L1  - file:///tmp/x.pdf\r
      UR  - https://example.org/abc\r
      Y2  - 2024/03/05/\r
      N1  - arXiv:none\r
      N1  - one\r
      N1  - two\r
      KW  - testing\r
      ER  - \r
      \r
      TY - UNPB
      ID  - smith
      TI  - Two
      DA  - 2020/07/01/
      ER  -
      TY  - GEN
      AN  - arXiv:quant-ph/0201082v1
      TY  - GEN
      TI  - nothing to call it by
      ER  - \n
      AU  - Stray
      TI  - Stray
      ER  - 
      TY  - GEN
      UR  - https://arxiv.org/abs/2006.08594v3
      """)
    let items = contents.records.map(\.item)
    #expect(
      items.map(\.id) == [
        "doi:10.1000/abc", "smith", "quant-ph/0201082v1", "ref:e11e0399e67a22c55bdb", "2006.08594v3",
      ])
    #expect(contents.records.map(\.line) == [1, 23, 28, 30, 37])
    #expect(contents.refusals.map(\.line) == [34])
    let first = items[0]
    #expect(first["title"] == .string("A title that goes on") && first.favoritedDate == 1_709_596_800_000)
    #expect(
      first["summary"] == .string("First line\nsecond line\n\nafter an empty one")
        && first["@note"] == .string("one\ntwo"))
    #expect(first.value(of: "publishedDate") == .string("2009-05-01T00:00:00.000Z"))
    #expect(first["linkURL"] == .string("https://example.org/abc") && first["pdfURL"] == nil)
    let paper = try FileItem(id: first.id, fields: first.fields + first.defaults).decoded(as: Paper.self)
    #expect(
      paper.authors == ["Ludwig van Beethoven", "Martin Luther King III", "Plato"]
        && paper.categories == ["testing"])
  }

  @Test("a value that is not UTF-8 is refused with its record")
  func bytes() throws {
    let bytes =
      Array("TY  - GEN\nID  - a\nTI  - ".utf8) + [0xE9] + Array("\nER  - \nTY  - GEN\nID  - b\nER  - \n".utf8)
    let contents = try RISFormat().read(bytes, for: Paper.descriptor)
    #expect(contents.records.map(\.item.id) == ["b"])
    #expect(contents.refusals == [.init(line: 1, reason: "a value of TI that is not UTF-8")])
  }

  @Test("a record has the usual tags")
  func written() throws {
    let papers = try Paper.papers(atom: Bibliography.fixture("papers-old-style-id-versioned.atom.xml"))
    let text = String(
      decoding: try RISFormat().write(Bibliography.items(papers), of: Paper.descriptor), as: UTF8.self)
    for line in [
      "TY  - UNPB", "ID  - quant-ph/0201082v1", "TI  - \(papers[0].title)", "AU  - Blaha, Stephen",
      "AB  - \(papers[0].summary)", "PY  - 2002",
      "DA  - 2002/01/18/15:08:05.000Z",
      "AN  - arXiv:quant-ph/0201082v1", "KW  - quant-ph", "KW  - cs.PL",
      "UR  - https://arxiv.org/abs/quant-ph/0201082v1",
      "L1  - https://arxiv.org/pdf/quant-ph/0201082v1", "Y2  - 2026/02/25/06:13:20.000Z",
      #"C8  - heartlog:{"fields":{"updatedDate":"2002-01-18T15:08:05.000Z"}}"#, "ER  - ",
    ] { #expect(text.contains(line + "\n"), "\(line)") }
  }
}
