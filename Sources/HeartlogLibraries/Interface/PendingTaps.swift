import Heartlog

/// The taps of a model that are being written, in their order. They are shown as they were tapped, whatever the store says meanwhile.
@MainActor
final class PendingTaps<Item: Hashable & Sendable> {
  private var taps: [Item: (isFavorite: Bool, writes: Int)] = [:]
  /// The write of the last tap, after those of the taps before it.
  private var writing: Task<HeartlogError?, Never>?

  /// Whether a tap shows an item as a favorite; `nil` if no tap on it is being written.
  subscript(item: Item) -> Bool? { taps[item]?.isFavorite }

  /// The items whose taps are being written.
  var items: some Sequence<Item> { taps.keys }

  /// Notes a tap, and writes it after those before it.
  ///
  /// - Returns: the write. When it has ended, pass its item to `end`.
  func begin(
    _ item: Item, _ isFavorite: Bool, _ write: @escaping @Sendable () async throws(HeartlogError) -> Void
  ) -> Task<HeartlogError?, Never> {
    taps[item] = (isFavorite, (taps[item]?.writes ?? 0) + 1)
    let earlier = writing
    let task = Task { () -> HeartlogError? in
      _ = await earlier?.value
      do throws(HeartlogError) {
        try await write()
        return nil
      } catch { return error }
    }
    writing = task
    return task
  }

  /// Notes that a write has ended.
  ///
  /// - Returns: whether it was the last one of its item, which then shows what is stored.
  func end(_ item: Item) -> Bool {
    taps[item]?.writes -= 1
    guard taps[item]?.writes == 0 else { return false }
    taps[item] = nil
    return true
  }
}
