/// The address of a hub, and perhaps of a vault there: `https://host[:port][/prefix][/VAULT]`.
package struct HubAddress: Hashable, Sendable, CustomStringConvertible {
  /// The address as it was given.
  package let description: String
  /// The value of the `Host` header: the host in lower case, with the port unless it is the scheme's own.
  package let host: String
  /// The scheme, the host and the prefix, without a slash at the end.
  package let base: String
  /// The vault that the address names.
  package let vault: VaultID?
  /// Whether what travels is encrypted.
  package let isEncrypted: Bool

  /// Parses an address.
  ///
  /// - Throws: `invalid` if the text is no such address, or if there is a user or a password, which the error does not contain.
  package init(_ text: String) throws(HeartlogError) {
    description = text
    let rest: Substring
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
    guard let (name, port) = Self.split(authority), parts.allSatisfy(Self.isSegment) else {
      throw HeartlogError(.invalid, "not the address of a hub: \(text)")
    }
    let ownPort = isEncrypted ? 443 : 80
    host = port.map { $0 == ownPort ? name : "\(name):\($0)" } ?? name
    base = "\(isEncrypted ? "https" : "http")://\(host)" + parts.map { "/\($0)" }.joined()
  }

  /// The address of a vault at the same hub.
  package func address(of vault: VaultID) -> String { "\(base)/\(vault)" }

  /// Whether the hub is on this machine, by its name.
  package var isLoopback: Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains { host == $0 || host.hasPrefix("\($0):") }
  }

  /// The name and the port of a host; `nil` if it has other characters than names and addresses have.
  private static func split(_ authority: String) -> (name: String, port: Int?)? {
    var name = authority[...]
    var port: Int?
    // In an IPv6 address, only a colon after the bracket starts the port.
    if let colon = name.lastIndex(of: ":"), !name[colon...].contains("]") {
      let digits = name[name.index(after: colon)...]
      guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let number = Int(digits), (1...65_535).contains(number)
      else { return nil }
      port = number
      name = name[..<colon]
    }
    let isLiteral = name.hasPrefix("[") && name.hasSuffix("]")
    let inner = isLiteral ? name.dropFirst().dropLast() : name
    let others = isLiteral ? ":." : "-._"
    guard !inner.isEmpty, inner.utf8.allSatisfy({ isAlphanumeric($0) || others.utf8.contains($0) }),
      inner.utf8.first != UInt8(ascii: "-")
    else { return nil }
    return (String(name), port)
  }

  private static func isSegment(_ segment: Substring) -> Bool {
    !segment.isEmpty && segment != "." && segment != ".."
      && segment.utf8.allSatisfy { isAlphanumeric($0) || "-._~".utf8.contains($0) }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }
}

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

/// "Limits" in docs/hub.md.
package enum HubLimits {
  package static let objectBytesMax = 134_283_264
  package static let nameBytesMax = 255
  package static let pathBytesMax = 1_024
  package static let headerBytesMax = 8_192
  package static let jsonBytesMax = 65_536
  package static let keysMax = 1_025
  /// What proves that an encrypted vault may be created.
  package static let createBytesMax = 4 << 20
  /// A list of keys, or a change of them: some may go and as many come.
  package static let keysBytesMax = 262_144
  package static let objectsMax = 262_144
  /// Room beyond a vault's quota for objects in `keys/`, and once more for its root.
  package static let keysRoomBytes = 8 << 20
  package static let keysRoomObjects = 4_096
  package static let listMax = 1_000
  package static let challengeSeconds = 60
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
