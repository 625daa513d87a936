import Heartlog

/// How books are played: one item with a field for each setting, so that each merges on its own.
public struct PlaybackSettings: FavoriteItem, Hashable {
  public static let library = "settings"
  /// The one item that holds the settings.
  public static let item = "playback"

  /// 0.5 to 2.
  public var playbackSpeed = 1.0
  /// Seconds.
  public var skipForwardInterval = 30.0
  /// Seconds.
  public var skipBackwardInterval = 30.0
  /// Whether a book without chapters is cut into some of equal length.
  public var simulateChapters = true
  /// Seconds.
  public var simulatedChapterLength = 900.0
  /// Seconds.
  public var rewindAfterInterruption = 2.0

  public var id: String { Self.item }

  /// The defaults of the app.
  public init() {}

  private enum CodingKeys: CodingKey {
    case playbackSpeed, skipForwardInterval, skipBackwardInterval, simulateChapters, simulatedChapterLength
    case rewindAfterInterruption
  }

  /// A setting that is missing takes its default, and leaves the others alone.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func read<T: Decodable>(_ setting: inout T, _ key: CodingKeys) throws {
      setting = try container.decodeIfPresent(T.self, forKey: key) ?? setting
    }
    try read(&playbackSpeed, .playbackSpeed)
    try read(&skipForwardInterval, .skipForwardInterval)
    try read(&skipBackwardInterval, .skipBackwardInterval)
    try read(&simulateChapters, .simulateChapters)
    try read(&simulatedChapterLength, .simulatedChapterLength)
    try read(&rewindAfterInterruption, .rewindAfterInterruption)
    try validate()
  }

  public func encode(to encoder: any Encoder) throws {
    try validate()
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(playbackSpeed, forKey: .playbackSpeed)
    try container.encode(skipForwardInterval, forKey: .skipForwardInterval)
    try container.encode(skipBackwardInterval, forKey: .skipBackwardInterval)
    try container.encode(simulateChapters, forKey: .simulateChapters)
    try container.encode(simulatedChapterLength, forKey: .simulatedChapterLength)
    try container.encode(rewindAfterInterruption, forKey: .rewindAfterInterruption)
  }

  /// Nothing out of its range comes into the store, or out of it.
  ///
  /// - Throws: `LibraryError.invalidItem` with the first setting that is out of its range.
  public func validate() throws(LibraryError) {
    guard (0.5...2).contains(playbackSpeed) else {
      throw .invalidItem("a playbackSpeed of \(playbackSpeed), which must be 0.5 to 2")
    }
    for (name, seconds) in [
      ("skipForwardInterval", skipForwardInterval), ("skipBackwardInterval", skipBackwardInterval),
      ("simulatedChapterLength", simulatedChapterLength),
      ("rewindAfterInterruption", rewindAfterInterruption),
    ] {
      guard seconds.isFinite, seconds >= 0 else {
        throw .invalidItem("a \(name) of \(seconds) seconds, which must be 0 or more")
      }
    }
  }
}
