import HeartlogLibraries

/// An entry of a BibTeX file, its values as they stand in the file.
struct BibTeXEntry {
  /// Where it begins; the first line is 1.
  let line: Int
  /// In lower case: "article".
  let type: String
  let key: String
  /// By name in lower case: UTF-8 if the file is, braces and macros in it, macros of the file expanded. Of a name that is given twice,
  /// the first.
  fileprivate(set) var fields: [String: [UInt8]] = [:]

  init(line: Int, type: String, key: String, fields: [(name: String, value: [UInt8])]) {
    self.line = line
    self.type = type
    self.key = key
    for (name, value) in fields where self.fields[name] == nil { self.fields[name] = value }
  }

  /// The value of a field as it stands in the file.
  ///
  /// - Throws: `invalidItem` where it is not UTF-8.
  func raw(_ name: String) throws(LibraryError) -> String? {
    guard let bytes = fields[name] else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .invalidItem("the field \(name) of \(key) is not UTF-8")
    }
    return text
  }

  /// The text of a field; nil where there is none, or an empty one.
  func text(_ name: String) throws(LibraryError) -> String? {
    guard let text = try raw(name).map(LaTeXText.decoded), !text.isEmpty else { return nil }
    return text
  }

  /// The text of the first of some fields that there is.
  func text(firstOf names: [String]) throws(LibraryError) -> String? {
    for name in names {
      if let text = try text(name) { return text }
    }
    return nil
  }

  /// The address or identifier of a field; nil where there is none, or an empty one.
  func address(_ name: String) throws(LibraryError) -> String? {
    guard let text = try raw(name).map(LaTeXText.decodedAddress), !text.isEmpty else { return nil }
    return text
  }
}
