import Heartlog
import HeartlogHub
import HeartlogFormat

/// A session that a client opened: "Sessions" in docs/hub.md.
struct HubSession: Hashable, Sendable {
  let member: VaultMember
  /// On the clock of the store.
  let end: UInt64
}

/// Keeps sessions, for all hubs that serve the same vaults.
protocol SessionStore: Sendable {
  /// Makes and checks challenges.
  func challengeKey() throws(HeartlogError) -> ChallengeKey

  /// Opens a session that lasts as long as the limits say. A key has a limited number of them: the oldest ends.
  ///
  /// - Parameter token: SHA-256 of the session that the client has.
  /// - Returns: False if the challenge opened a session before.
  func open(_ token: Digest, for member: VaultMember, with challenge: HubChallenge) throws(HeartlogError)
    -> Bool

  /// The session of a token, unless it is over.
  func session(_ token: Digest) throws(HeartlogError) -> HubSession?

  /// Ends the sessions of keys that were removed.
  func end(_ keys: [PublicKey], of vault: VaultID) throws(HeartlogError)
}
