import HeartlogLibraries

/// The kinds of tagged text: RIS, and what databases export, which is read as records of RIS.
///
/// Sources: "RIS Format Specifications" of Research Information Systems, in the revision of 2011; "MEDLINE/PubMed Data Element (Field) Descriptions" of the National Library of Medicine; "Web of Science Core Collection Field Tags"
/// of Clarivate.
enum TaggedText {
  /// `TY  - JOUR`, tags of two characters, and `ER`.
  case ris
  /// As PubMed exports citations: `PMID- 123`, tags of up to four characters, and lines that go on with six spaces.
  case medline
  /// `PT J`, tags of two characters, lines that go on with three spaces, `ER` and `EF`.
  case webOfScience

  /// Recognizes a database's file by its first two lines, which no other format has; nil for any other file.
  init?(ofDatabase beginning: [UInt8]) {
    let lines = RISRecord.lines(Array(beginning.prefix(4_096))).map(\.withoutOuterWhiteSpace)
      .filter { !$0.isEmpty }.prefix(2).map { String(decoding: $0, as: UTF8.self) }
    guard let first = lines.first else { return nil }
    let second = lines.count > 1 ? lines[1] : ""
    if first.hasPrefix("PMID- "), first.dropFirst(6).allSatisfy({ $0.isASCII && $0.isNumber }) {
      self = .medline
    } else if first.hasPrefix("FN ") && second.hasPrefix("VR ")
      || ["PT J", "PT B", "PT S", "PT P"].contains(first)
        && ["AU ", "BA ", "BE ", "CA ", "GP ", "TI "].contains(where: second.hasPrefix)
    {
      self = .webOfScience
    } else {
      return nil
    }
  }

  /// The tag that begins a record.
  var start: String {
    switch self {
    case .ris: "TY"
    case .medline: "PMID"
    case .webOfScience: "PT"
    }
  }

  /// The tags of which each line is a value of its own.
  private var listTags: Set<String> {
    switch self {
    case .ris: ["KW"]
    case .medline: []
    case .webOfScience: ["AU", "AF", "BA", "BF", "CA"]
    }
  }

  /// Splits a file into records, and returns apart the tags outside of any record.
  ///
  /// `ER`, the next beginning, or the end of the file ends a record. A line without a tag continues the value before it: in abstracts and
  /// notes of RIS as a new line, in other values after a space.
  func records(_ bytes: [UInt8]) -> (records: [RISRecord], strays: [RISRecord]) {
    var records: [RISRecord] = []
    var strays: [RISRecord] = []
    var (isInside, isStray) = (false, false)
    var emptyLines = 0
    for (number, line) in RISRecord.lines(bytes).enumerated() {
      guard !line.allSatisfy(\.isASCIIWhiteSpace) else {
        emptyLines += 1
        continue
      }
      defer { emptyLines = 0 }
      guard let tag = tag(line) else {
        if isInside { goOn(line.withoutOuterWhiteSpace, after: emptyLines, in: &records[records.count - 1]) }
        continue
      }
      let text =
        self == .webOfScience ? line.dropFirst(2) : line.drop { $0 != UInt8(ascii: "-") }.dropFirst()
      let entry = (tag, Array(text.withoutOuterWhiteSpace))
      let isHeading = self == .webOfScience && !isInside
      switch tag {
      case start:
        records.append(RISRecord(line: number + 1, tags: [entry]))
        (isInside, isStray) = (true, false)
      case "ER" where self != .medline: (isInside, isStray) = (false, false)
      case "FN" where isHeading, "VR" where isHeading, "EF" where isHeading: break
      case _ where isInside: records[records.count - 1].tags.append(entry)
      default:
        if !isStray { strays.append(RISRecord(line: number + 1)) }
        isStray = true
        strays[strays.count - 1].tags.append(entry)
      }
    }
    guard self != .ris else { return (records, strays) }
    return (records.map { RISRecord(line: $0.line, tags: risTags($0.tags)) }, strays)
  }

  private func tag(_ line: ArraySlice<UInt8>) -> String? {
    guard self != .ris else { return RISRecord.tag(line) }
    let width = self == .medline ? 4 : 2
    let name = line.prefix(width).prefix { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) }
    let padding = line.prefix(width).dropFirst(name.count)
    var rest = line.dropFirst(width)
    guard line.count >= width, name.count >= 2, padding.allSatisfy({ $0 == 0x20 }) else { return nil }
    if self == .medline, rest.popFirst() != UInt8(ascii: "-") { return nil }
    return rest.first.map { $0 == 0x20 } ?? true ? String(decoding: name, as: UTF8.self) : nil
  }

  private func risTags(_ tags: [(tag: String, value: [UInt8])]) -> [(tag: String, value: [UInt8])] {
    let names = Set(tags.map(\.tag))
    return tags.flatMap { tag, value -> [(tag: String, value: [UInt8])] in
      switch (self, tag) {
      case (_, "TI"), (_, "AB"), (.webOfScience, "PY"): return [(tag, value)]
      case (.medline, "PMID"), (.webOfScience, "UT"): return [("AN", value)]
      case (.medline, "BTI"): return [("BT", value)]
      case (.medline, "FAU"), (.medline, "CN"), (.webOfScience, "AF"), (.webOfScience, "BF"),
        (.webOfScience, "CA"):
        return [("AU", value)]
      case (.medline, "AU"): return names.contains("FAU") ? [] : [("AU", Self.withComma(value))]
      case (.webOfScience, "AU"): return names.contains("AF") ? [] : [("AU", value)]
      case (.webOfScience, "BA"): return names.contains("BF") ? [] : [("AU", value)]
      case (.medline, "DP"): return [("PY", value)]
      case (.webOfScience, "PD"): return [("DA", value)]
      case (.medline, "LID"), (.medline, "AID"):
        let doi = Array(" [doi]".utf8)
        return value.suffix(doi.count) == doi[...] ? [("DO", Array(value.dropLast(doi.count)))] : []
      case (.webOfScience, "DI"): return [("DO", value)]
      case (.medline, "JT"), (.webOfScience, "SO"): return [("JO", value)]
      // A main topic has a star.
      case (.medline, "OT"), (.medline, "MH"): return [("KW", Array(value.drop { $0 == UInt8(ascii: "*") }))]
      case (.webOfScience, "DE"), (.webOfScience, "ID"):
        return value.split(separator: UInt8(ascii: ";")).map { ("KW", Array($0.withoutOuterWhiteSpace)) }
      default: return []
      }
    }
  }

  /// Puts a comma between a family name and the initials behind it: "van der Berg JA".
  private static func withComma(_ name: [UInt8]) -> [UInt8] {
    guard let space = name.lastIndex(of: 0x20),
      name[(space + 1)...].allSatisfy({ (0x41...0x5A).contains($0) })
    else { return name }
    return name[..<space] + [UInt8(ascii: ",")] + name[space...]
  }

  /// Goes on with the last value of a record.
  private func goOn(_ line: ArraySlice<UInt8>, after emptyLines: Int, in record: inout RISRecord) {
    let last = record.tags.count - 1
    let tag = record.tags[last].tag
    if listTags.contains(tag) { return record.tags.append((tag, Array(line))) }
    if self == .ris, RISRecord.linedTags.contains(tag) {
      record.tags[last].value += Array(repeating: 0x0A, count: emptyLines + 1)
    } else if !record.tags[last].value.isEmpty {
      record.tags[last].value.append(0x20)
    }
    record.tags[last].value += line
  }
}
