import Heartlog

/// The settings for playback: one item with a field for each setting, so that settings are merged separately.
public struct PlaybackSettings: FavoriteItem, Hashable {
  public static let library = "settings"
  /// The id of the one item that contains the settings.
  public static let item = "playback"

  /// The factor of the playback speed, 0.5 to 2.
  public var playbackSpeed = 1.0
  /// How far a skip forward goes, in seconds.
  public var skipForwardInterval = 30.0
  /// How far a skip backward goes, in seconds.
  public var skipBackwardInterval = 30.0
  /// Whether a book without chapters is split into chapters of equal length.
  public var simulateChapters = true
  /// The length of a simulated chapter, in seconds.
  public var simulatedChapterLength = 900.0
  /// How far playback goes back after an interruption, in seconds.
  public var rewindAfterInterruption = 2.0

  public var id: String { Self.item }

  /// Creates settings with the defaults of the app.
  public init() {}

  private enum CodingKeys: CodingKey {
    case playbackSpeed, skipForwardInterval, skipBackwardInterval, simulateChapters, simulatedChapterLength
    case rewindAfterInterruption
  }

  /// Decodes settings. A missing setting has its default value, which does not affect the others.
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

  /// Checks all settings. Settings are checked before they are written and after they are read.
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
