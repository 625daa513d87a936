import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension BreedImage: DescribedItem {
  public static var descriptor: any LibraryDescriptor { BreedsDescriptor() }
}

/// Images of dogs, identified by their URLs.
private struct BreedsDescriptor: LibraryDescriptor {
  let name = BreedImage.library
  let fields: [LibraryField] = [.init("breed")]
  let subtitleFields: [String] = []
  let idColumns: Set<String> = ["url"]
  let formats: [any FileFormat] = [DogCeoFormat()]
  var appRecords: (any AppRecords)? { ImageRecords() }

  func id(_ text: String) throws(LibraryError) -> String { try checkedURL(text) }

  /// The breed in the URL, if there is one.
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
