import Heartlog
import HeartlogFormat
import HeartlogLibraries
import HeartlogTesting
import LibraryTestSupport
import Testing

@testable import HeartlogInterchange

@Suite("papers: files that mix every construct of bibliographies")
struct MixedBibliographyTests {
  @Test(
    "no record vanishes, a second import writes nothing, and every export comes back equal",
    arguments: ["bibtex", "ris", "csl-json"])
  func mixed(name: String) throws {
    let seed = SeededRandom.testSeed()
    var mixer = Mixer(random: SeededRandom(seed: seed))
    let format = try #require(FileFormats.standard.named(name))
    for _ in 0..<12 {
      let (file, count) = mixer.file(name)
      let contents = try Bibliography.read(file, as: format)
      let leftOut = contents.remarks.filter { !$0.reason.contains("is the key of different papers") }
      #expect(contents.records.count + contents.refusals.count + leftOut.count == count, "\(file)")
      #expect(Set(contents.records.map(\.item.id)).count == contents.records.count, "\(file)")

      let library = try FavoritesStore.inMemory(options: ManualClock().options).library(Paper.library)
      let report = try library.importFile(Array(file.utf8), format: format)
      #expect(report.added == contents.records.count, "\(file)")
      let again = try library.importFile(Array(file.utf8), format: format)
      #expect(again.events == 0 && again.unchanged == report.added, "\(file)")
      let items = library.favorites().map { FileItem($0) }
      for other in Bibliography.written { try Bibliography.expectRoundTrip(items, other) }
    }
  }
}

/// Makes records of few papers, so that their keys, identifiers, addresses and titles meet.
private struct Mixer {
  var random: SeededRandom

  private mutating func one<T>(of values: [T]) -> T { values[Int.random(in: values.indices, using: &random)] }

  private mutating func isTrue(oneIn count: Int = 2) -> Bool {
    Int.random(in: 0..<count, using: &random) == 0
  }

  private static let titles = [
    "One", "Two", "Ünïcode 機械", "a < b & c", "<i>Markup</i>", "100% of it", "...", "One.",
    "$x_2$ and \\alpha",
  ]
  private static let names = [
    "Doe, Ann", "van Beethoven, Ludwig", "Plato", "al-Hakim, Tawfiq", "King, Martin Luther",
  ]
  private static let dois = ["10.1000/x", "10.1000/X", "10.1000/y_1", "https://doi.org/10.1000/z", "none"]
  private static let eprints = ["2006.08594", "2006.08594v2", "quant-ph/0201082"]
  private static let addresses = [
    "http://x.org/~a", "http://x.org/b_c", "https://arxiv.org/abs/1412.6980", "ftp://x",
  ]
  private static let days = [
    "2020-05/2020-06", "2020", "2020-05-03", "2021-12", "May 2020", "20200503", "someday",
  ]

  /// A file with a number of records, each of which is imported, refused or reported.
  mutating func file(_ format: String) -> (text: String, count: Int) {
    let count = Int.random(in: 1...12, using: &random)
    switch format {
    case "bibtex": return (bibtex(count), count)
    case "ris": return (ris(count), count)
    default: return (csl(count), count)
    }
  }

  // MARK: - BibTeX

  private mutating func bibtex(_ count: Int) -> String {
    var text = isTrue() ? "% Encoding: UTF-8\n" : ""
    for _ in 0..<count {
      if isTrue() {
        text += one(of: [
          "\n", "free text\n", "\n% a comment with @ and { and }\n", "@comment{x {y} z}\n",
          "@string{s = {S} # \"T\"}\n",
          "@preamble{\n\\newcommand{\\x}{y}\n}\n", "mail@example.org\n",
        ])
      }
      switch Int.random(in: 0..<12, using: &random) {
      case 0: text += "@misc{bad, title {E}}" + one(of: [" ", "", "\n"])
      case 1: text += "@misc{bad, title={E} year=2000}" + one(of: [" ", "", "\n"])
      case 2: text += "@misc{bad, title={E\n@comment{x}\n"
      case 3: text += "\n%@misc{commented, title={E}}\n"
      case 4: text += "\n@misc bad, title={E}\n"
      default: text += entry() + one(of: [" ", "", "\n", "\r\n", "\n\n"])
      }
    }
    return text
  }

  private mutating func entry() -> String {
    let isInBraces = !isTrue(oneIn: 5)
    let keys = isInBraces ? ["k", "l", "DBLP:conf/x", "a key (2010)", "é", ""] : ["k", "l"]
    let type = one(of: ["article", "book_section", "Web-Page", "phd:thesis", "x@y", " misc "])
    var text = "@\(type)\(isInBraces ? "{" : "(")\(one(of: keys))"
    func encoded(_ text: String) -> String { LaTeXText.encoded(text) }
    var fields: [(String, String)] = []
    if !isTrue(oneIn: 6) { fields.append(("title", "{\(encoded(one(of: Self.titles)))}")) }
    if isTrue(oneIn: 3) {
      fields.append(("author", "{\(one(of: Self.names)) and \(one(of: Self.names)) and others}"))
    }
    if isTrue(oneIn: 8) {
      fields.append(("author", "{family=Hakim, given=Tawfiq, prefix=al-, useprefix=true}"))
    }
    if isTrue(oneIn: 3) { fields.append(("doi", "{\(one(of: Self.dois))}")) }
    if isTrue(oneIn: 4) { fields.append(("eprint", "\"\(one(of: Self.eprints))\"")) }
    if isTrue(oneIn: 4) { fields.append(("primaryClass", "{cs.CL}")) }
    if isTrue(oneIn: 4) { fields.append(("url", "{\(one(of: Self.addresses))}")) }
    if isTrue(oneIn: 3) { fields.append(("date", "{\(one(of: Self.days))}")) }
    if isTrue(oneIn: 3) { fields.append(("year", one(of: ["2020", "{2021}", "\"c2020\""]))) }
    if isTrue(oneIn: 4) { fields.append(("month", one(of: ["may", "5", "\"10~\" # jun", "{May--June}"]))) }
    if isTrue(oneIn: 4) { fields.append(("keywords", "{a, b; \\textsubscript{2}}")) }
    if isTrue(oneIn: 4) {
      fields.append(("annote", "{also \\url{http://x.org/~a} at 50% \\(x\\) \\enquote{q}}"))
    }
    if isTrue(oneIn: 5) { fields.append(("note", "{cite arxiv:1412.6980Comment: x}")) }
    if isTrue(oneIn: 4) { fields.append(("timestamp", "{2020.05.17}")) }
    if isTrue(oneIn: 4) { fields.append(("a_b-c:d", "")) }
    if fields.isEmpty || isTrue(oneIn: 5) { fields.append(("journal", "s # { } # \"T\" # 42")) }
    for (name, value) in fields {
      text += one(of: [", ", ",\n  ", ", % a comment with } and {\n", ",\n% a line of its own\n\t"])
      text += isTrue() ? "\(name)=\(value)" : "\(name.uppercased())  =  \(value)"
    }
    return text + one(of: ["", ",", ",\n", "  % the last one\n"]) + (isInBraces ? "}" : ")")
  }

  // MARK: - RIS

  private mutating func ris(_ count: Int) -> String {
    let end = one(of: ["\n", "\r\n", "\r"])
    var lines: [String] = isTrue(oneIn: 3) ? ["Provider: X", "1."] : []
    for _ in 0..<count {
      lines.append(one(of: ["TY  - JOUR", "TY - BOOK", "TY  - WEB_PAGE"]))
      if isTrue(oneIn: 3) { lines.append("ID  - \(one(of: ["1", "2", "k"]))") }
      if isTrue(oneIn: 4) { lines.append("AN  - \(one(of: ["WOS:1", "2", "arXiv:2006.08594"]))") }
      if !isTrue(oneIn: 6) { lines.append("\(one(of: ["TI", "T1", "CT"]))  - \(one(of: Self.titles))") }
      if isTrue() { lines.append("AU  - \(one(of: Self.names))") }
      if isTrue(oneIn: 3) { lines.append("DO  - \(one(of: Self.dois))") }
      if isTrue(oneIn: 4) { lines.append("UR  - \(one(of: Self.addresses))") }
      if isTrue() { lines.append("PY  - \(one(of: ["2020", "2020///May", "2021/05/"]))") }
      if isTrue(oneIn: 3) {
        lines.append("DA  - \(one(of: ["May", "Jun 15", "01 May 2020", "2020/05/06/"] + Self.days))")
      }
      if isTrue(oneIn: 3) { lines += ["KW  - Animals", "Humans", "", "  Male"] }
      if isTrue(oneIn: 3) { lines += ["AB  - First line", "", "second line - and more"] }
      if isTrue(oneIn: 5) { lines.append("N1  - note") }
      if isTrue(oneIn: 5) { lines.append("Y2  - 2020/05/17/") }
      if isTrue(oneIn: 5) { lines.append("ZZ  - unknown") }
      if !isTrue(oneIn: 5) { lines += [one(of: ["ER  - ", "ER  -"]), "", "2."] }
    }
    return lines.joined(separator: end) + (isTrue() ? end : "")
  }

  // MARK: - CSL-JSON

  private mutating func csl(_ count: Int) -> String {
    func text(_ text: String) -> String {
      var writer = JSONWriter()
      writer.value(JSONValue.string(text))
      return String(decoding: writer.bytes, as: UTF8.self)
    }
    var items: [String] = []
    for _ in 0..<count {
      var members = ["\"type\":\"\(one(of: ["book", "article-journal", "webpage"]))\""]
      if isTrue() {
        members.append(
          "\"id\":\(one(of: ["1", "\"1\"", "\"k\"", "\"http://zotero.org/users/1/items/A\"", "\"\""]))")
      }
      if !isTrue(oneIn: 6) {
        let title = text(one(of: Self.titles))
        members.append("\"title\":\(isTrue(oneIn: 4) ? "[\(title)]" : title)")
      }
      if isTrue(oneIn: 3) { members.append("\"DOI\":\(text(one(of: Self.dois)))") }
      if isTrue(oneIn: 4) { members.append("\"URL\":\(text(one(of: Self.addresses)))") }
      if isTrue(oneIn: 4) {
        members.append("\"note\":\(text("arXiv:\(one(of: Self.eprints)) [cs]\nRead it"))")
      }
      if isTrue(oneIn: 3) {
        members.append(
          #""author":[{"family":"Hakim","given":"Tawfiq","non-dropping-particle":"al-"},{"literal":"The Team"},{}]"#
        )
      }
      if isTrue() {
        members.append(
          "\"issued\":"
            + one(of: [
              #"{"date-parts":[[2020,5]]}"#, #"{"date-parts":[["2020",5,3],[2021]]}"#,
              #"{"raw":"\#(one(of: Self.days))"}"#, #"{"literal":"May 2020"}"#, "{}",
            ]))
      }
      if isTrue(oneIn: 4) { members.append(#""accessed":{"date-parts":[[2020,5,17]]}"#) }
      if isTrue(oneIn: 4) { members.append(one(of: [#""keyword":"a, b""#, #""keyword":["a","b"]"#])) }
      items.append(isTrue(oneIn: 12) ? "17" : "{\(members.joined(separator: ","))}")
    }
    return "[\(items.joined(separator: one(of: [",", ",\n"])))]"
  }
}
