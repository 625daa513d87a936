import Heartlog

/// A way between stores. What it moves is runs of commits; how is its own affair: by a dialogue (`SyncSession`) over
/// bytes that it carries, or by files that it leaves for others to find.
public protocol Carrier: Sendable {
  /// What people call the other side.
  var description: String { get }

  /// Brings `store` and the other side to know the same, as far as the options say.
  func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport
}
