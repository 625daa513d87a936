import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The breed browser's liked images: `[{"url": …, "isFavorite": …}, …]`.
struct BreedsForm: AppForm {
  let library = BreedImage.library

  func isForm(_ outline: JSONOutline) -> Bool { outline.elementNames.contains("url") }
  func isForm(_ item: FileItem) -> Bool { URL(favoriteID: item.id)?.scheme != nil }

  func item(_ record: JSONValue) throws(LibraryError) -> FileItem {
    guard record.object != nil else { throw .invalidItem("\(record.kind) where an image should be") }
    // An encoder other than JSONEncoder writes a URL as an object.
    guard let url = record["url"]?.string ?? record["url"]?["relative"]?.string else {
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
