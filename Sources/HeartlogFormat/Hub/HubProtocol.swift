/// The address of a hub, and perhaps of a vault there: `https://host[:port][/prefix][/VAULT]`.
package struct HubAddress: Hashable, Sendable, CustomStringConvertible {
  /// The address as it was given.
  package let description: String
  package let origin: HTTPOrigin
  /// The scheme, the host and the prefix, without a slash at the end.
  package let base: String
  /// The vault that the address names.
  package let vault: VaultID?

  /// The value of the `Host` header.
  package var host: String { origin.host }

  /// Parses an address.
  ///
  /// - Throws: `invalid` if the text is no such address, or if there is a user or a password, which the error does not contain.
  package init(_ text: String) throws(HeartlogError) {
    description = text
    let rest: Substring
    let isEncrypted: Bool
    if text.hasPrefix("https://") {
      (rest, isEncrypted) = (text.dropFirst("https://".count), true)
    } else if text.hasPrefix("http://") {
      (rest, isEncrypted) = (text.dropFirst("http://".count), false)
    } else {
      throw HeartlogError(.invalid, "the address of a hub begins with https:// or http://")
    }
    var parts = rest.split(separator: "/", omittingEmptySubsequences: false)
    let authority = parts.removeFirst().lowercased()
    guard !authority.contains("@") else {
      throw HeartlogError(
        .invalid, "the address contains a user or a password: leave it out; a hub knows devices by their keys"
      )
    }
    if parts.last == "" { parts.removeLast() }
    vault = parts.last.flatMap { VaultID($0) }
    if vault != nil { parts.removeLast() }
    guard let origin = HTTPOrigin(authority, isEncrypted: isEncrypted), parts.allSatisfy(Self.isSegment)
    else { throw HeartlogError(.invalid, "not the address of a hub: \(text)") }
    self.origin = origin
    base = origin.url + parts.map { "/\($0)" }.joined()
  }

  /// The address of a vault at the same hub.
  package func address(of vault: VaultID) -> String { "\(base)/\(vault)" }

  private static func isSegment(_ segment: Substring) -> Bool {
    !segment.isEmpty && segment != "." && segment != ".."
      && segment.utf8.allSatisfy { HTTPOrigin.isAlphanumeric($0) || "-._~".utf8.contains($0) }
  }
}

/// What a client signs to open a session at a hub: when it does, and what makes that unique. "Sessions" in docs/hub.md.
package struct HubNonce: Hashable, Sendable {
  package let bytes: [UInt8]

  /// When it was made, in seconds since 1970.
  package var seconds: UInt64 { bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

  package static let byteCount = 32
  private static let label = "heartlog hub 1"

  /// Accepts 32 bytes; `nil` for any other count.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Makes another one.
  package init(at seconds: UInt64, using generator: inout some RandomNumberGenerator) {
    bytes = seconds.bigEndianBytes + generator.next32Bytes().prefix(Self.byteCount - 8)
  }

  /// - Parameter host: The value of the `Host` header of the request that carries the signature.
  package func message(vault: VaultID, host: String) -> [UInt8] {
    Array(Self.label.utf8) + [0] + vault.bytes + bytes + Array(host.utf8)
  }
}

/// "Limits" in docs/hub.md.
package enum HubLimits {
  package static let objectBytesMax = 134_283_264
  package static let nameBytesMax = 255
  package static let pathBytesMax = 1_024
  package static let headerBytesMax = 8_192
  package static let jsonBytesMax = 65_536
  package static let keysMax = 1_025
  /// The open invitations of a vault, and how long one may be open.
  package static let invitationsMax = 64
  package static let invitationSecondsMax = 366 * 86_400
  /// What proves that an encrypted vault may be created.
  package static let createBytesMax = 4 << 20
  /// A list of keys, or a change of them: some may go and as many come.
  package static let keysBytesMax = 262_144
  package static let objectsMax = 262_144
  /// Room beyond a vault's quota for objects in `keys/`, and once more for its root.
  package static let keysRoomBytes = 8 << 20
  package static let keysRoomObjects = 4_096
  package static let listMax = 1_000
  package static let nonceSeconds = 60
  package static let sessionSeconds = 600
  /// Of one key.
  package static let sessionsMax = 64
  /// Of one session.
  package static let streamsMax = 4
  package static let silenceSeconds = 30
  /// What a body grows by in each second at least, both ways, after the first `silenceSeconds`.
  package static let bytesPerSecond = 4_096
  /// What a sync may take, beside the time that its bytes have.
  package static let syncSeconds = 900
}
