import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Paper: DescribedItem {
  public static var descriptor: any LibraryDescriptor { PapersDescriptor() }
}

/// Papers on arXiv, identified by their arXiv identifiers, and other publications.
private struct PapersDescriptor: LibraryDescriptor {
  let name = Paper.library
  let fields: [LibraryField] = [
    .init("title"), .init("authors", .texts), .init("categories", .texts), .init("publishedDate"),
    .init("updatedDate"), .init("linkURL", .url), .init("pdfURL", .url), .init("summary"),
  ]
  let traits: LibraryTraits = .publications
  let titleFields = ["title"]
  let subtitleFields = ["authors"]
  let columnAliases = [
    "url": "linkURL", "pdf": "pdfURL", "abstract": "summary", "abstract note": "summary",
  ]
  let formats: [any FileFormat] = [ArXivAtomFormat(), ArXivSnapshotFormat()]

  func address(of item: FileItem) -> String? {
    item["linkURL"]?.text ?? "https://arxiv.org/abs/\(item.id.percentEncoded)"
  }

  /// Recognizes `abs/2006.08594v1`, `pdf/quant-ph/0201082v1.pdf`.
  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let url = URL(string: address), let host = url.host?.lowercased(),
      host == "arxiv.org" || host.hasSuffix(".arxiv.org")
    else { return nil }
    let path = url.path.split(separator: "/")
    guard path.count > 1, ["abs", "pdf", "html", "ps", "format"].contains(path[0]) else { return nil }
    var name = path.dropFirst().joined(separator: "/")
    if name.hasSuffix(".pdf") { name.removeLast(4) }
    guard let id = ArXivIdentifier(name)?.text else { return nil }
    var item = FileItem(id: id)
    item.set("linkURL", .string(try Paper.url("abs", of: id).absoluteString))
    item.set("pdfURL", .string(try Paper.url("pdf", of: id).absoluteString))
    // The title of the page is "[2006.08594] Title of the paper"; that of its PDF is the name of the file.
    var title = title[...]
    if title.hasPrefix("["), let end = title.firstIndex(of: "]") { title = title[title.index(after: end)...] }
    let shown = title.withoutOuterWhiteSpace
    if !shown.isEmpty, !title.hasPrefix(id), !title.hasSuffix(".pdf") { item.set("title", .string(shown)) }
    return item
  }
}
