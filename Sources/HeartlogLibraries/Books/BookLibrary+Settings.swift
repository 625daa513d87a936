import Heartlog

extension BookLibrary {
  /// Saves the settings that are different from what this caller last loaded or saved, or where it did neither, from what the store holds:
  /// each is a field of its own, so that two devices can change two of them at once.
  ///
  /// - Throws: `invalidItem` where one is out of its range; then none is written.
  public func saveSettings(_ new: PlaybackSettings) throws(HeartlogError) {
    let seen = memory.withLock { $0.settings }
    let fields = try Self.fields(of: new)
    let before = try seen.map { (seen) throws(HeartlogError) in try Self.fields(of: seen) } ?? []
    let differing = fields.filter { !before.contains($0) }
    try settings.set(differing, of: PlaybackSettings.item)
    memory.withLock { $0.settings = new }
  }

  /// The settings; one that is missing, or is not what it should be, takes its default, and the others stay.
  public func loadSettings() -> PlaybackSettings {
    let held = settings.item(PlaybackSettings.item)?.fields ?? []
    let loaded = Self.settings(of: held.filter { Self.settings(of: [$0]) != nil }) ?? PlaybackSettings()
    memory.withLock { $0.settings = loaded }
    return loaded
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
