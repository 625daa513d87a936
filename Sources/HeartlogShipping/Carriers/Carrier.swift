import Heartlog

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

/// A carrier to one other device, with which this one can be paired: docs/encryption.md, "Pairing".
package protocol PairingCarrier: Carrier {
  /// Admits the other device to the encrypted vault of this one, or this device to that of the other.
  func pair(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> PairingReport
}
