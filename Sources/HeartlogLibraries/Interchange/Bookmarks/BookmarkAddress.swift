import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The URL of an item, as people bookmark it, and the item of a URL.
enum BookmarkAddress {
  private static let scheme = "heartlog:"

  // MARK: From an item

  /// Where a browser shows the item; one of our own scheme where it is nowhere.
  static func url(of item: FileItem, in library: String) -> String {
    switch library {
    case Paper.library: return item["linkURL"]?.text ?? "https://arxiv.org/abs/\(escaped(item.id))"
    case Archive.library: return "https://archive.org/details/\(escaped(item.id))"
    case City.library:
      guard let lat = item["lat"]?.number, let lon = item["lon"]?.number else { break }
      let (north, east) = (JSONValue.double(lat).jsonText, JSONValue.double(lon).jsonText)
      return "https://www.openstreetmap.org/?mlat=\(north)&mlon=\(east)#map=12/\(north)/\(east)"
    default:
      let told = ["fileURL", "url", "linkURL", "link", "href"].lazy.compactMap { item[$0]?.text }
      if let url = told.first(where: isAddress) ?? (isAddress(item.id) ? item.id : nil) { return url }
    }
    return "\(scheme)\(library)/\(escaped(item.id))"
  }

  private static func isAddress(_ text: String) -> Bool {
    ["http://", "https://", "file:///"].contains { text.hasPrefix($0) } && URL(string: text) != nil
  }

  /// What the title of a bookmark says.
  static func title(of item: FileItem, in library: String) -> String {
    switch library {
    case City.library:
      let names = [item["name"]?.text, item["country"]?.text].compactMap { $0 }.filter { !$0.isEmpty }
      if !names.isEmpty { return names.joined(separator: ", ") }
    case BreedImage.library:
      if let breed = URL(string: item.id).flatMap({ BreedImage(url: $0).breed }) { return breed }
    default: break
    }
    let told = ["archiveTitle", "title", "name"].lazy.compactMap { item[$0]?.text }
    return told.first { !$0.isEmpty } ?? item.id
  }

  /// All but RFC 3986's unreserved characters and the slash are escaped.
  private static func escaped(_ text: String) -> String {
    var escaped: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        escaped.append(byte)
      case _ where "-._~/".utf8.contains(byte): escaped.append(byte)
      default: escaped += "%\(Hexadecimal.text([byte]).uppercased())".utf8
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }

  /// Nil for an escape that is none, and for what is no UTF-8.
  private static func unescaped(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16), rest.count >= 2 else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  // MARK: From a URL

  /// The item that somebody bookmarked.
  ///
  /// - Parameter title: what the bookmark says; empty where it says nothing.
  /// - Throws: `invalidItem` where the address is none of an item of the library.
  static func item(at address: String, title: String, in library: String) throws(LibraryError) -> FileItem {
    guard !address.isEmpty else { throw .invalidItem("a bookmark without an address") }
    if address.hasPrefix(scheme) {
      let parts = address.dropFirst(scheme.count).split(separator: "/", maxSplits: 1)
      guard parts.count == 2, parts[0] == library, let id = unescaped(parts[1]) else {
        throw .invalidItem("\(KnownField.shown(address)) is nothing of \(library)")
      }
      return FileItem(id: id)
    }
    guard FileFormats.knownLibraries.contains(library) else {
      return FileItem(id: address, fields: text("title", title))
    }
    guard let url = URL(string: address), let item = try known(url, title, library) else {
      throw .invalidItem("\(KnownField.shown(address)) is the address of nothing in \(library)")
    }
    return item
  }

  private static func text(_ name: String, _ text: String) -> [Field] {
    text.isEmpty ? [] : [Field(name: name, value: .string(text))]
  }

  private static func known(_ url: URL, _ title: String, _ library: String) throws(LibraryError) -> FileItem?
  {
    let host = url.host?.lowercased() ?? ""
    let path = url.path.split(separator: "/").map(String.init)
    switch library {
    case Paper.library where host == "arxiv.org" || host.hasSuffix(".arxiv.org"):
      return try paper(path, title)
    case Archive.library where isArchive(host): return try archive(path, title)
    case Track.library where isArchive(host) && path.count > 2 && path[0] == "download":
      let file = [JSONMember("name", .string(path.dropFirst(2).joined(separator: "/")))]
      let named = title.isEmpty ? [] : [JSONMember("title", .string(title))]
      return try FileItem(told: try Track(file: .object(file + named), archiveIdentifier: path[1]))
    case BreedImage.library where host == "images.dog.ceo" && path.first == "breeds":
      return FileItem(id: url.absoluteString)
    case City.library where host.hasSuffix("openweathermap.org") && path.count == 2 && path[0] == "city":
      return FileItem(id: path[1])
    case City.library where host.hasSuffix("geonames.org"): return path.first.map { FileItem(id: $0) }
    case Book.library where url.isFileURL && url.pathExtension.lowercased() == "m4b":
      let name = title.isEmpty ? url.deletingPathExtension().lastPathComponent : title
      let id = Book.id(of: "file:\(url.standardizedFileURL.path)")
      return try FileItem(told: Book(id: id, title: name, fileURL: url, dateAdded: .distantPast))
    default: return nil
    }
  }

  private static func isArchive(_ host: String) -> Bool { host == "archive.org" || host == "www.archive.org" }

  /// `abs/2006.08594v1`, `pdf/quant-ph/0201082v1.pdf`.
  private static func paper(_ path: [String], _ title: String) throws(LibraryError) -> FileItem? {
    guard path.count > 1, ["abs", "pdf", "html", "ps", "format"].contains(path[0]) else { return nil }
    var id = path.dropFirst().joined(separator: "/")
    if id.hasSuffix(".pdf") { id.removeLast(4) }
    guard isArXiv(id) else { return nil }
    var fields = [
      Field(name: "linkURL", value: .string(try Paper.url("abs", of: id).absoluteString)),
      Field(name: "pdfURL", value: .string(try Paper.url("pdf", of: id).absoluteString)),
    ]
    // The page's title is "[2006.08594] What it is about", that of its PDF the file's name.
    var title = title[...]
    if title.hasPrefix("["), let end = title.firstIndex(of: "]") { title = title[title.index(after: end)...] }
    if !title.hasPrefix(id), !title.hasSuffix(".pdf") {
      fields += text("title", Paper.trimmed(String(title)))
    }
    return FileItem(id: id, fields: fields)
  }

  /// `2006.08594v1` since April 2007, `quant-ph/0201082v1` before. Source: https://info.arxiv.org/help/arxiv_identifier.html
  private static func isArXiv(_ id: String) -> Bool {
    func isNumber(_ text: Substring, _ counts: ClosedRange<Int>) -> Bool {
      counts.contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
    var rest = id[...]
    if let version = rest.lastIndex(of: "v") {
      guard isNumber(rest[rest.index(after: version)...], 1...4) || rest.contains("/") else { return false }
      if isNumber(rest[rest.index(after: version)...], 1...4) { rest = rest[..<version] }
    }
    let parts = rest.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 2 {
      let isArchive = parts[0].utf8.allSatisfy { $0 == 0x2D || $0 == 0x2E || (0x41...0x7A).contains($0) }
      return isArchive && !parts[0].isEmpty && isNumber(parts[1], 7...7)
    }
    let numbers = rest.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 1 && numbers.count == 2 && isNumber(numbers[0], 4...4)
      && isNumber(numbers[1], 4...5)
  }

  private static func archive(_ path: [String], _ title: String) throws(LibraryError) -> FileItem? {
    guard path.count > 1, ["details", "download", "embed", "metadata"].contains(path[0]),
      !path[1].hasPrefix("@")
    else { return nil }
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
