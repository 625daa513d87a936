import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Archive: DescribedItem {
  public static var descriptor: any LibraryDescriptor { ArchivesDescriptor() }
}

extension Track: DescribedItem {
  public static var descriptor: any LibraryDescriptor { TracksDescriptor() }
}

/// Items of the Internet Archive, identified by their identifiers.
private struct ArchivesDescriptor: LibraryDescriptor {
  let name = Archive.library
  let fields: [LibraryField] = [
    .init("title"), .init("archiveTitle"), .init("mediatype"), .init("creators", .texts),
    .init("publishers", .texts), .init("desc"), .init("iconUrlString"),
  ]
  let titleFields = ["title"]
  let subtitleFields = ["creators"]
  let idColumns: Set<String> = ["identifier"]
  let formats: [any FileFormat] = [ArchiveJSONFormat()]

  func bookmarkTitle(of item: FileItem) -> String {
    if let title = item["archiveTitle"]?.text, !title.isEmpty { return title }
    return title(of: item) ?? item.id
  }

  func address(of item: FileItem) -> String? { "https://archive.org/details/\(item.id.percentEncoded)" }

  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let path = archivePath(of: address), path.count > 1,
      ["details", "download", "embed", "metadata"].contains(path[0]), !path[1].hasPrefix("@")
    else { return nil }
    // The site adds a suffix to the title of the page.
    var title = title
    for ending in [" : Internet Archive", " : Free Download, Borrow, and Streaming"]
    where title.hasSuffix(ending) {
      title.removeLast(ending.count)
    }
    let shown: String? = title.isEmpty || title.hasPrefix("http") ? nil : title
    return try FileItem(
      told: Archive(
        identifier: path[1], title: shown, archiveTitle: shown,
        iconUrlString: "https://archive.org/services/img/\(path[1])"))
  }
}

/// Files of archives, identified by their URLs.
private struct TracksDescriptor: LibraryDescriptor {
  let name = Track.library
  let fields: [LibraryField] = [
    .init("title"), .init("archiveIdentifier"), .init("archiveTitle"), .init("name"), .init("artist"),
    .init("creator"), .init("track"), .init("size"), .init("format"), .init("length"),
  ]
  let titleFields = ["title"]
  let subtitleFields: [String] = []
  let idColumns: Set<String> = ["url"]

  func id(_ text: String) throws(LibraryError) -> String { try checkedURL(text) }

  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let path = archivePath(of: address), path.count > 2, path[0] == "download" else { return nil }
    let file = [JSONMember("name", .string(path.dropFirst(2).joined(separator: "/")))]
    let named = title.isEmpty ? [] : [JSONMember("title", .string(title))]
    return try FileItem(told: try Track(file: JSONValue.object(file + named), archiveIdentifier: path[1]))
  }
}

/// The parts of the path of an address at archive.org; `nil` for any other address.
private func archivePath(of address: String) -> [String]? {
  guard let url = URL(string: address), ["archive.org", "www.archive.org"].contains(url.host?.lowercased())
  else {
    return nil
  }
  return url.path.split(separator: "/").map(String.init)
}
