import HeartlogLibraries

extension PaperReference {
  /// - Throws: `invalidItem` for text that is not UTF-8, and for a rest that cannot be read.
  init(_ record: RISRecord) throws(LibraryError) {
    self.init()
    key = try record.text("ID")
    title = try record.text("TI", "T1", "CT", "BT")
    summary = try record.text("AB", "N2")
    for tag in ["AU", "A1"] {
      authors += try record.texts(tag).map { name in
        let parts = name.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        return PersonName(parts: parts, suffixLast: true).display
      }
    }
    categories = try record.texts("KW")
    doi = try (record.texts("DO") + record.texts("M3")).compactMap(Self.doi).first
    for tag in ["UR", "LK", "L1", "L2"] {
      for address in try record.texts(tag) {
        if tag == "L1", address.lowercased().hasPrefix("http") {
          pdf = pdf ?? address
        } else {
          takeLink(address)
        }
      }
    }
    publishedDate = try record.text("DA", "PY", "Y1").flatMap { ReferenceDate($0) }
    favoritedDate = try record.text("Y2").flatMap { ReferenceDate($0) }
    let texts =
      try record.texts("AN") + record.texts("UR") + record.texts("L1") + record.texts("DO")
      + record.texts("M1")
    let titles =
      try record.texts("JO") + record.texts("JF") + record.texts("T2") + record.texts("N1")
      + record.texts("ID")
    takeArXiv((texts + titles).map(ArXivIdentifier.first))
    // Programs note the identifier; that says nothing more.
    let notes = try record.texts("N1").filter { !$0.lowercased().hasPrefix("arxiv:") }
    note = notes.isEmpty ? nil : notes.joined(separator: "\n")
    for text in try record.texts("C8") where text.hasPrefix("\(ItemRest.name):") {
      rest = try ItemRest(String(text.dropFirst(ItemRest.name.count + 1)))
    }
  }
}
