import Foundation
import Heartlog
import HeartlogLibraries
import HeartlogTesting
import LibraryTestSupport
import Testing

@testable import HeartlogInterchange

/// What the tests of the formats share.
enum Bibliography {
  static let written: [any FileFormat] = FileFormats.standard.formats(onlyFor: Paper.library)
    .filter(\.isWritten)

  /// What a file of `fixtures/api` holds.
  static func fixture(_ name: String) throws -> [UInt8] {
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return Array(try Data(contentsOf: package.appending(path: "fixtures/api/\(name)")))
  }

  /// Papers as favorites, each since a millisecond of its own.
  static func items(_ papers: [Paper]) throws -> [FileItem] {
    try papers.enumerated().map { index, paper in
      var item = try FileItem(encoding: paper)
      item.favoritedDate = 1_772_000_000_000 + Milliseconds(index) * 86_400_001
      return item
    }
  }

  /// A text as the file of a format, read.
  static func read(_ text: String, as format: any FileFormat) throws -> FileContents {
    try format.read(Array(text.utf8), for: Paper.descriptor)
  }

  /// Writes items, takes them into an empty store, and expects the store to hold them as they are.
  static func expectRoundTrip(
    _ items: [FileItem], _ format: any FileFormat, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let file = try format.write(items, of: Paper.descriptor)
    #expect(file.isEmpty || file.last == UInt8(ascii: "\n"), sourceLocation: sourceLocation)
    let library = try FavoritesStore.inMemory(options: ManualClock().options).library(Paper.library)
    let report = try library.importFile(file, format: format)
    #expect(report.refusals.isEmpty, sourceLocation: sourceLocation)
    for item in items {
      let state = try #require(library.item(item.id), "\(item.id)", sourceLocation: sourceLocation)
      let held = FileItem(state)
      #expect(held.favoritedDate == item.favoritedDate, "\(item.id)", sourceLocation: sourceLocation)
      #expect(held.isFavorite == item.isFavorite, "\(item.id)", sourceLocation: sourceLocation)
      #expect(
        Set(held.fields) == Set(item.fields.filter { !$0.value.isNull }), "\(item.id)",
        sourceLocation: sourceLocation)
    }
    // Once more, and nothing is written.
    #expect(
      try library.importFile(file, format: format).unchanged == items.count,
      sourceLocation: sourceLocation)
  }
}

extension SeededRandom: RandomNumberGenerator {}
