import Heartlog

/// What the apps keep of their own: the JSON that they encode into their user defaults, and the catalog of cities.
///
/// What an app does not know is written into members that its decoder passes over: `favoritedDate`, and `fields` with all that has no
/// member of its own. The archives and papers apps keep a database, and have no such form.
public struct UserDefaultsFormat: FileFormat {
  public let name = "user-defaults"
  public let summary =
    "what the apps themselves keep: books with positions, settings, liked breed images, a catalog of cities"
  public let libraries: Set<String>? = [
    Book.library, BreedImage.library, City.library, PlaybackSettings.library,
  ]
  public let fileExtensions = ["json"]
  public let isWritten = true

  private static let forms: [any AppForm] = [BooksForm(), CitiesForm(), BreedsForm()]

  /// The format; it has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8]) -> Bool {
    let outline = JSONOutline(beginning)
    if case .emptyArray = outline { return true }
    return SettingsForm.isForm(outline) || Self.forms.contains { $0.isForm(outline) }
  }

  public func read(
    _ bytes: [UInt8], for library: String, now: Milliseconds
  ) throws(LibraryError) -> FileContents {
    let pieces = JSONPieces(bytes)
    if library == PlaybackSettings.library { return try SettingsForm.read(pieces) }
    var contents = FileContents()
    let (elements, failure) = pieces.elements(of: pieces.root)
    guard pieces.isArray(pieces.root) else {
      throw .invalidAnswer("what an app keeps is a list, and this is none")
    }
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    guard !elements.isEmpty else { return contents }
    let outline = JSONOutline(Array(bytes.prefix(1 << 20)))
    guard
      let form = Self.forms.first(where: { $0.library == library })
        ?? Self.forms.first(where: { $0.isForm(outline) })
    else { throw .invalidAnswer("a list that none of the apps keeps") }
    for element in elements {
      contents.take(line: element.line) { () throws(LibraryError) in
        try form.item(try pieces.value(element)).checked(for: form.library)
      }
    }
    return contents
  }

  public func write(_ items: [FileItem], of library: String) throws(LibraryError) -> [UInt8] {
    for item in items { try item.checkWritable() }
    if library == PlaybackSettings.library { return try SettingsForm.write(items) }
    guard let first = items.first else { return lines([]) }
    guard
      let form = Self.forms.first(where: { $0.library == library })
        ?? Self.forms.first(where: { $0.isForm(first) })
    else { throw .invalidItem("the items of \(library) are none that an app keeps") }
    var elements: [[UInt8]] = []
    for item in items { elements.append(try form.record(item)) }
    return lines(elements)
  }
}

/// How an app keeps one item.
protocol AppForm: Sendable {
  var library: String { get }
  /// Whether a list begins with such a record.
  func isForm(_ outline: JSONOutline) -> Bool
  /// Whether an item of an app's own library can be one.
  func isForm(_ item: FileItem) -> Bool
  func item(_ record: JSONValue) throws(LibraryError) -> FileItem
  func record(_ item: FileItem) throws(LibraryError) -> [UInt8]
}

extension FileItem {
  /// Takes what an app passes over: the date, the flag and the fields without a member of their own.
  mutating func takeRest(of record: JSONValue) throws(LibraryError) {
    if let date = try Self.date(record[FieldName.favoritedDate], named: FieldName.favoritedDate) {
      favoritedDate = date
    }
    var rest = FileItem(id: id)
    try rest.takeFields(record["fields"])
    for field in rest.fields { set(field.name, field.value) }
  }

  /// Writes what `takeRest` reads.
  func writeRest(_ json: inout JSONWriter, except names: Set<String>, date: Bool = true) {
    if date, let favoritedDate { json.member(FieldName.favoritedDate, RFC3339.text(favoritedDate)) }
    let rest = fields.filter { !names.contains($0.name) && !$0.value.isNull }
    if !rest.isEmpty { json.member("fields", rest) }
  }
}
