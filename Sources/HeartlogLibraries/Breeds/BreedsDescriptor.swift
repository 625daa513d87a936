import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension BreedImage: DescribedItem {
  public static var descriptor: any LibraryDescriptor { BreedsDescriptor() }
}

/// Pictures of dogs, told by their URLs.
private struct BreedsDescriptor: LibraryDescriptor {
  let name = BreedImage.library
  let fields: [LibraryField] = [.init("breed")]
  let subtitleFields: [String] = []
  let idColumns: Set<String> = ["url"]
  let formats: [any FileFormat] = [DogCeoFormat()]
  var appRecords: (any AppRecords)? { ImageRecords() }

  func id(_ text: String) throws(LibraryError) -> String { try checkedURL(text) }

  /// The breed that the URL names.
  func bookmarkTitle(of item: FileItem) -> String {
    URL(string: item.id).flatMap { BreedImage(url: $0).breed } ?? title(of: item) ?? item.id
  }

  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let url = URL(string: address), url.host?.lowercased() == "images.dog.ceo",
      url.path.split(separator: "/").first == "breeds"
    else { return nil }
    return FileItem(id: url.absoluteString)
  }
}

/// The breed browser's liked images: `[{"url": …, "isFavorite": …}, …]`.
private struct ImageRecords: AppRecordList {
  let library = BreedImage.descriptor

  func matches(_ outline: JSONOutline) -> Bool { outline.elementNames.contains("url") }
  func matches(_ item: FileItem) -> Bool { URL(favoriteID: item.id)?.scheme != nil }

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
