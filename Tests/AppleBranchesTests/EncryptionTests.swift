@testable import AppleBranches
@testable import HeartlogFormat
import TestSupport
import Testing

@Suite("X25519, HKDF and ChaCha20-Poly1305 of CryptoKit, compared with libcrypto")
struct EncryptionTests {
  @Test("both platforms make the same public keys, and share the same secrets")
  func agreement() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<20 {
      let (a, b) = (random.bytes(32), random.bytes(32))
      let publicKey = try #require(HeartlogFormat.X25519.publicKey(of: b))
      #expect(AppleBranches.X25519.publicKey(of: b) == publicKey)
      let shared = try #require(HeartlogFormat.X25519.sharedSecret(of: a, with: publicKey))
      #expect(AppleBranches.X25519.sharedSecret(of: a, with: publicKey) == shared)
    }
  }

  @Test("both refuse keys of another size and of small order")
  func refusedKeys() {
    let secret = [UInt8](repeating: 7, count: 32)
    for other in [[], Array(secret.dropLast()), secret + [7]] {
      #expect(HeartlogFormat.X25519.publicKey(of: other) == nil)
      #expect(AppleBranches.X25519.publicKey(of: other) == nil)
      #expect(HeartlogFormat.X25519.sharedSecret(of: secret, with: other) == nil)
      #expect(AppleBranches.X25519.sharedSecret(of: secret, with: other) == nil)
    }
    for first: UInt8 in [0, 1] {
      let point = [first] + [UInt8](repeating: 0, count: 31)
      #expect(HeartlogFormat.X25519.sharedSecret(of: secret, with: point) == nil)
      #expect(AppleBranches.X25519.sharedSecret(of: secret, with: point) == nil)
    }
  }

  @Test("both derive the same keys")
  func derivation() {
    var random = SeededGenerator(seed: 8)
    for (count, salt, info) in [(32, 0, 0), (16, 16, 20), (32, 64, 300), (100, 32, 1)] {
      let (material, salt, info) = (random.bytes(32), random.bytes(salt), random.bytes(info))
      let derived = HeartlogFormat.HKDFSHA256.derive(count, from: material, salt: salt, info: info)
      #expect(derived.count == count)
      #expect(AppleBranches.HKDFSHA256.derive(count, from: material, salt: salt, info: info) == derived)
    }
  }

  @Test("what one platform encrypts, the other decrypts, and nothing else")
  func encryption() {
    var random = SeededGenerator(seed: 9)
    for count in [0, 1, 64, 65, 65_536] {
      let (key, nonce, data, text) = (
        random.bytes(32), random.bytes(12), random.bytes(41), random.bytes(count)
      )
      var sealed = text.withUnsafeBytes {
        HeartlogFormat.ChaCha20Poly1305.seal($0, key: key, nonce: nonce, authenticating: data)
      }
      let other = text.withUnsafeBytes {
        AppleBranches.ChaCha20Poly1305.seal($0, key: key, nonce: nonce, authenticating: data)
      }
      #expect(sealed == other)
      func open() -> ([UInt8]?, [UInt8]?) {
        sealed.withUnsafeBytes {
          (
            HeartlogFormat.ChaCha20Poly1305.open($0, key: key, nonce: nonce, authenticating: data),
            AppleBranches.ChaCha20Poly1305.open($0, key: key, nonce: nonce, authenticating: data)
          )
        }
      }
      #expect(open() == (text, text))
      sealed[sealed.count / 2] ^= 1
      #expect(open() == (nil, nil))
      sealed.removeLast(sealed.count - 15)
      #expect(open() == (nil, nil))
    }
  }
}
