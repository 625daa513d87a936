import Heartlog

/// The JSON in which an app stores the items of a library without Heartlog: in its user defaults, or in a file.
public protocol AppRecords: Sendable {
  /// Whether a file with this outline holds such records.
  func matches(_ outline: JSONOutline) -> Bool

  /// Whether an item of a library without a descriptor can be written as such a record.
  func matches(_ item: FileItem) -> Bool

  /// Reads the records. A record that is not valid is refused; the others are read.
  ///
  /// - Throws: `invalidAnswer` if the text does not have the form of these records.
  func read(_ document: JSONDocument) throws(LibraryError) -> FileContents

  /// Writes the records as the app reads them. The text ends with a line feed.
  ///
  /// - Throws: `invalidItem` for an item that the app cannot read.
  func write(_ items: [FileItem]) throws(LibraryError) -> [UInt8]
}

/// Records in a JSON array, or one after the other, one for each item.
protocol AppRecordList: AppRecords {
  /// The descriptor of the records' library.
  var library: any LibraryDescriptor { get }

  /// The members that are read.
  var members: Set<String> { get }

  func item(_ record: JSONValue) throws(LibraryError) -> FileItem
  func record(_ item: FileItem) throws(LibraryError) -> [UInt8]
}

extension AppRecordList {
  func read(_ document: JSONDocument) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    let (elements, failure) = document.records()
    guard document.isArray(document.root) || document.isObject(document.root) && elements.count > 1 else {
      throw .invalidAnswer("the file is not a JSON list")
    }
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    var unknown = UnknownMembers(besides: members.union(FileItem.restMembers))
    contents.take(elements, of: document) { (record) throws(LibraryError) in
      unknown.count(in: record)
      return try library.checked(try item(record))
    }
    let line = elements.first?.line ?? 1
    for phrase in unknown.phrases { contents.remark(line: line, phrase) }
    if !contents.records.isEmpty, !contents.records.contains(where: \.item.isFavorite) {
      contents.remark(
        line: line,
        "no record is marked by isFavorite: their values are imported, and none becomes a favorite")
    }
    return contents
  }

  func write(_ items: [FileItem]) throws(LibraryError) -> [UInt8] {
    var elements: [[UInt8]] = []
    for item in items { elements.append(try record(item)) }
    return jsonLines(elements)
  }
}

extension FileItem {
  /// The members that `takeRest` reads.
  static let restMembers: Set = [FieldName.favoritedDate, "fields"]

  /// Reads the members that an app ignores: the date, and the fields without a member of their own.
  mutating func takeRest(of record: JSONValue) throws(LibraryError) {
    if let date = try Self.date(record[FieldName.favoritedDate], named: FieldName.favoritedDate) {
      favoritedDate = date
    }
    var rest = FileItem(id: id)
    try rest.takeFields(record["fields"])
    for field in rest.fields { set(field.name, field.value) }
  }

  /// Writes the members that `takeRest` reads.
  func writeRest(_ json: inout JSONWriter, except names: Set<String>, date: Bool = true) {
    if date, let favoritedDate { json.member(FieldName.favoritedDate, RFC3339.text(favoritedDate)) }
    let rest = fields.filter { !names.contains($0.name) && !$0.value.isNull }
    if !rest.isEmpty { json.member("fields", rest) }
  }
}
