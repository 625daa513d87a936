import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Testing

@testable import HeartlogInterchange

@Suite("papers: tagged text of PubMed and the Web of Science")
struct DatabaseTextTests {
  private func read(_ text: String) throws -> FileContents {
    let format = try #require(FileFormats.standard.guess(Array(text.utf8), name: nil, for: "papers"))
    #expect(format.name == "ris")
    return try Bibliography.read(text, as: format)
  }

  private func text(_ item: FileItem, _ name: String) -> String? {
    if case .string(let text)? = item.value(of: name) { text } else { nil }
  }

  private func texts(_ item: FileItem, _ name: String) -> [String] {
    guard case .json(let json)? = item.value(of: name) else { return [] }
    return (json.value.array ?? []).compactMap(\.string)
  }

  private static let pubMed = """

    PMID- 20419165
    OWN - NLM
    STAT- MEDLINE
    DCOM- 20100728
    IS  - 1932-6203 (Electronic)
    IS  - 1932-6203 (Linking)
    DP  - 2010 May 12
    TI  - A title of more than one line that PubMed breaks after eighty characters, in
          the middle of a sentence.
    PG  - e10229
    LID - 10.1371/journal.pone.0010229 [doi]
    LID - e10229 [pii]
    AB  - BACKGROUND: One - two.
          TI  - is no tag here. CONCLUSIONS: Three.
    FAU - van der Berg, Johannes A
    AU  - van der Berg JA
    AD  - Institute, Zürich.
    FAU - Müller, Jörg 3rd
    AU  - Müller J 3rd
    CN  - Study Group
    LA  - eng
    PT  - Journal Article
    JT  - PloS one
    MH  - Humans
    MH  - *Neoplasms/genetics
    OT  - open access
    SO  - PLoS One. 2010 May 12;5(5):e10229. doi: 10.1371/journal.pone.0010229.

    PMID- 123
    TI  - Without a DOI
    AU  - Doe J
    DP  - 2009 Nov-Dec

    PMID- 99
    BTI - A book
    DP  - 2011 Spring
    AID - NBK1 [bookaccession]

    """

  @Test("PubMed's citations", arguments: ["\n", "\r\n"])
  func medline(end: String) throws {
    let contents = try read(
      Self.pubMed.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: end))
    #expect(contents.refusals == [] && contents.records.map(\.line) == [2, 30, 35])
    let items = contents.records.map(\.item)
    #expect(items.map(\.id) == ["doi:10.1371/journal.pone.0010229", "123", "99"])
    #expect(
      text(items[0], "title")
        == "A title of more than one line that PubMed breaks after eighty characters, in the middle of a sentence."
    )
    #expect(
      text(items[0], "summary") == "BACKGROUND: One - two. TI  - is no tag here. CONCLUSIONS: Three.")
    #expect(texts(items[0], "authors") == ["Johannes A van der Berg", "Jörg 3rd Müller", "Study Group"])
    #expect(texts(items[0], "categories") == ["Humans", "Neoplasms/genetics", "open access"])
    #expect(
      items.map { text($0, "publishedDate")?.prefix(10) } == ["2010-05-12", "2009-11-01", "2011-01-01"])
    #expect(texts(items[1], "authors") == ["J Doe"])
    #expect(items.map { text($0, "title") }.last == "A book")
  }

  private static let webOfScience = """
    FN Clarivate Analytics Web of Science
    VR 1.0
    PT J
    AU van der Berg, JA
       Doe, J
    AF van der Berg, Johannes A.
       Doe, Jane
    TI A title that goes
       on
    SO JOURNAL OF TESTS
    LA English
    DE open access; error
       correction
    ID SYSTEMS
    AB One.
    CR SMITH J, 1999, J TESTS, V1, P1
       DOE J, 2000, J TESTS, V2, P2
    PD MAY 12
    PY 2010
    VL 5
    DI 10.1000/ABC
    UT WOS:000277776500001
    ER

    PT B
    BA Roe, R
    CA Study Group
    TI Without a DOI
    PD NOV-DEC
    PY 2009
    UT WOS:000277776500002
    ER

    EF
    """

  @Test("records of the Web of Science, with the heading and without", arguments: [0, 2])
  func webOfScience(dropped: Int) throws {
    let lines = Self.webOfScience.split(separator: "\n", omittingEmptySubsequences: false)
    let contents = try read(lines.dropFirst(dropped).joined(separator: "\r\n"))
    #expect(contents.refusals == [] && contents.remarks == [])
    let items = contents.records.map(\.item)
    #expect(items.map(\.id) == ["doi:10.1000/abc", "WOS:000277776500002"])
    #expect(items.map { text($0, "title") } == ["A title that goes on", "Without a DOI"])
    #expect(texts(items[0], "authors") == ["Johannes A. van der Berg", "Jane Doe"])
    #expect(texts(items[1], "authors") == ["R Roe", "Study Group"])
    #expect(texts(items[0], "categories") == ["open access", "error correction", "SYSTEMS"])
    #expect(items.map { text($0, "publishedDate")?.prefix(10) } == ["2010-05-12", "2009-11-01"])
  }

  @Test("no other text is taken for them")
  func others() {
    for text in [
      "PMID,title\n123,A\n", "PMID- x\nTI  - A\n", "PT J\nXX y\n", "FN Clarivate\nTI A\n",
      "PT\tAU\tTI\nJ\tDoe\tA\n",
      "TI  - A\nPMID- 1\n",
    ] {
      #expect(TaggedText(ofDatabase: Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test("what stands outside of a record, or has no title, is named")
  func refusals() throws {
    let contents = try Bibliography.read("PT J\nAU Doe, J\nER\nTI Late\nEF\n", as: RISFormat())
    #expect(contents.refusals.map(\.line) == [4, 1])
    #expect(contents.refusals.first?.reason == "a record that does not begin with PT")
  }

  @Test("importing the same file again writes nothing, and every format has all of it")
  func twice() throws {
    for text in [Self.pubMed, Self.webOfScience] {
      let store = try FavoritesStore.inMemory()
      #expect(try store.take(Array(text.utf8), RISFormat(), into: "papers").added > 1)
      #expect(try store.take(Array(text.utf8), RISFormat(), into: "papers").events == 0)
      for format in FileFormats.standard.formats(for: "papers") where format.isWritten {
        try checkRoundTrip(of: "papers", as: format, from: store)
      }
    }
  }
}
