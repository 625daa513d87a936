import Heartlog

extension BookLibrary {
  /// Saves the settings that differ from those that this caller last loaded or saved. If it did neither, all
  /// settings are compared with the store. Each setting is a separate field, so two devices can change
  /// different settings concurrently.
  ///
  /// - Throws: `invalidItem` if a setting is out of its range; then none is written.
  public func saveSettings(_ new: PlaybackSettings) throws(HeartlogError) {
    try saveSettings(new, since: memory.withLock { $0.settings })
  }

  /// Saves the settings that differ from others that were seen before; all that differ from the store if `nil`.
  func saveSettings(_ new: PlaybackSettings, since seen: PlaybackSettings?) throws(HeartlogError) {
    let fields = try Self.fields(of: new)
    let before = try seen.map { (seen) throws(HeartlogError) in try Self.fields(of: seen) } ?? []
    let differing = fields.filter { !before.contains($0) }
    try settings.set(differing, of: PlaybackSettings.item)
    memory.withLock { $0.settings = new }
  }

  /// Loads the settings. A setting that is missing or not valid has its default value; this does not affect
  /// the others.
  public func loadSettings() -> PlaybackSettings {
    let loaded = storedSettings
    memory.withLock { $0.settings = loaded }
    return loaded
  }

  /// The settings, without remembering them as loaded.
  var storedSettings: PlaybackSettings {
    let held = settings.item(PlaybackSettings.item)?.fields ?? []
    return Self.settings(of: held.filter { Self.settings(of: [$0]) != nil }) ?? PlaybackSettings()
  }

  private static func settings(of fields: [Field]) -> PlaybackSettings? {
    try? FieldDecoder.decode(
      PlaybackSettings.self, id: PlaybackSettings.item, isFavorite: false, favoritedDate: nil, fields: fields)
  }

  private static func fields(of settings: PlaybackSettings) throws(HeartlogError) -> [Field] {
    do { return try FieldEncoder.fields(of: settings) } catch {
      throw HeartlogError(.invalidItem, "settings: \(error)")
    }
  }
}
