import Heartlog
import HeartlogFormat
import HeartlogInterchange
import HeartlogLibraries

extension FuzzTarget {
  /// A target for each format of import.
  static let imports: [FuzzTarget] = FileFormats.standard.all.map { importTarget($0) }

  /// The libraries that an input chooses from by its first byte. The last one has no descriptor.
  private static let libraries = LibraryRegistry.standard.names + ["things"]

  private static func importTarget(_ format: any FileFormat) -> FuzzTarget {
    let fitting = libraries.filter { name in
      FileFormats.standard.formats(for: name).contains { $0.name == format.name }
    }
    return FuzzTarget(
      "import-\(format.name)", byteCountMax: 2_048, words: words[format.name] ?? [],
      seeds: { fixtures in try seeds(of: format, for: fitting, fixtures) }
    ) { bytes in
      guard let first = bytes.first else { return }
      let library = LibraryRegistry.standard[fitting[Int(first) % fitting.count]]
      let file = Array(bytes.dropFirst())
      _ = format.recognizes(file, for: library)
      guard let contents = try? format.read(file, for: library), format.isWritten else { return }
      let items = contents.records.map(\.item).filter { (try? $0.validate()) != nil }.map(\.kept)
      guard let written = try? format.write(items, of: library) else { return }
      // A shape is a guess.
      try state(
        format.certainty == .shape || items.isEmpty
          || format.recognizes(Array(written.prefix(4_096)), for: library),
        "a file is not recognized by the format that wrote it")
      let again = try format.read(written, for: library)
      try state(again.refusals.isEmpty, "what was written is refused: \(again.refusals.first?.reason ?? "")")
      try state(
        again.records.map(\.item.kept) == items,
        "what was written is read as other items: \(again.records.map(\.item.kept)) instead of \(items)")
    }
  }

  /// Files of other programs, and the items of a library as the format writes them.
  private static func seeds(
    of format: any FileFormat, for fitting: [String], _ fixtures: Fixtures
  ) throws -> [Seed] {
    func seed(_ name: String, _ library: String, _ bytes: [UInt8]) -> Seed? {
      fitting.firstIndex(of: library).map { Seed(name, [UInt8($0)] + bytes) }
    }
    var seeds: [Seed] = []
    for (file, library) in files[format.name] ?? [] {
      let name = "\(library)-\(file.split(separator: "/").last ?? "")"
      seeds += [seed(name, library, try fixtures.lines(file, byteCountMax: 2_000))].compactMap { $0 }
    }
    if let text = texts[format.name] {
      seeds += [seed("record", "papers", Array(text.utf8))].compactMap { $0 }
    }
    guard format.isWritten else { return seeds }
    for library in fitting.dropLast() {
      let lines = try fixtures.lines("items/\(library).jsonl", byteCountMax: 900)
      let read = try FileFormats.jsonLines.read(lines, for: LibraryRegistry.standard[library])
      let items = read.records.map(\.item.kept)
      if let bytes = try? format.write(items, of: LibraryRegistry.standard[library]), bytes.count < 2_000 {
        seeds += [seed("items-\(library)", library, bytes)].compactMap { $0 }
      }
    }
    return seeds
  }

  private static let files: [String: [(String, String)]] = [
    "bibtex": [("interchange/papers.bib", "papers")], "ris": [("interchange/papers.ris", "papers")],
    "csl-json": [("interchange/papers.json", "papers")],
    "bookmarks": [("imports/bookmarks.html", "things"), ("imports/bookmarks.html", "papers")],
    "geojson": [("imports/places.geojson", "cities")], "csv": [("imports/cities.csv", "cities")],
    "user-defaults": [
      ("imports/books.json", "books"), ("imports/liked.json", "breeds"),
      ("imports/settings.json", "settings"),
    ],
    "librivox": [("api/books-librivox.json", "books")], "dog-ceo": [("api/breeds-images.json", "breeds")],
    "arxiv-atom": [("api/papers-single.atom.xml", "papers")],
    "archive-json": [("api/archives-search-result.json", "archives")],
  ]

  /// Of formats of which no fixture is small enough.
  private static let texts = [
    "arxiv-jsonl":
      #"{"id":"0704.0001","submitter":"P","authors":"C. B\u00e1lazs","title":"A title","categories":"hep-ph cs.PL","#
      + #""abstract":" An abstract.\n","versions":[{"version":"v1","created":"Mon, 2 Apr 2007 19:18:42 GMT"}],"#
      + #""authors_parsed":[["Bal\u00e1zs","C.","Jr."]]}"# + "\n"
  ]

  private static let words: [String: [String]] = [
    "bibtex": [
      "@article{", "@string{", "author = {", "title = \"", "\\\"{o}", "{\\'e}", "\\c{c}", "$x$", " # ", "doi",
    ],
    "ris": [
      "TY  - JOUR\n", "ER  - \n", "AU  - ", "TI  - ", "PY  - ", "UR  - ", "PMID- 1\n", "FAU - ", "LID - ",
      " [doi]",
      "FN Clarivate\nVR 1.0\nPT J\n", "UT WOS:1\n", "   ",
    ],
    "csl-json": [
      "\"type\":\"", "\"author\":[", "\"issued\":{\"date-parts\":[[", "\"DOI\":\"", "\"title\":\"",
    ],
    "bookmarks": [
      "<!DOCTYPE NETSCAPE-Bookmark-file-1>", "<DL><p>", "<DT><A HREF=\"", "ADD_DATE=\"", "</A>", "<DD>",
      "&amp;", "<DT><H3>", "<ul><li>", "{\"roots\":{", "\"children\":[", "\"url\":\"",
    ],
    "geojson": ["\"type\":\"Feature\"", "\"coordinates\":[", "\"properties\":{", "\"geometry\":{"],
    "csv": [
      "\",\"", "\"\"", "\r\n", ";", "\t", "isFavorite", "favoritedDate", "url,time_added,tags,folder\n", "'=",
      "=\"0\"",
    ],
    "json": ["\"id\":\"", "\"favoritedDate\":\"", "\"isFavorite\":", "\"url\":\"", "}\n{", "1585881748"],
    "jsonl": ["\"id\":\"", "\"fields\":{", "\"isFavorite\":", "\"favoritedDate\":\"2026-03-02T07:15:00Z\""],
    "arxiv-atom": [
      "<entry>", "<id>http://arxiv.org/abs/", "<author><name>", "<![CDATA[", "&#x41;", "xmlns=",
    ],
  ]
}

extension FileItem {
  /// The item as a store keeps it: fields in one order, without those that are cleared.
  fileprivate var kept: FileItem {
    let fields = (fields + defaults).filter { !$0.value.isNull }
    return FileItem(
      id: id, fields: fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) },
      favoritedDate: favoritedDate, isFavorite: isFavorite)
  }
}
