import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Book: DescribedItem {
  public static var descriptor: any LibraryDescriptor { BooksDescriptor() }
}

extension PlaybackSettings: DescribedItem {
  public static var descriptor: any LibraryDescriptor { SettingsDescriptor() }
}

/// Audiobooks, identified by UUIDs.
private struct BooksDescriptor: LibraryDescriptor {
  let name = Book.library
  let fields: [LibraryField] = [
    .init("title"), .init("author"), .init("downloadURL", .url), .init("coverImageURL", .url),
    .init("duration", .seconds),
    // Any number: it is clamped.
    .init("currentPosition", .number(-.infinity ... .infinity), isQuiet: true),
    .init("googleDriveFileID"), .init("coverSearch"),
    .init("fileURL", .url, isLocal: true), .init("coverFileURL", .url, isLocal: true),
    .init("isDownloaded", .bool, isLocal: true), .init("associatedFiles", .texts, isLocal: true),
  ]
  let titleFields = ["title"]
  let subtitleFields = ["author"]
  let formats: [any FileFormat] = [LibriVoxFormat()]
  var appRecords: (any AppRecords)? { BookRecordList() }

  func id(_ text: String) throws(LibraryError) -> String {
    guard let uuid = UUID(uuidString: text) else {
      throw .invalidItem("\(text.quoted) is not the id of a book, which is a UUID")
    }
    return uuid.favoriteID
  }

  /// Removes the path of a cover too, as older versions logged it. The address of an audio file becomes the one for
  /// downloading it.
  func removeLocal(_ item: inout FileItem) {
    if item["downloadURL"] == nil, let address = item["fileURL"]?.text, let url = Book.url(address),
      url.scheme != nil, !url.isFileURL
    {
      item.set("downloadURL", .string(address))
    }
    var local = localFields
    if let cover = item["coverImageURL"]?.text, Book.url(cover)?.isFileURL == true {
      local.insert("coverImageURL")
    }
    item.remove(local)
  }

  /// Clamps the position to 0…duration.
  func reconcile(_ item: inout FileItem) {
    guard let position = item["currentPosition"]?.number else { return }
    let clamped = Book.clamped(position, duration: item["duration"]?.number ?? 0)
    guard clamped != position, let value = FieldValue.number(clamped) else { return }
    item.set("currentPosition", value)
  }

  /// The address for downloading the audio.
  func address(of item: FileItem) -> String? { item["downloadURL"]?.text }

  /// Recognizes an `.m4b` file. It becomes the same book as an imported file; one that cannot be read is identified by
  /// its path.
  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let url = URL(string: address), url.isFileURL, url.pathExtension.lowercased() == "m4b" else {
      return nil
    }
    let name = title.isEmpty ? url.deletingPathExtension().lastPathComponent : title
    let content = try? Book.fingerprint(of: url)
    let id = Book.id(of: content.map { "m4b:\($0)" } ?? "file:\(url.standardizedFileURL.path)")
    return try FileItem(told: Book(id: id, title: name, fileURL: url, dateAdded: .distantPast))
  }
}

/// The settings of the audiobook app, and any other settings.
private struct SettingsDescriptor: LibraryDescriptor {
  let name = PlaybackSettings.library
  let fields: [LibraryField] = [
    .init("playbackSpeed", .number(0.5...2)), .init("skipForwardInterval", .seconds),
    .init("skipBackwardInterval", .seconds), .init("simulateChapters", .bool),
    .init("simulatedChapterLength", .seconds), .init("rewindAfterInterruption", .seconds),
    // The app keeps these, and does not use them.
    .init("sleepTimerEnabled", .bool), .init("sleepTimerDuration", .seconds),
  ]
  let traits: LibraryTraits = .settings
  var appRecords: (any AppRecords)? { SettingsRecords() }
}
