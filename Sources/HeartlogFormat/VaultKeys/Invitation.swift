/// What a new device needs to join a vault: one line. Source: docs/encryption.md, "Invitations".
package struct Invitation: Sendable {
  package let vault: VaultID
  /// The key that admits one device; nil where none is needed.
  package let key: SigningKey?
  /// Where the vault is, as a person writes it.
  package let place: String
  /// Where a bucket is.
  package let endpoint: String?

  package init(to vault: VaultID, key: SigningKey?, place: String, endpoint: String? = nil) {
    (self.vault, self.key, self.place, self.endpoint) = (vault, key, place, endpoint)
  }

  package static let scheme = "heartlog://"
  private static let textBytesMax = 4_096
  private static let placeBytesMax = 1_024
  private static let checksumByteCount = 4

  /// The line.
  package var text: String {
    var writer = ByteWriter([1] + vault.bytes)
    writer.bytes += key.map { [1] + $0.seed } ?? [0]
    writer.text(place)
    writer.text(endpoint ?? "")
    let bytes = writer.bytes + Self.checksum(writer.bytes)
    return Self.scheme + Base64.urlText(bytes)
  }

  /// Reads a line that a person pasted.
  ///
  /// - Throws: `MalformedError`.
  package init(text: some StringProtocol) throws(MalformedError) {
    let line = String(text.filter { !$0.isWhitespace })
    guard line.utf8.count <= Self.textBytesMax, line.hasPrefix(Self.scheme) else {
      throw MalformedError("an invitation is a line that begins with \(Self.scheme)")
    }
    guard let bytes = Base64.urlBytes(line.dropFirst(Self.scheme.utf8.count)) else {
      throw MalformedError("the invitation is not whole: copy all of the line")
    }
    let content = Array(bytes.dropLast(Self.checksumByteCount))
    guard Self.checksum(content) == Array(bytes.suffix(Self.checksumByteCount)) else {
      throw MalformedError("the invitation is not whole: copy all of the line")
    }
    guard content.first == 1 else { throw .laterVersion(content.first ?? 0) }
    self = try ByteReader.readAll(content, from: 1) { (reader) throws(MalformedError) in
      let vault = try reader.vault()
      var key: SigningKey?
      switch try reader.u8() {
      case 0: break
      case 1: key = SigningKey(seed: try reader.array(SigningKey.seedByteCount))
      case let kind: throw MalformedError("an invitation of kind \(kind)")
      }
      let (place, endpoint) = (try reader.text(), try reader.text())
      guard 1...Self.placeBytesMax ~= place.utf8.count, endpoint.utf8.count <= Self.placeBytesMax else {
        throw MalformedError("an invitation to no place")
      }
      return Invitation(to: vault, key: key, place: place, endpoint: endpoint.isEmpty ? nil : endpoint)
    }
  }

  private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
    Array(SHA256Hasher.digest(of: KeyLabel.invitation.followed(by: bytes)).bytes.prefix(checksumByteCount))
  }
}

extension Invitation: CustomStringConvertible, CustomReflectable {
  /// Not the key: secrets do not get into messages.
  package var description: String { "invitation to vault \(vault) at \(place)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
