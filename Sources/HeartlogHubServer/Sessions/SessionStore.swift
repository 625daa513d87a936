import Heartlog
import HeartlogHub
import HeartlogProofs

/// A session that a client opened: "Sessions" in docs/hub.md.
struct HubSession: Hashable, Sendable {
  let member: VaultMember
  /// On the clock of the store.
  let end: UInt64
}

/// Keeps challenges and sessions, for all hubs that serve the same vaults.
protocol SessionStore: Sendable {
  /// Adds a challenge that lasts as long as the limits say. Returns false if too many are open.
  func add(_ challenge: HubChallenge) throws(HeartlogError) -> Bool

  /// Uses up a challenge. Returns whether it was there and not too old.
  func take(_ challenge: HubChallenge) throws(HeartlogError) -> Bool

  /// Opens a session that lasts as long as the limits say.
  ///
  /// - Parameter token: SHA-256 of what the client has.
  func open(_ token: Digest, vault: VaultID, key: PublicKey) throws(HeartlogError)

  /// The session of a token, unless it is over.
  func session(_ token: Digest) throws(HeartlogError) -> HubSession?

  /// Ends the sessions of keys that were removed.
  func end(_ keys: [PublicKey], of vault: VaultID) throws(HeartlogError)
}
