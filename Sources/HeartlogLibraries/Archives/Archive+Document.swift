import HeartlogFormat

/// Parsing of documents of archive.org. A member may be a string in one document and an array in another.
extension Archive {
  /// The media types that the Internet Archive documents; any other becomes "other".
  private static let mediatypes: Set<String> = [
    "account", "audio", "collection", "data", "etree", "image", "movies", "software", "texts", "web",
  ]

  /// Parses a document of a search answer, or the `metadata` of an item answer.
  ///
  /// - Throws: `LibraryError.invalidItem` if the document has no identifier.
  public init(document: some JSONSource) throws(LibraryError) {
    let document = try document.json()
    guard let identifier = Self.texts(document["identifier"]).first, !identifier.isEmpty else {
      throw .invalidItem("a document of the Internet Archive without an identifier")
    }
    let title = Self.texts(document["title"]).first
    let descriptions = Self.texts(document["description"])
    self.init(
      identifier: identifier, title: title, archiveTitle: title,
      mediatype: Self.texts(document["mediatype"]).first.map { Self.mediatypes.contains($0) ? $0 : "other" },
      creators: Self.texts(document["creator"]).filter { !$0.isEmpty },
      publishers: Self.texts(document["publisher"]).filter { !$0.isEmpty },
      desc: descriptions.isEmpty ? nil : descriptions.joined(separator: "\n"),
      iconUrlString: "https://archive.org/services/img/\(identifier)")
  }

  /// Parses a whole answer: of a search (`response.docs`), or of one item (`metadata`).
  ///
  /// - Throws: `LibraryError.invalidAnswer` if it is neither; `LibraryError.invalidItem` if a document has no
  ///   identifier.
  public static func archives(answer: some JSONSource) throws(LibraryError) -> [Archive] {
    let answer = try answer.json()
    if let documents = answer["response"]?["docs"]?.array {
      var archives: [Archive] = []
      for document in documents { archives.append(try Archive(document: document)) }
      return archives
    }
    guard let metadata = answer["metadata"] else {
      throw .invalidAnswer("an answer with neither response.docs nor metadata, as archive.org sends")
    }
    return [try Archive(document: metadata)]
  }

  /// The texts in a string, or in an array of strings. Numbers, such as years and numeric titles, count as
  /// texts.
  static func texts(_ value: JSONValue?) -> [String] {
    switch value {
    case .string(let text): [text]
    case .int64, .double: value.map { [$0.jsonText] } ?? []
    case .array(let elements): elements.flatMap { $0.array == nil ? texts($0) : [] }
    default: []
    }
  }
}
