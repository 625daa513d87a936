#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A stretch of a book. Times are seconds.
public struct Chapter: Hashable, Sendable {
  /// What a list of chapters shows.
  public var title: String
  /// Seconds from the beginning of the book.
  public var startTime: Double
  /// Seconds.
  public var duration: Double

  /// A chapter from a time on.
  public init(title: String, startTime: Double, duration: Double) {
    self.title = title
    self.startTime = startTime
    self.duration = duration
  }

  /// Seconds from the beginning of the book; the next chapter begins here.
  public var endTime: Double { startTime + duration }
}

extension PlaybackSettings {
  /// The most chapters that are made up: eleven days of seconds. A duration that would take more is no book's.
  private static let chaptersMax = 1_000_000.0

  /// The chapters of a book that has none of its own: equal ones, the last with the remainder and never empty;
  /// one where chapters are not simulated, or where the duration or the length does not allow it.
  public func chapters(duration: Double) -> [Chapter] {
    let whole = [Chapter(title: "Chapter 1", startTime: 0, duration: duration)]
    let length = simulatedChapterLength
    let quotient = (duration / length).rounded(.up)
    guard simulateChapters, duration > 0, length > 0, quotient <= Self.chaptersMax else { return whole }
    var count = Int(quotient)
    // The quotient can be rounded to more than it is.
    if count > 1, Double(count - 1) * length >= duration { count -= 1 }
    return (0..<count).map { index in
      let start = Double(index) * length
      let end = index == count - 1 ? duration : start + length
      return Chapter(title: "Chapter \(index + 1)", startTime: start, duration: end - start)
    }
  }
}

extension [Chapter] {
  /// Which chapter a time is in: the last that has begun by then, so that at and past the end the last one stays; the first before
  /// that. Nil where there is none. O(log n), for chapters in the order of their starts.
  public func index(at time: Double) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].startTime <= time { low = middle + 1 } else { high = middle }
    }
    return isEmpty ? nil : Swift.max(0, low - 1)
  }

  /// The chapter at a time, as `index(at:)` finds it.
  public func chapter(at time: Double) -> Chapter? { index(at: time).map { self[$0] } }
}

extension Book {
  /// The cue sheet among the associated files; nil where there is none.
  public var cueSheetURL: URL? { associatedFiles.first { $0.pathExtension.lowercased() == "cue" } }

  /// The chapters of the book: the tracks of its cue sheet, else those that the settings make up.
  ///
  /// A cue sheet that cannot be read, or is none, does not keep a book from being played: then it counts as absent. `CueSheet` says what
  /// is wrong with it.
  ///
  /// - Parameters:
  ///   - settings: whether and how chapters are made up.
  ///   - contents: reads a file; nil where it cannot.
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
  /// The bytes of a file; nil where it cannot be read, or is too large for a cue sheet.
  public static func contents(of url: URL) -> [UInt8]? {
    guard url.isFileURL, let attributes = try? FileManager.default.attributesOfItem(atPath: url.path),
      let size = attributes[.size] as? Int, size <= bytesMax
    else { return nil }
    return FileManager.default.contents(atPath: url.path).map(Array.init)
  }
}
