import Heartlog
import HeartlogFormat

/// Where a device keeps the keys of its vault. Every method may be called from any thread.
package protocol VaultKeyStore: Sendable {
  /// The key with which the device signs; `nil` if it has none.
  var deviceKey: (any DeviceKey)? { get throws(HeartlogError) }

  /// The source of secrets.
  var random: @Sendable () -> UInt64 { get }

  /// The vault that the store belongs to; `nil` if it has none.
  var vault: VaultMembership? { get }

  /// The bytes of a file beside that key; `nil` if there is none.
  func keyFile(_ name: String) throws(HeartlogError) -> [UInt8]?

  /// The names in a folder beside that key.
  func keyFileNames(in folder: String) throws(HeartlogError) -> [String]

  /// Writes a file beside that key, durably.
  func replaceKeyFile(_ name: String, with bytes: [UInt8]) throws(HeartlogError)

  /// Records which replicas are removed, and the last commit of each that counts. What is here behind it becomes a stream of its own,
  /// unless it is this device's.
  func revoke(_ revoked: [ReplicaID: UInt64]) throws(HeartlogError)

  /// Makes the commits of a stream behind one of them a stream of its own. If it is this device's, it goes on as another replica.
  func setAside(_ replica: ReplicaID, after size: UInt64) throws(HeartlogError)

  /// Keeps room for the streams of members, and of those that were: nobody who makes up others keeps them out.
  func vouch(for members: Set<ReplicaID>, removed: Set<ReplicaID>)

  /// Makes the store a member of a vault.
  func join(_ vault: VaultID, with other: VaultMembership, isEstablished: Bool) throws(HeartlogError)
}

extension VaultKeyStore {
  /// `random` as a `RandomNumberGenerator`.
  var generator: KeyGenerator { KeyGenerator(random: random) }
}

struct KeyGenerator: RandomNumberGenerator {
  let random: @Sendable () -> UInt64
  mutating func next() -> UInt64 { random() }
}

extension FavoritesStore: VaultKeyStore {
  package var random: @Sendable () -> UInt64 { options.random }

  package var vaultKeys: (any VaultKeyStore)? { self }
}

extension ShippedStreams {
  /// `nil`: a store that keeps no keys, so its vault is not encrypted.
  package var vaultKeys: (any VaultKeyStore)? { nil }
}
