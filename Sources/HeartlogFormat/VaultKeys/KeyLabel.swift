/// What a key is derived for, or a signature is made for. Source: docs/encryption.md, "Derived keys".
enum KeyLabel: String {
  case agreement = "heartlog agreement 1"
  case commitment = "heartlog commitment 1"
  case wrap = "heartlog wrap 1"
  case previous = "heartlog previous 1"
  case salt = "heartlog salt 1"
  case object = "heartlog object 1"
  // Signatures and hashes.
  case member = "heartlog member 1"
  case epoch = "heartlog epoch 1"
  case admission = "heartlog admission 1"
  case accepted = "heartlog accepted 1"
  case withdrawn = "heartlog withdrawn 1"
  case invitation = "heartlog invitation 1"
  case vault = "heartlog vault 1"
  case recovery = "heartlog recovery 1"

  /// The label, ended by a zero byte, and what follows it.
  func followed(by rest: [UInt8]) -> [UInt8] { Array(rawValue.utf8) + [0] + rest }

  /// Derives a key.
  func derive(_ count: Int = 32, from material: [UInt8], salt: [UInt8] = [], _ rest: [UInt8] = []) -> [UInt8]
  {
    HKDFSHA256.derive(count, from: material, salt: salt, info: followed(by: rest))
  }
}

/// A key that encrypts one other key. The nonce can be constant because the key is used once.
struct WrappingKey {
  static let wrappedByteCount = 32 + ChaCha20Poly1305.tagByteCount
  private static let nonce = [UInt8](repeating: 0, count: 12)

  let bytes: [UInt8]

  func wrap(_ key: [UInt8]) -> [UInt8] {
    key.withUnsafeBytes { ChaCha20Poly1305.seal($0, key: bytes, nonce: Self.nonce, authenticating: []) }
  }

  func unwrap(_ wrapped: [UInt8]) -> [UInt8]? {
    wrapped.withUnsafeBytes { ChaCha20Poly1305.open($0, key: bytes, nonce: Self.nonce, authenticating: []) }
  }
}

extension RandomNumberGenerator {
  /// 32 random bytes.
  package mutating func next32Bytes() -> [UInt8] {
    (0..<4).flatMap { _ in (next() as UInt64).littleEndianBytes }
  }
}
