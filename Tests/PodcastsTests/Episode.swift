import Foundation
import Heartlog
import HeartlogLibraries

/// An episode of a podcast: the item type of an app that is none of the five.
///
/// This file is all that a library takes. What it uses is public.
struct Episode: DescribedItem, Hashable {
  static let library = "podcasts"
  static var descriptor: any LibraryDescriptor { PodcastsDescriptor() }

  /// As the feed tells it, in lower case: "show/0042".
  var id: String
  var title: String
  var show: String
  var audioURL: URL
  /// Seconds.
  var duration: Double
  /// Seconds from the beginning.
  var position = 0.0
}

private struct PodcastsDescriptor: LibraryDescriptor {
  let name = Episode.library
  let fields: [LibraryField] = [
    .init("title", alwaysHasColumn: true), .init("show"), .init("audioURL", .url),
    .init("duration", .seconds),
    .init("position", .seconds, isQuiet: true),
  ]
  let subtitleFields = ["show"]
  let idColumns: Set<String> = ["guid"]
  let columnAliases = ["podcast": "show", "enclosure": "audioURL"]
  let formats: [any FileFormat] = [PodcastIndexFormat()]
  var appRecords: (any AppRecords)? { QueueRecords() }

  func id(_ text: String) throws(LibraryError) -> String {
    guard text.split(separator: "/").count == 2 else {
      throw .invalidItem("\"\(text)\" is no id of an episode, a show and a number")
    }
    return text.lowercased()
  }

  func reconcile(_ item: inout FileItem) {
    guard case .double(let duration)? = item["duration"], case .double(let position)? = item["position"],
      position > duration
    else { return }
    item.set("position", .double(duration))
  }

  func bookmarkTitle(of item: FileItem) -> String { titleLine(of: item) }

  func address(of item: FileItem) -> String? { "https://podcasts.example/\(item.id)" }

  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let url = URL(string: address), url.host() == "podcasts.example" else { return nil }
    return FileItem(id: String(url.path().dropFirst()), fields: [Field(name: "title", value: .string(title))])
  }
}

/// What the service of the podcasts answers: `{"episodes": [{"guid", "title", "feedTitle", "enclosureUrl", "duration"}, …]}`.
private struct PodcastIndexFormat: FileFormat {
  let name = "podcast-index"
  let summary = "an answer with the episodes of a podcast"
  let fileExtensions = ["json"]
  let certainty = FileCertainty.member

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    JSONOutline(beginning).objectNames.contains("episodes")
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    guard let list = document.node("episodes") else { throw .invalidAnswer("an answer without episodes") }
    let (records, failure) = document.elements(of: list)
    var contents = FileContents()
    if let failure { contents.refuse(line: failure.line, failure.reason) }
    contents.take(records, of: document) { (record) throws(LibraryError) in
      guard let url = record["enclosureUrl"]?.string.flatMap({ URL(string: $0) }) else {
        throw .invalidItem("an episode without its audio")
      }
      return try library.checked(
        FileItem(
          encoding: Episode(
            id: record["guid"]?.string ?? "", title: record["title"]?.string ?? "",
            show: record["feedTitle"]?.string ?? "", audioURL: url,
            duration: record["duration"]?.number ?? 0)))
    }
    return contents
  }
}

/// What the app itself keeps: `{"queue": ["show/0042", …]}`.
private struct QueueRecords: AppRecords {
  func matches(_ outline: JSONOutline) -> Bool { outline.objectNames.contains("queue") }
  func matches(_ item: FileItem) -> Bool { false }

  func read(_ document: JSONDocument) throws(LibraryError) -> FileContents {
    guard let list = document.node("queue") else { throw .invalidAnswer("an app without a queue") }
    var contents = FileContents()
    contents.take(document.elements(of: list).elements, of: document) { (record) throws(LibraryError) in
      try Episode.descriptor.checked(FileItem(id: record.string ?? ""))
    }
    return contents
  }

  func write(_ items: [FileItem]) throws(LibraryError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    do {
      return try Array(encoder.encode(["queue": items.map(\.id)])) + [UInt8(ascii: "\n")]
    } catch {
      throw .invalidItem(String(describing: error))
    }
  }
}
