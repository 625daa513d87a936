import HeartlogFormat
import HeartlogLibraries

/// A record of a RIS file: tags of two characters, each with a value.
///
/// Source: "RIS Format Specifications" of Research Information Systems, in the revision of 2011.
struct RISRecord {
  /// The line at which the record begins; the first line is 1.
  let line: Int
  private(set) var tags: [(tag: String, value: [UInt8])] = []

  /// The non-empty values of the tags with this name, in order.
  ///
  /// - Throws: `invalidItem` if a value is not UTF-8.
  func texts(_ tag: String) throws(LibraryError) -> [String] {
    var texts: [String] = []
    for (name, value) in tags where name == tag {
      guard let text = String(validating: value, as: UTF8.self) else {
        throw .invalidItem("a value of \(tag) that is not UTF-8")
      }
      if !text.isEmpty { texts.append(text) }
    }
    return texts
  }

  /// The first value of the first of these tags that has one.
  func text(_ tags: String...) throws(LibraryError) -> String? {
    for tag in tags {
      if let text = try texts(tag).first { return text }
    }
    return nil
  }

  /// Splits a file into records, and returns apart what does not begin with `TY`: tags outside of any record.
  ///
  /// `TY` begins a record; `ER`, the next `TY`, or the end of the file ends it. A line without a tag
  /// continues the value before it: in abstracts and notes as a new line, in other values after a space. Of
  /// keywords, each line is one.
  static func records(_ bytes: [UInt8]) -> (records: [RISRecord], strays: [RISRecord]) {
    var records: [RISRecord] = []
    var strays: [RISRecord] = []
    var record: RISRecord?
    var isStray = false
    var emptyLines = 0
    for (number, line) in lines(bytes).enumerated() {
      guard let tag = tag(line) else {
        if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
          emptyLines += 1
        } else {
          record?.goOn(line, after: emptyLines)
          emptyLines = 0
        }
        continue
      }
      emptyLines = 0
      switch tag {
      case "TY":
        if let record { records.append(record) }
        record = RISRecord(line: number + 1)
        isStray = false
      case "ER":
        if let record { records.append(record) }
        record = nil
        isStray = false
      default:
        let value = line.drop { $0 != UInt8(ascii: "-") }.dropFirst().withoutOuterWhiteSpace
        if record != nil {
          record?.tags.append((tag, Array(value)))
        } else {
          if !isStray { strays.append(RISRecord(line: number + 1)) }
          isStray = true
          strays[strays.count - 1].tags.append((tag, Array(value)))
        }
      }
    }
    if let record { records.append(record) }
    return (records, strays)
  }

  private mutating func goOn(_ line: ArraySlice<UInt8>, after emptyLines: Int) {
    guard !tags.isEmpty else { return }
    let last = tags.count - 1
    if tags[last].tag == "KW" {
      tags.append(("KW", Array(line.withoutOuterWhiteSpace)))
      return
    }
    if Self.linedTags.contains(tags[last].tag) {
      tags[last].value += Array(repeating: 0x0A, count: emptyLines + 1)
    } else if !tags[last].value.isEmpty {
      tags[last].value.append(0x20)
    }
    tags[last].value += line.withoutOuterWhiteSpace
  }

  /// Tags whose values may have several lines.
  static let linedTags: Set<String> = ["AB", "N1", "N2"]

  /// Splits a file into lines, which end with a line feed, a carriage return, or both.
  private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var lines: [ArraySlice<UInt8>] = []
    var start = 0
    for offset in bytes.indices where bytes[offset] == 0x0A || bytes[offset] == 0x0D {
      let isSecondOfPair = bytes[offset] == 0x0A && offset > 0 && bytes[offset - 1] == 0x0D
      if !isSecondOfPair { lines.append(bytes[start..<offset]) }
      start = offset + 1
    }
    if start < bytes.count { lines.append(bytes[start...]) }
    return lines
  }

  /// The tag of a line: `TY  - `, with one to four spaces before the hyphen.
  static func tag(_ line: ArraySlice<UInt8>) -> String? {
    let name = line.prefix(2)
    let rest = line.dropFirst(2)
    let spaces = rest.prefix { $0 == 0x20 }.count
    guard name.count == 2, (0x41...0x5A).contains(name[name.startIndex]),
      name.allSatisfy({ (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) }), (1...4).contains(spaces),
      rest.dropFirst(spaces).first == UInt8(ascii: "-"),
      rest.dropFirst(spaces + 1).first.map({ $0 == 0x20 || $0 == 0x09 }) != false
    else { return nil }
    return String(decoding: name, as: UTF8.self)
  }
}
