import Heartlog
import HeartlogFormat

/// What a client signs to open a session at a hub: "Sessions" in docs/hub.md.
package struct HubChallenge: Hashable, Sendable {
  package let bytes: [UInt8]

  package static let byteCount = 32
  private static let label = "heartlog hub 1"

  /// Accepts 32 bytes; `nil` for any other count.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// - Parameter host: The value of the `Host` header of the request that carries the signature.
  package func message(vault: VaultID, host: String) -> [UInt8] {
    Array(Self.label.utf8) + [0] + vault.bytes + bytes + Array(host.utf8)
  }
}
