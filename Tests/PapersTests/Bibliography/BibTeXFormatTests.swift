import Heartlog
import HeartlogLibraries
import Testing

@testable import HeartlogInterchange

@Suite("papers: BibTeX of other programs")
struct BibTeXFormatTests {
  private let format = BibTeXFormat()

  private func read(_ text: String) throws -> FileContents { try Bibliography.read(text, as: format) }

  private func item(_ text: String) throws -> FileItem {
    let contents = try read(text)
    #expect(contents.refusals == [])
    return try #require(contents.records.first?.item)
  }

  private func text(_ item: FileItem, _ name: String) -> String? {
    if case .string(let text)? = item.value(of: name) { text } else { nil }
  }

  @Test(
    "an identifier of arXiv is found where programs put it, with its version",
    arguments: [
      ("eprint = {2006.08594v1}, archivePrefix = {arXiv}, primaryClass = {cs.SE}", "2006.08594v1"),
      ("eprint = {arXiv:2006.08594}, eprinttype = {arxiv}", "2006.08594"),
      ("Eprint = \"2006.08594\"", "2006.08594"),
      ("eprint = {2006.08594}, eprinttype = {jstor}", "k"),
      ("eprint = {0201082}, eprintclass = {quant-ph}", "quant-ph/0201082"),
      ("eprint = {quant-ph/0201082v1}, archiveprefix = {arXiv}", "quant-ph/0201082v1"),
      ("journal = {arXiv preprint arXiv:2006.08594v1}", "2006.08594v1"),
      ("journal={arXiv preprint quant-ph/0201082}", "k"),
      ("url = {https://arxiv.org/abs/2006.08594v2}", "2006.08594v2"),
      ("url = {http://arxiv.org/pdf/2006.08594v2.pdf}", "2006.08594v2"),
      ("url = {https://arxiv.org/html/math.GT/0309136}", "math.GT/0309136"),
      ("doi = {10.48550/ARXIV.2006.08594}", "2006.08594"),
      (
        "doi = {https://doi.org/10.48550/arXiv.2006.08594}, url = {http://arxiv.org/abs/2006.08594v3}",
        "2006.08594v3"
      ),
      ("journal = {CoRR}, volume = {abs/1706.03762}", "1706.03762"),
      ("note = {arXiv:2006.08594 [cs]}", "2006.08594"),
      ("number = {{arXiv}:2006.08594}", "2006.08594"), ("arxivid = {0704.0001}", "0704.0001"),
      ("eprint = {2013.08594}", "k"), ("note = {arXiv:2006.0859412}", "k"),
      ("url = {https://arxiv.org/list/cs.SE/recent}", "k"),
      ("doi = {10.1000/XYZ(1)}", "doi:10.1000/xyz(1)"),
      ("doi = {https://doi.org/10.1000/Xyz\\_1}", "doi:10.1000/xyz_1"),
      ("doi = {none}", "k"), ("title = {x}", "k"),
    ])
  func identifiers(fields: String, id: String) throws {
    #expect(try item("@article{k, \(fields)}").id == id)
  }

  @Test("an entry without any identifier or title is refused with its line")
  func nameless() throws {
    let contents = try read("\n@misc{,\n year = 2020}\n@misc{title = {y}, url = {https://example.org/y}}")
    #expect(
      contents.refusals == [
        .init(line: 2, reason: "a record without an identifier, an address or a title")
      ])
    #expect(contents.records.map(\.item.id) == ["https://example.org/y"])
  }

  @Test("an export of Zotero")
  func zotero() throws {
    let item = try item(
      #"""

      @misc{ahuja_testing_2022,
      	title = {Testing {Deep} {Learning} {Models}: {A} {First} {Comparative} {Study}},
      	url = {http://arxiv.org/abs/2202.12139},
      	doi = {10.48550/arXiv.2202.12139},
      	abstract = {Deep Learning ({DL}) has revolutionized
      		the capabilities of 95\% of systems.},
      	urldate = {2024-03-05},
      	publisher = {arXiv},
      	author = {Ahuja, Mohit Kumar and Gotlieb, Arnaud and {The {ATLAS} Group} and van der Berg, Jr., Helge and others},
      	month = feb,
      	year = {2022},
      	note = {arXiv:2202.12139 [cs]},
      	keywords = {Computer Science - Machine Learning, Computer Science - Software Engineering},
      	annote = {Read on Sunday},
      }
      """#)
    #expect(item.id == "2202.12139" && item.favoritedDate == 1_709_596_800_000)
    #expect(text(item, "title") == "Testing Deep Learning Models: A First Comparative Study")
    #expect(
      text(item, "summary") == "Deep Learning (DL) has revolutionized the capabilities of 95% of systems.")
    #expect(
      text(item, "@note") == "Read on Sunday" && text(item, "publishedDate") == "2022-02-01T00:00:00.000Z")
    let paper = try FileItem(id: item.id, fields: item.fields + item.defaults).decoded(as: Paper.self)
    #expect(
      paper.authors == ["Mohit Kumar Ahuja", "Arnaud Gotlieb", "The ATLAS Group", "Helge van der Berg Jr."])
    #expect(
      paper.categories == ["Computer Science - Machine Learning", "Computer Science - Software Engineering"])
    #expect(paper.pdfURL.absoluteString == "https://arxiv.org/pdf/2202.12139")
    #expect(paper.linkURL.absoluteString == "http://arxiv.org/abs/2202.12139")
  }

  @Test("exports of JabRef, BibDesk, Mendeley and Google Scholar")
  func others() throws {
    let contents = try read(
      """
      % Encoding: UTF-8, mail to someone@example.org
      @Comment{jabref-meta: databaseType:bibtex;}
      @string{tse = "{IEEE} Transactions on " # se} @string(se = {Software Engineering})
      @preamble{ "\\newcommand{\\noop}[1]{}" # "" }
      @Article{Smith2020, author = {John Smith}, title = {One}, journal = tse # { (} # 42 # {)}, doi = {10.1109/TSE.1},
        year = 2020, month = "10~" # jan, timestamp = {2020.05.17}, creationdate = {2021-05-01T12:00:00}}
      @ARTICLE(Mac2009, author = "Ann {Mac}", TITLE = "Two {"}quoted{"}", date-added = {2009-05-04 13:32:26 -0400},
        year = {2009}, bdsk-url-1 = {http://dx.doi.org/10.1000/two})
      @article{Mend, author = {M, E}, title = {{Three}}, year = {2011}, url = {http://example.org/three.pdf}, mendeley-tags = {a}}@misc{four,title={Four}}
      @article{ahuja2022testing,
        title={Testing deep learning models},
        author={Ahuja, Mohit Kumar and Gotlieb, Arnaud},
        journal={arXiv preprint arXiv:2202.12139},
        year={2022}
      }
      """)
    #expect(contents.refusals == [])
    #expect(
      contents.records.map(\.item.id) == ["doi:10.1109/tse.1", "Mac2009", "Mend", "four", "2202.12139"])
    #expect(contents.records.map(\.line) == [5, 7, 9, 9, 10])
    let items = contents.records.map(\.item)
    #expect(items.map(\.favoritedDate) == [1_589_673_600_000, 1_241_458_346_000, nil, nil, nil])
    #expect(
      items.map { text($0, "title") } == [
        "One", "Two \"quoted\"", "Three", "Four", "Testing deep learning models",
      ])
    #expect(
      text(items[0], "publishedDate") == "2020-01-01T00:00:00.000Z"
        && text(items[0], "linkURL") == "https://doi.org/10.1109/TSE.1")
    #expect(text(items[1], "linkURL") == "http://dx.doi.org/10.1000/two")
    #expect(text(items[2], "pdfURL") == "http://example.org/three.pdf")
  }

  @Test("names by every rule of BibTeX")
  func names() {
    #expect(
      BibTeXAuthors.names(
        #"Knuth, Donald E. AND L{\'o}pez, Ana  and  {Barnes and Noble, Inc.} and de la Fontaine, Jean and Sandy and and{ }others and King, III, Martin Luther"#
      )
        == [
          "Donald E. Knuth", "Ana López", "Barnes and Noble, Inc.", "Jean de la Fontaine", "Sandy",
          "and others", "Martin Luther King III",
        ])
    #expect(BibTeXAuthors.names("A and and B and others and ") == ["A", "B"])
    #expect(
      BibTeXAuthors.value(["Ludwig van Beethoven", "Plato", "ACME, Inc.", "C. Balázs Jr."])
        == "van Beethoven, Ludwig and Plato and {ACME, Inc.} and Balázs, Jr., C.")
  }

  @Test("entries that cannot be read are refused with their line, and take no other with them")
  func refused() throws {
    let contents = try read(
      """
      @misc{a, title = {A}}
      @misc{b, title = {never closed
      @misc{c, title = {C}}
      @misc d, title = {D}
      @misc{e, title {E}}
      @misc{f, title = {F} year = 2020}
      @misc{g, title = "G
      @string{x = }
      @misc{h, title = x # }
      @misc{i, title = undefined, = 3}
      @misc{a, title = {A again}}
      @misc{a, title = {A with an identifier}, eprint = {2006.08594v1}}
      @misc{j, title = {J}, heartlog = {"id":}}
      @misc{k, title = {K}
      """)
    #expect(contents.records.map(\.line) == [1, 3, 11, 12])
    #expect(contents.records[1].item.id == "c" && contents.records[3].item.id == "2006.08594v1")
    #expect(contents.refusals.map(\.line) == [2, 4, 5, 6, 7, 8, 9, 10, 13, 14])
    #expect(contents.refusals[0].reason == "an entry that is not closed before the next begins")
    #expect(contents.refusals.last?.reason == "an entry that is not closed before the file ends")
  }

  @Test(
    "a rest that is damaged is refused with its entry",
    arguments: [#""id":7"#, #""favoritedDate":"today""#, #""fields":[]"#, #""isFavorite":"yes""#, "x"])
  func damagedRest(rest: String) throws {
    let contents = try read("@misc{a, title = {A}, heartlog = {\(rest)}}\n@misc{b, title = {B}}")
    #expect(contents.records.map(\.item.id) == ["b"] && contents.refusals.map(\.line) == [1])
    #expect(contents.refusals.first?.reason.hasPrefix("\"heartlog\": ") == true)
  }

  @Test("carriage returns, a byte order mark and bytes that are not UTF-8")
  func bytes() throws {
    let store = try FavoritesStore.inMemory(options: StoreOptions())
    var file: [UInt8] =
      [0xEF, 0xBB, 0xBF] + Array("@misc{a,\r\n title = {A\r\n B}\r\n}\r\n@misc{b,\r\n title = {".utf8)
    file +=
      [0xE9] + Array("}\r\n}\r\n@misc{c, title = {C}, keywords = {x}, note = {".utf8) + [0xE9]
      + Array("}}".utf8)
    let library = try store.library(Paper.library)
    let report = try library.importFile(file, format: format)
    #expect(report.added == 3 && report.refusals.isEmpty && report.remarks.map(\.line) == [6])
    #expect(library.item("b")?.value(of: "title") == .string("é"))
    #expect(library.item("a")?.value(of: "title") == .string("A B"))
  }

  @Test("what is only known by half never takes the place of what is known")
  func defaults() throws {
    let library = try FavoritesStore.inMemory(options: StoreOptions()).library(Paper.library)
    let whole = try Bibliography.items([FavoritePapersTests.paper("2006.08594v1")])[0]
    _ = try library.importFile(format.write([whole], of: Paper.descriptor), format: format)
    let before = try #require(library.item(whole.id))
    let scholar =
      "@article{x, title={Another title}, journal={arXiv preprint arXiv:2006.08594v1}, year={2020}}"
    let report = try library.importFile(Array(scholar.utf8), format: format)
    #expect(report.updated == 1 && report.events == 1)
    let after = try #require(library.item(whole.id))
    #expect(
      after.value(of: "title") == .string("Another title") && after.favoritedDate == before.favoritedDate)
    for name in ["summary", "authors", "publishedDate", "pdfURL", "linkURL"] {
      #expect(after.value(of: name) == before.value(of: name))
    }
  }

  @Test("a file of items with long ids is recognized, and has these ids")
  func longIDs() throws {
    let ids = ["a", "b"].map { String(repeating: "x", count: 300) + $0 }
    let file = try format.write(ids.map { FileItem(id: $0) }, of: Paper.descriptor)
    #expect(format.recognizes(file, for: Paper.descriptor))
    #expect(try format.read(file, for: Paper.descriptor).records.map(\.item.id) == ids)
  }

  @Test("an entry has the usual fields, and nothing of its own where these do")
  func written() throws {
    let papers = try Paper.papers(atom: Bibliography.fixture("papers-old-style-id-versioned.atom.xml"))
    let text = String(
      decoding: try format.write(Bibliography.items(papers), of: Paper.descriptor), as: UTF8.self)
    for line in [
      "@misc{quant-ph/0201082v1,", "  title = {\(LaTeXText.encoded(papers[0].title))},",
      "  author = {Blaha, Stephen},", "  abstract = {\(LaTeXText.encoded(papers[0].summary))},",
      "  date = {2002-01-18T15:08:05Z},",
      "  year = {2002},", "  month = jan,",
      "  eprint = {quant-ph/0201082v1},", "  archiveprefix = {arXiv},", "  primaryclass = {quant-ph},",
      "  keywords = {quant-ph, cs.PL},",
      "  url = {https://arxiv.org/abs/quant-ph/0201082v1},", "  timestamp = {2026-02-25T06:13:20.000Z},",
    ] { #expect(text.contains(line + "\n"), "\(line)") }
    let feed = try Paper.papers(atom: Bibliography.fixture("papers-feed-10.atom.xml"))
    #expect(
      !String(decoding: try format.write(Bibliography.items(feed), of: Paper.descriptor), as: UTF8.self)
        .contains("heartlog"))
  }
}
