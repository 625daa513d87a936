import Heartlog
import HeartlogLibraries
import HeartlogFormat
import HeartlogTesting
import Testing

@testable import HeartlogInterchange

@Suite("papers: records as other programs write them")
struct ForeignRecordTests {
  private func read(_ text: String, _ name: String = "bibtex") throws -> FileContents {
    try Bibliography.read(text, as: try #require(FileFormats.standard.named(name)))
  }

  private func text(_ item: FileItem?, _ name: String) -> String? {
    if case .string(let text)? = item?.value(of: name) { text } else { nil }
  }

  private func texts(_ item: FileItem?, _ name: String) -> [String] {
    guard case .json(let json)? = item?.value(of: name) else { return [] }
    return (json.value.array ?? []).compactMap(\.string)
  }

  /// The day on which the paper of a record was published.
  private func published(_ text: String, _ name: String) throws -> String? {
    self.text(try read(text, name).records.first?.item, "publishedDate").map { String($0.prefix(10)) }
  }

  // MARK: - No record vanishes

  @Test(
    "entries are read whatever their types, fields and keys are called",
    arguments: [
      "@book_section{k, title={One}}", "@web-page{k, title={One}}", "@phd:thesis{k, title={One}}",
      "@x@y{k, title={One}}", "@ article {k, title={One}}",
      "@article2{k, title={One}, a_b={x}, c-d:e={y}, @f={z}}",
      "@article{a key (2010), title={One}}", "@article{edsgcl.1\"2, title={One}}",
      "@article{k, title={One}, doi = , year = }", "@misc{title={One}}", "@misc{\n  k ,\n  title={One}}",
    ])
  func spellings(entry: String) throws {
    let contents = try read("@misc{first, title={unclosed\n\(entry)\n\(entry.replacing("One", with: "Two"))")
    #expect(contents.records.map { text($0.item, "title") } == ["One", "Two"])
    #expect(contents.refusals.map(\.line) == [1])
  }

  @Test("comments with % are skipped after fields, between them and between entries")
  func comments() throws {
    let contents = try read(
      """
      % about @article{and more}, 100%
      @article{c1, % its key
        title={A title},
        year={2022},  % an inline comment, with } and {
        % a comment line
        author={Doe, Ann} % the last one
      }
      %@article{c2, title={Left out}}
      50% of @article{c3, title={Left out as well}}
      @article{c4, title={100% of it}}
      """)
    #expect(contents.records.map { text($0.item, "title") } == ["A title", "100% of it"])
    #expect(text(contents.records[0].item, "publishedDate") == "2022-01-01T00:00:00.000Z")
    #expect(texts(contents.records[0].item, "authors") == ["Ann Doe"])
    #expect(contents.refusals == [])
    #expect(contents.remarks.map(\.line) == [8, 9])
    #expect(contents.remarks.first?.reason == "an entry in a comment, which is left out")
  }

  @Test("a preamble may lack quotation marks")
  func preamble() throws {
    let contents = try read(
      "@preamble{\n\\newcommand{\\mnras}{Monthly}\n}\n@preamble(\"x\" # {y})\n@article{k, title={t}}\n@preamble{ {\n"
    )
    #expect(contents.records.map(\.item.id) == ["k"])
    #expect(contents.refusals.map(\.line) == [6])
  }

  @Test("after a fault, the next entry on the same line is read")
  func sameLine() throws {
    let contents = try read(
      "@misc{a, title {A}} @misc{b, title={B}}@misc{c, title={C} x} @misc{d, @misc{e, title={E}}")
    #expect(contents.records.map(\.item.id) == ["b", "e"])
    #expect(contents.refusals.count == 3)
  }

  @Test("after a fault, an entry in a comment is reported")
  func commentAfterFault() throws {
    let contents = try read("@misc{a, title={A} x}\n% a comment\n%@misc{b, title={B}}\n")
    #expect(contents.records.isEmpty && contents.refusals.count == 1)
    #expect(contents.remarks.map(\.line) == [3])
  }

  @Test(
    "an entry in a comment behind an e-mail address is reported", arguments: ["mail@example.org", "@example"])
  func commentAfterAddress(text: String) throws {
    let contents = try read("\(text)\n\n%@misc{b, title={B}}\n@misc{a, title={A}}\n")
    #expect(contents.records.map(\.item.id) == ["a"] && contents.remarks.map(\.line) == [3])
  }

  @Test("an entry in a comment is reported where no other entry stands")
  func commentAlone() throws {
    let contents = try read("free text\n\n%@misc{commented, title={E}}\n")
    #expect(contents.records.isEmpty && contents.refusals == [])
    #expect(contents.remarks.map(\.line) == [3])
  }

  @Test("bytes that are no bibliography are refused as a whole; comments alone are an empty one")
  func notBibliographies() throws {
    for text in ["mail@example.org", "%PDF-1.4\n@\u{1}\u{2} obj", "a, b\n1, 2"] {
      #expect(throws: LibraryError.self) { try read(text) }
    }
    for text in ["", "\n \n", "% Encoding: UTF-8\n", "% a\n\n@Comment{jabref-meta: databaseType:bibtex;}\n"] {
      let contents = try read(text)
      #expect(contents.records.isEmpty && contents.refusals == [])
    }
  }

  @Test("a database's heading and numbers before its records are not in the way")
  func headings() throws {
    let file =
      "Record #1 of 2\nProvider: X\n1.\nTY  - JOUR\nTI  - One\nER  - \n\n2.\nTY  - JOUR\nTI  - Two\nER  - \n"
    #expect(RISFormat().recognizes(Array(file.utf8), for: Paper.descriptor))
    #expect(try read(file, "ris").records.map { text($0.item, "title") } == ["One", "Two"])
  }

  // MARK: - Ids

  @Test("an item without an identifier gets the same one in each format")
  func derived() throws {
    let files = [
      (
        "bibtex",
        #"@book{, title={The {Caf{\'e}} of $H_2$: \emph{A} Study}, author={von Neumann, J. and X, Y}, year=1999}"#
      ),
      (
        "bibtex",
        #"@book{title="The café of $H_2$ -- a study", author="John von Neumann", date={1999-05-06}}"#
      ),
      (
        "ris",
        "TY  - BOOK\nT1  - The Café of $H_2$: A Study\nA1  - von Neumann, John\nY1  - 1999///\nER  - \n"
      ),
      (
        "csl-json",
        #"[{"type":"book","title":"The <i>Caf\u0065\u0301</i> of H<sub>2</sub>: a study","author":[{"family":"Neumann","non-dropping-particle":"von","given":"J."}],"issued":{"date-parts":[[1999]]}}]"#
      ),
    ]
    let ids = try files.map { try read($0.1, $0.0).records.first?.item.id }
    #expect(Set(ids) == ["ref:dc79416b02b1c6c308b1"])
    #expect(try read("@book{title={The café}, year=1999}").records.first?.item.id != ids[0])
    let long = String(repeating: "k", count: 5_000)
    #expect(try read("@book{\(long), title={T}}").records.first?.item.id.hasPrefix("ref:") == true)
  }

  @Test("an accession number is a key, before a number in a library and after a DOI")
  func accessionNumbers() throws {
    func id(_ tags: String) throws -> String? {
      try read("TY  - JOUR\nTI  - t\n\(tags)\nER  - \n", "ris").records.first?.item.id
    }
    #expect(try id("AN  - WOS:000123456789") == "WOS:000123456789")
    #expect(try id("ID  - 42\nAN  - 2013-99591-183") == "2013-99591-183")
    #expect(try id("AN  - WOS:1\nDO  - 10.1000/x") == "doi:10.1000/x")
    #expect(try id("AN  - arXiv:2006.08594") == "2006.08594")
    #expect(try id("ID  - 42") == "42")
  }

  @Test(
    "an identifier of arXiv is found before a word that follows without a space, and in every spelling of a DOI",
    arguments: [
      ("note={cite arxiv:1412.6980Comment: 10 pages}", "1412.6980"),
      ("note={cite arxiv:1412.6980v3Comment}", "1412.6980v3"), ("note={arxiv:1412.6980x}", "k"),
      (
        "doi={10.1002/(SICI)1097(199806)49:8$<$693::AID-ASI4$>$3.0.CO;2-O}",
        "doi:10.1002/(sici)1097(199806)49:8<693::aid-asi4>3.0.co;2-o"
      ),
      (#"doi={10.1000/1\ensuremath{<}2\textgreater{}3}"#, "doi:10.1000/1<2>3"),
      ("doi={10.1000/1&lt;2&gt;3}", "doi:10.1000/1<2>3"),
    ])
  func identifiers(fields: String, id: String) throws {
    #expect(try read("@article{k, \(fields)}").records.first?.item.id == id)
  }

  // MARK: - The same paper twice

  @Test("two records with one DOI are one item, the last record whole")
  func sameDOI() throws {
    let file =
      "@article{a, title={First}, doi={10.1000/x}, year=2001, abstract={Of the first}}\n@article{b, title={Second}, doi={10.1000/X}, year=2002}"
    let contents = try read(file)
    #expect(contents.records.map(\.item.id) == ["doi:10.1000/x"])
    #expect(text(contents.records[0].item, "title") == "Second")
    #expect(text(contents.records[0].item, "summary") == "")
    #expect(
      contents.remarks == [.init(line: 1, reason: "the same paper as on line 2, which is imported instead")])
  }

  @Test("different papers under one key are both kept under ids of their own, whatever their order")
  func sameKey() throws {
    let first = "TY  - JOUR\nID  - 12345\nTI  - First title\nAU  - Smith, Ann\nER  - \n"
    let second = "TY  - JOUR\nID  - 12345\nTI  - Another title\nAU  - Doe, Bob\nER  - \n"
    let contents = try read(first + second, "ris")
    let ids = contents.records.map(\.item.id)
    #expect(Set(ids).count == 2 && ids.allSatisfy { $0.hasPrefix("ref:") })
    #expect(contents.remarks.map(\.line) == [1, 6] && contents.refusals == [])
    #expect(
      contents.remarks.first?.reason == "12345 is the key of different papers; this one has the id \(ids[0])")
    #expect(try read(second + first, "ris").records.map(\.item.id) == ids.reversed())
  }

  @Test(
    "records are of one paper if an identifier is equal, or the title and a key or an address",
    arguments: [
      ("@a{k, title={A}}", "@a{k, title={{a}}}", 1),
      ("@a{k, title={A}, url={http://x.org/1}}", "@a{l, title={A.}, url={http://x.org/1}}", 1),
      ("@a{k, title={A}, url={http://x.org/1}}", "@a{l, title={B}, url={http://x.org/1}}", 2),
      ("@a{k, title={A}}", "@a{l, title={A}}", 2),
      ("@a{k, title={A}, doi={10.1/a}}", "@a{k, title={A}, doi={10.1/b}}", 2),
      ("@a{k, title={A}, doi={10.1/a}}", "@a{k, title={A}, eprint={2006.08594}}", 1),
      ("@a{k, eprint={2006.08594}}", "@a{l, title={B}, eprint={2006.08594}}", 1),
      ("@a{k, eprint={2006.08594v1}}", "@a{l, eprint={2006.08594v2}}", 2),
      ("@a{k, eprint={2006.08594}, doi={10.1/a}}", "@a{l, doi={10.1/a}}", 1),
      ("@a{title={A}, year=2001}", "@a{title={a}, year=2001}", 1),
      ("@a{title={A}, year=2001}", "@a{title={A}, year=2002}", 2),
      ("@a{title={A}, url={http://x.org/1}}", "@a{title={B}, url={http://x.org/1}}", 2),
      ("@a{k, author={A}}", "@a{k, author={B}}", 2), ("@a{k, author={A}}", "@a{k, author={A}}", 1),
    ])
  func sameness(first: String, second: String, count: Int) throws {
    let contents = try read("\(first)\n\(second)")
    #expect(contents.refusals == [])
    #expect(Set(contents.records.map(\.item.id)).count == count && contents.records.count == count)
  }

  @Test(
    "papers that share an address, a title or a DOI are exported so that they stay apart",
    arguments: Bibliography.written.map(\.name))
  func sharedIdentities(name: String) throws {
    func item(_ id: String, _ fields: [(String, String)]) -> FileItem {
      FileItem(
        id: id, fields: fields.map { Field(name: $0, value: .string($1)) }, favoritedDate: 1_700_000_000_001)
    }
    let same = [("title", "One title"), ("linkURL", "https://example.org/1")]
    let items = [
      item("a", same), item("b", same), item("2006.08594", same + [("doi", "10.1000/x")]),
      item("doi:10.1000/x", same), item("ref:1", [("title", "Two")]), item("ref:2", [("title", "Two")]),
    ]
    try Bibliography.expectRoundTrip(items, try #require(FileFormats.standard.named(name)))
  }

  // MARK: - Dates

  @Test(
    "a date of BibTeX is its first day",
    arguments: [
      ("date={2020-05/2020-06}", "2020-05-01"), ("date={2020-12/2031-01}", "2020-12-01"),
      ("date={2020-05-03/2020-06-04}", "2020-05-03"), ("date={2020/2021}", "2020-01-01"),
      ("date={2020-05-03/..}", "2020-05-03"), ("date={2020-13-03}", "2020-01-01"),
      ("date={2020-21}", "2020-01-01"),
      ("date={2020-05~}", "2020-05-01"), ("year=2020, month=\"10~\" # may", "2020-05-01"),
      ("year=2020, month=may # \"~4\"", "2020-05-01"), ("year=2020, month={May--June}", "2020-05-01"),
      ("year=2020, month=5, day=7", "2020-05-07"), ("year=2020, month={September}", "2020-09-01"),
      ("date={2020}, year=2020, month=may", "2020-05-01"),
      ("date={2019-03}, year=2020, month=may, day=4", "2019-03-01"),
      ("year={2010/2011}", "2010-01-01"), ("year={c2010}", "2010-01-01"), ("date={20100515}", "2010-05-15"),
    ])
  func bibtexDates(fields: String, day: String) throws {
    #expect(try published("@article{k, title={t}, \(fields)}", "bibtex") == day)
  }

  @Test(
    "of the dates of a RIS record, the most exact one of the same year counts",
    arguments: [
      ("DA  - May\nPY  - 2010", "2010-05-01"), ("DA  - Jun 15\nPY  - 2010", "2010-06-15"),
      ("DA  - 01 May 2010\nPY  - 2010", "2010-05-01"), ("PY  - 2010\nDA  - 2011/02/03/", "2010-01-01"),
      ("DA  - 2010/02/03/\nPY  - 2010///", "2010-02-03"), ("PY  - 2010///May", "2010-05-01"),
      ("DA  - MAY-JUN\nPY  - 2010", "2010-05-01"), ("DA  - 15.06.2010\nPY  - 2010", "2010-06-15"),
      ("DA  - 2010 Jul-Aug\nPY  - 2010", "2010-07-01"), ("DA  - 15-20 Jun\nPY  - 2010", "2010-06-15"),
      ("DA  - 06/15/2010\nPY  - 2010", "2010-06-15"), ("DA  - 03/04/2010\nPY  - 2010", "2010-01-01"),
      ("Y1  - 2010/05//Spring\nPY  - 2010", "2010-05-01"), ("DA  - Spring\nPY  - 2010", "2010-01-01"),
      ("DA  - June 1st, 2010", "2010-06-01"), ("DA  - 30. Mai 2010", "2010-05-30"),
      ("DA  - May\nPY  - 2010\nY1  - 2010/05/06", "2010-05-06"),
    ])
  func risDates(tags: String, day: String) throws {
    #expect(try published("TY  - JOUR\nID  - k\nTI  - t\n\(tags)\nER  - \n", "ris") == day)
  }

  @Test(
    "dates of CSL-JSON are read in all forms",
    arguments: [
      (#"{"raw":"2020-05/2020-06"}"#, "2020-05-01"), (#"{"literal":"May 2010"}"#, "2010-05-01"),
      (#"{"date-parts":[[2020,5],[2020,6]]}"#, "2020-05-01"),
      (#"{"date-parts":[["2020","5",0]]}"#, "2020-05-01"),
    ])
  func cslDates(issued: String, day: String) throws {
    #expect(try published(#"[{"id":"k","type":"book","issued":\#(issued)}]"#, "csl-json") == day)
  }

  // MARK: - Categories, names and text

  @Test("the primary class is one of the categories, and once")
  func categories() throws {
    func categories(_ fields: String) throws -> [String] {
      texts(try read("@misc{k, title={t}, \(fields)}").records.first?.item, "categories")
    }
    let arXiv = "eprint={1801.00002}, archivePrefix={arXiv}, primaryClass={cs.CL}"
    #expect(try categories(arXiv) == ["cs.CL"])
    #expect(try categories("\(arXiv), keywords={stat.ML; cs.CL}") == ["stat.ML", "cs.CL"])
    #expect(try categories("\(arXiv), keywords={parsing}") == ["cs.CL", "parsing"])
    #expect(try categories("eprint={123}, eprinttype={jstor}, eprintclass={x}") == [])
  }

  @Test("the parts of a name are joined as it is written")
  func names() throws {
    #expect(
      BibTeXAuthors.names(
        #"family=Hakim, given=Tawfiq, prefix=al-, useprefix=true and Simon, Herbert A. and given={Hans}, family={Müller, Sohn}, suffix=Jr and "family={de Gaulle}", given=Charles and useprefix=false and family=Alembert, prefix=d', given=Jean"#
      ) == [
        "Tawfiq al-Hakim", "Herbert A. Simon", "Hans Müller, Sohn Jr", "Charles de Gaulle", "Jean d'Alembert",
      ])
    #expect(BibTeXAuthors.names("E=mc, Albert") == ["Albert E=mc"])
    let csl = try read(
      #"[{"id":"k","type":"book","author":[{"family":"Hakim","given":"Tawfiq","non-dropping-particle":"al-"}]}]"#,
      "csl-json")
    #expect(texts(csl.records.first?.item, "authors") == ["Tawfiq al-Hakim"])
  }

  @Test("keywords of EndNote are one a line")
  func keywords() throws {
    let file = "TY  - JOUR\nID  - 42\nTI  - t\nKW  - Animals\nHumans\n  Male \nPY  - 2010\nER  - \n"
    #expect(texts(try read(file, "ris").records.first?.item, "categories") == ["Animals", "Humans", "Male"])
  }

  @Test(
    "macros for style become Unicode, and addresses stay as they are",
    arguments: [
      (
        #"Loi n\textsuperscript{o} 3, H\textsubscript{2}O, \enquote{quoted}, \mkbibemph{it}"#,
        "Loi nᵒ 3, H₂O, “quoted”, it"
      ),
      (
        #"\enquote{a \mkbibquote{b} c} 10\textsuperscript{-3} \textsuperscript{?} x\textsubscript{\emph{i}}"#,
        "“a ‘b’ c” 10⁻³ ? xᵢ"
      ),
      (
        #"See \url{http://example.com/~user/a_b%20$c} now~then"#,
        "See http://example.com/~user/a_b%20$c now then"
      ),
      (#"\href{http://x.org/~u}{the page}"#, #"\href{http://x.org/~u}{the page}"#),
      (#"\(x^2\) and \( \alpha \), \(open, \(a$b\)"#, #"$x^2$ and $\alpha$, \(open, \(a$b\)"#),
    ])
  func macros(value: String, text: String) {
    #expect(LaTeXText.decoded(value) == text)
  }
}
