/// The X25519 key pair of a member, to which epoch keys are wrapped.
package struct AgreementKey: Sendable {
  private let secret: [UInt8]
  /// The 32 bytes that others know.
  package let publicKey: [UInt8]

  /// Creates a key from 32 secret bytes; nil for any other count.
  package init?(secret: [UInt8]) {
    guard secret.count == X25519.keyByteCount, let publicKey = X25519.publicKey(of: secret) else {
      return nil
    }
    self.secret = secret
    self.publicKey = publicKey
  }

  /// The agreement key of a device or of a recovery code, derived from the seed of its signing key.
  package init(of key: SigningKey) {
    guard let agreement = AgreementKey(secret: KeyLabel.agreement.derive(from: key.seed)) else {
      preconditionFailure("any 32 bytes are an X25519 secret")
    }
    self = agreement
  }

  /// Creates a key that is used for one object.
  static func ephemeral(using generator: inout some RandomNumberGenerator) -> AgreementKey {
    guard let key = AgreementKey(secret: generator.next32Bytes()) else {
      preconditionFailure("any 32 bytes are an X25519 secret")
    }
    return key
  }

  /// Nil if the other key has no secret in common with anyone.
  func sharedSecret(with publicKey: [UInt8]) -> [UInt8]? { X25519.sharedSecret(of: secret, with: publicKey) }
}

extension AgreementKey: CustomStringConvertible, CustomReflectable {
  /// Only the public key: secrets do not get into messages.
  package var description: String { "agreement key \(Hexadecimal.text(publicKey))" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
