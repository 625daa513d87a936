import Heartlog

/// What a pairing did.
package struct PairingReport: Hashable, Sendable {
  /// A device that was admitted.
  package struct Device: Hashable, Sendable {
    package let replica: ReplicaID
    package let name: String
    /// The fingerprint of its key, which it shows itself, too.
    package let fingerprint: Digest
    /// Whether it is this device.
    package let isOwn: Bool
  }

  /// The other device.
  package var peer = ReplicaID(high: 0, low: 0)
  package var peerName = ""
  /// `nil` if both devices were members before.
  package var admitted: Device?
  /// The key epochs and admissions that were new here.
  package var epochsReceived = 0
  /// Those that the other device did not announce.
  package var epochsSent = 0
}
