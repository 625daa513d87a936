#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
