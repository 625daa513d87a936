import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Parsing of the app's own storage in the user defaults: `[{"url": …, "isFavorite": …}, …]`.
extension BreedImage {
  /// The members of a record that are read, and the breed, which the URL has too.
  static let appMembers: Set = ["url", "breed", FieldName.isFavorite]

  /// Parses the favorites in the app's own storage. A record whose flag is false or missing is not a
  /// favorite. A record that is not valid does not affect the others.
  ///
  /// - Returns: The favorites in order, and an error for each record that is not an image, with its number,
  ///   starting at 1, and its content.
  /// - Throws: `LibraryError.invalidAnswer` if the value is not an array of records.
  public static func favorites(
    persisted: some JSONSource
  ) throws(LibraryError) -> (images: [BreedImage], failures: [LibraryError]) {
    let value = try persisted.json()
    guard let records = value.array else {
      throw .invalidAnswer("persisted favorites that are \(value.kind), not an array")
    }
    var images: [BreedImage] = []
    var failures: [LibraryError] = []
    for (index, record) in records.enumerated() {
      let text = url(ofRecord: record)
      // No flag, or null, is false; a value of another kind is an error.
      let flag = Result { () throws(LibraryError) in try FileItem.flag(record[FieldName.isFavorite]) ?? false
      }
      guard let url = text.flatMap(absoluteURL), let isFavorite = try? flag.get() else {
        let shown = record.jsonText.prefix(120)
        failures.append(.invalidItem("record \(index + 1) of the persisted favorites is no image: \(shown)"))
        continue
      }
      if isFavorite { images.append(BreedImage(url: url, isFavorite: true)) }
    }
    return (images, failures)
  }

  /// The URL of a record. Encoders other than `JSONEncoder` write a URL as an object.
  fileprivate static func url(ofRecord record: JSONValue) -> String? {
    record["url"]?.string ?? record["url"]?["relative"]?.string
  }
}

extension FavoritesManager {
  /// Imports the favorites of the app's own storage in one commit. An image that the store already knows,
  /// liked or not, is left unchanged: a tap is never overwritten, and importing again changes nothing. Members that are
  /// not known are reported.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the value is not an array of records, `HeartlogError` if the
  ///   store cannot be written.
  @discardableResult
  public func takeOver(persisted: some JSONSource) throws -> TakeOverReport {
    let records = try persisted.json()
    let (read, unread) = try BreedImage.favorites(persisted: records)
    let unknown = (records.array ?? []).unknownMembers(besides: BreedImage.appMembers)
    let (images, refused) = favorites.storable(read)
    let count = try favorites.takeOver(
      images.map { (item: $0, since: nil) }, origin: TakeOverOrigin.userDefaults)
    return TakeOverReport(count: count, failures: unread + refused + unknown)
  }
}

/// The breed browser's liked images: `[{"url": …, "isFavorite": …}, …]`.
struct ImageRecords: AppRecordList {
  let library = BreedImage.descriptor
  let members = BreedImage.appMembers

  /// A record has a URL and a flag, and nothing that would be lost.
  func matches(_ outline: JSONOutline) -> Bool {
    outline.elementNames.isSuperset(of: ["url", FieldName.isFavorite])
      && outline.elementNames.isSubset(of: members.union(FileItem.restMembers))
  }
  func matches(_ item: FileItem) -> Bool { URL(favoriteID: item.id)?.scheme != nil }

  func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    guard record.object != nil else { throw .invalidItem("\(record.kind) where an image should be") }
    guard let url = BreedImage.url(ofRecord: record) else {
      throw .invalidItem("an image without a url")
    }
    var item = FileItem(id: url)
    item.isFavorite = try FileItem.flag(record[FieldName.isFavorite]) ?? false
    try item.takeRest(of: record)
    return item
  }

  func record(_ item: FileItem) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("url", item.id)
    json.member(FieldName.isFavorite, item.isFavorite)
    item.writeRest(&json, except: [])
    json.endObject()
    return json.bytes
  }
}
