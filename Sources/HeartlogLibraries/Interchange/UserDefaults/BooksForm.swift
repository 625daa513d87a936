import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The audiobook app's array of books, with its positions: files as paths, dates as seconds since 2001.
struct BooksForm: AppForm {
  let library = Book.library

  /// 2001-01-01, in milliseconds since 1970.
  private static let referenceDate: Milliseconds = 978_307_200_000

  func isForm(_ outline: JSONOutline) -> Bool { outline.elementNames.contains("fileURL") }
  func isForm(_ item: FileItem) -> Bool { item["fileURL"] != nil }

  func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    guard record.object != nil else { throw .invalidItem("\(record.kind) where a book should be") }
    for known in KnownField.all(of: library) {
      if let value = record[known.name] { try known.check(json: value) }
    }
    var item = try FileItem(told: try Book(appRecord: record))
    // What a record does not tell stays untold, and does not become its default.
    item.fields.removeAll { record[$0.name]?.isNull ?? true }
    item.favoritedDate = try Self.date(record["dateAdded"])
    try item.takeRest(of: record)
    return item
  }

  /// The nearest millisecond where seconds tell one exactly, else the last that is not later.
  private static func date(_ value: JSONValue?) throws(LibraryError) -> Milliseconds? {
    guard let seconds = value?.number else { return try FileItem.date(value, named: "dateAdded") }
    let nearest = (seconds * 1_000).rounded()
    guard abs(nearest) < 1e15 else { throw .invalidItem("a date outside the years 0000 to 9999") }
    let isExact = nearest / 1_000 == seconds
    return referenceDate + Milliseconds(isExact ? nearest : (seconds * 1_000).rounded(.down))
  }

  func record(_ item: FileItem) throws(LibraryError) -> [UInt8] {
    guard let id = UUID(uuidString: item.id) else {
      throw .invalidItem("\(item.id): no UUID, as the app's books have")
    }
    guard let date = item.favoritedDate, item.isFavorite else {
      throw .invalidItem("\(item.id): a book that is not in the library")
    }
    var written: Set<String> = []
    var json = JSONWriter()
    json.beginObject()
    json.member("id", id.uuidString)
    for known in KnownField.all(of: library) where known.name != "coverSearch" {
      guard let value = item[known.name], let told = Self.told(value, known) else { continue }
      json.member(known.name, told)
      written.insert(known.name)
    }
    guard written.isSuperset(of: ["title", "fileURL"]) else {
      throw .invalidItem("\(item.id): a book without a title or a file")
    }
    json.member("dateAdded", Double(date - Self.referenceDate) / 1_000)
    item.writeRest(&json, except: written, date: false)
    json.endObject()
    return json.bytes
  }

  /// A value as the app tells it; nil for one that it cannot tell.
  private static func told(_ value: FieldValue, _ known: KnownField) -> JSONValue? {
    guard (try? known.check(value)) != nil else { return nil }
    switch (known.kind, value.jsonValue) {
    case (.url, .string(let text)): return .string(path(text))
    case (.texts, .array(let texts)): return .array(texts.compactMap(\.string).map { .string(path($0)) })
    case (.texts, _): return nil
    case (_, let value): return value
    }
  }

  /// The path of a file's URL, where it leads back to the same URL; else the URL.
  private static func path(_ text: String) -> String {
    guard let url = URL(string: text), url.isFileURL, url.path.hasPrefix("/"),
      URL(filePath: url.path).absoluteString.utf8.elementsEqual(text.utf8)
    else { return text }
    return url.path
  }
}
