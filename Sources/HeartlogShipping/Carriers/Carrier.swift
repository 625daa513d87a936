import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A way to exchange commits between stores.
///
/// A carrier moves runs of commits. It either runs a dialogue (`SyncSession`) over bytes that it carries, or
/// leaves files for other devices to find.
public protocol Carrier: Sendable {
  /// The name of the other side, as shown to people.
  var description: String { get }

  /// Exchanges commits until `store` and the other side have the same ones, as far as the options allow.
  func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport
}

extension URL {
  /// The path of a file URL.
  ///
  /// - Throws: `invalid` for any other URL.
  func filePath(of what: String) throws(HeartlogError) -> String {
    guard isFileURL else {
      throw HeartlogError(.invalid, "the location of \(what) must be a file URL, not \(self)")
    }
    return path
  }
}
