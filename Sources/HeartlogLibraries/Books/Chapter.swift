#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A chapter of a book. Times are in seconds.
public struct Chapter: Hashable, Sendable, Identifiable, Codable {
  /// Identifies the chapter in a list. If it is not given, it is derived from the title and the times, so that
  /// it is the same each time the chapters of a book are determined.
  public var id: UUID
  /// The title in a list of chapters.
  public var title: String
  /// The start in seconds from the beginning of the book.
  public var startTime: Double
  /// The duration in seconds.
  public var duration: Double

  /// Creates a chapter.
  public init(id: UUID? = nil, title: String, startTime: Double, duration: Double) {
    self.id = id ?? Book.id(of: "chapter:\(startTime):\(duration):\(title)")
    self.title = title
    self.startTime = startTime
    self.duration = duration
  }

  /// The end in seconds from the beginning of the book; the next chapter starts here.
  public var endTime: Double { startTime + duration }

  /// The fraction of the chapter that lies before a time, 0 to 1.
  ///
  /// - Parameter time: in seconds from the beginning of the book.
  public func progress(at time: Double) -> Double {
    guard duration > 0 else { return time < startTime ? 0 : 1 }
    return min(1, max(0, (time - startTime) / duration))
  }
}

extension PlaybackSettings {
  /// The most simulated chapters: one per second for eleven days. A duration that needs more is not
  /// realistic.
  private static let chaptersMax = 1_000_000.0

  /// Simulates chapters for a book that has none. They have equal lengths, except the last, which has the
  /// remainder and is never empty. There is only one chapter if chapters are not simulated, or if the
  /// duration or the length does not allow it.
  public func chapters(duration: Double) -> [Chapter] {
    let whole = [Chapter(title: "Chapter 1", startTime: 0, duration: duration)]
    let length = simulatedChapterLength
    let quotient = (duration / length).rounded(.up)
    guard simulateChapters, duration > 0, length > 0, quotient <= Self.chaptersMax else { return whole }
    var count = Int(quotient)
    // The quotient can be rounded up to the next integer.
    if count > 1, Double(count - 1) * length >= duration { count -= 1 }
    return (0..<count).map { index in
      let start = Double(index) * length
      let end = index == count - 1 ? duration : start + length
      return Chapter(title: "Chapter \(index + 1)", startTime: start, duration: end - start)
    }
  }
}

extension [Chapter] {
  /// The index of the chapter at a time: the last one that has started, so the last chapter at and after the
  /// end; before the first chapter, the first. `nil` if there are no chapters. O(log n). The chapters must be
  /// in the order of their starts.
  public func index(at time: Double) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].startTime <= time { low = middle + 1 } else { high = middle }
    }
    return isEmpty ? nil : Swift.max(0, low - 1)
  }

  /// The chapter at a time, as found by `index(at:)`.
  public func chapter(at time: Double) -> Chapter? { index(at: time).map { self[$0] } }

  /// The chapter after the one at a time; `nil` if that is the last one.
  public func next(after time: Double) -> Chapter? {
    index(at: time).flatMap { $0 + 1 < count ? self[$0 + 1] : nil }
  }

  /// The chapter before the one at a time; `nil` if that is the first one.
  public func previous(before time: Double) -> Chapter? {
    index(at: time).flatMap { $0 > 0 ? self[$0 - 1] : nil }
  }
}

extension Book {
  /// The cue sheet among the associated files; `nil` if there is none.
  public var cueSheetURL: URL? { associatedFiles.first { $0.pathExtension.lowercased() == "cue" } }

  /// The chapters of the book: the tracks of its cue sheet, or simulated ones as configured in the settings.
  ///
  /// A cue sheet that cannot be read or is not valid does not prevent playback: it is ignored. Parse it with
  /// `CueSheet` to see the error.
  ///
  /// - Parameters:
  ///   - settings: whether chapters are simulated, and how long they are.
  ///   - contents: reads a file; returns `nil` if it cannot be read.
  public func chapters(
    _ settings: PlaybackSettings, contents: (URL) -> [UInt8]? = { CueSheet.contents(of: $0) }
  ) -> [Chapter] {
    if let cueSheetURL, let bytes = contents(cueSheetURL), let sheet = try? CueSheet(bytes) {
      let chapters = sheet.chapters(duration: duration)
      if !chapters.isEmpty { return chapters }
    }
    return settings.chapters(duration: duration)
  }
}

extension CueSheet {
  /// The bytes of a file; `nil` if it cannot be read, or is too large for a cue sheet.
  public static func contents(of url: URL) -> [UInt8]? {
    guard url.isFileURL, let attributes = try? FileManager.default.attributesOfItem(atPath: url.path),
      let size = attributes[.size] as? Int, size <= bytesMax
    else { return nil }
    return FileManager.default.contents(atPath: url.path).map(Array.init)
  }
}
