import Heartlog
import HeartlogLibraries

/// A JSON list of objects with an id: `[{"id":"r1","name":"Ribollita"}, …]`. All other members are fields.
///
/// It reads objects one after the other, too, as JSON Lines have them.
public struct JSONFormat: FileFormat {
  public let name = "json"
  public let summary = "a JSON list of objects with an id, whose other members are fields"
  public let fileExtensions = ["json"]
  public let isWritten = true
  public let certainty = FileCertainty.shape

  private let options: FileFormats.ReadingOptions

  /// Creates the format.
  ///
  /// - Parameter options: which member holds the id, and how dates without an offset are read.
  public init(options: FileFormats.ReadingOptions = FileFormats.ReadingOptions()) { self.options = options }

  /// Recognizes a list whose first object has an id, and two such objects one after the other. A single object may
  /// be a whole file of any program. In the library of an app, the object has no members that its items do not have, or
  /// the date of an export.
  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let outline = JSONOutline(beginning)
    if outline == .emptyArray { return true }
    let document = JSONDocument(beginning)
    guard document.isArray(document.root) || document.records().records.count > 1 else { return false }
    let names = outline.recordNames
    let known = FieldName.all.union(library.fields.map(\.name)).union(library.idColumns)
    return (library.isOpaque || names.contains(FieldName.favoritedDate) || names.isSubset(of: known))
      && Self.hasID(ItemColumns(Array(names), of: library, options))
  }

  private static func hasID(_ columns: ItemColumns) -> Bool {
    columns.id != nil || !columns.idCandidates.isEmpty
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    var contents = FileContents()
    guard document.isArray(document.root) || document.isObject(document.root) else {
      if bytes.allSatisfy(\.isASCIIWhiteSpace) { return contents }
      throw .invalidAnswer("the file is not a JSON list of objects")
    }
    let (records, failure) = document.records()
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    contents.take(records, of: document) { (record) throws(LibraryError) in
      try library.checked(try item(record, of: library))
    }
    return contents
  }

  private func item(_ record: JSONValue, of library: any LibraryDescriptor) throws(LibraryError) -> FileItem {
    guard let members = record.object else { throw .invalidItem("\(record.kind) where an object should be") }
    let columns = ItemColumns(members.map(\.name), of: library, options)
    func text(_ index: Int) -> String? {
      switch members[index].value {
      case .string(let text): text
      case .int64(let number): String(number)
      default: nil
      }
    }
    guard let id = try columns.id(of: library, text: text) else {
      throw .invalidItem("an object without an id; name the member that holds it with --id-column")
    }
    var item = FileItem(id: id)
    for (index, member) in members.enumerated() {
      switch index {
      case columns.id: break
      case columns.date: item.favoritedDate = try date(member)
      default:
        guard member.name == FieldName.isFavorite else {
          try item.take([member])
          continue
        }
        item.isFavorite = try FileItem.flag(member.value) ?? true
      }
    }
    return item
  }

  private func date(_ member: JSONMember) throws(LibraryError) -> Milliseconds? {
    switch member.value {
    case .null: return nil
    case .string(let text): return text.isEmpty ? nil : try FileDate.time(text, utc: options.utc)
    default:
      guard let time = member.value.number.flatMap(FileDate.time) else {
        throw .invalidItem("\(member.name.quoted) is \(member.value.kind), not a date")
      }
      return time
    }
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    var elements: [[UInt8]] = []
    for item in items {
      try item.checkWritable(reserved: FieldName.all)
      var json = JSONWriter()
      json.beginObject()
      json.member(FieldName.id, item.id)
      json.name(FieldName.favoritedDate)
      if let date = item.favoritedDate { json.value(RFC3339.text(date)) } else { json.null() }
      if !item.isFavorite { json.member(FieldName.isFavorite, false) }
      for field in item.fields where !field.value.isNull { json.member(field.name, field.value) }
      json.endObject()
      elements.append(json.bytes)
    }
    return jsonLines(elements)
  }
}
