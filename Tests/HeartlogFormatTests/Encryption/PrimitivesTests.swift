@testable import HeartlogFormat
import Testing

@Suite("X25519, HKDF and ChaCha20-Poly1305")
struct PrimitivesTests {
  struct File: Decodable {
    struct Agreement: Decodable { let secret, publicKey, shared: Hex }
    struct Pair: Decodable { let secret, publicKey: Hex }
    struct Derivation: Decodable {
      let material, salt, info, output: Hex
      let count: Int
    }
    struct Sealing: Decodable { let key, nonce, data, text, sealed: Hex }
    let x25519: [Agreement]
    let x25519PublicKeys: [Pair]
    let hkdf: [Derivation]
    let chacha20poly1305: [Sealing]
  }

  private let file: File =
    (try? Vectors.read("primitives.json"))
    ?? File(
      x25519: [], x25519PublicKeys: [], hkdf: [], chacha20poly1305: [])

  @Test("the examples of RFC 7748, RFC 5869 and RFC 8439")
  func published() {
    #expect(!file.x25519.isEmpty && !file.hkdf.isEmpty && !file.chacha20poly1305.isEmpty)
    for example in file.x25519 {
      #expect(
        X25519.sharedSecret(of: example.secret.bytes, with: example.publicKey.bytes) == example.shared.bytes)
    }
    for pair in file.x25519PublicKeys {
      #expect(X25519.publicKey(of: pair.secret.bytes) == pair.publicKey.bytes)
    }
    for example in file.hkdf {
      #expect(
        HKDFSHA256.derive(
          example.count, from: example.material.bytes, salt: example.salt.bytes, info: example.info.bytes)
          == example.output.bytes)
    }
    for example in file.chacha20poly1305 {
      let sealed = example.text.bytes.withUnsafeBytes {
        ChaCha20Poly1305.seal(
          $0, key: example.key.bytes, nonce: example.nonce.bytes, authenticating: example.data.bytes)
      }
      #expect(sealed == example.sealed.bytes)
      let text = sealed.withUnsafeBytes {
        ChaCha20Poly1305.open(
          $0, key: example.key.bytes, nonce: example.nonce.bytes, authenticating: example.data.bytes)
      }
      #expect(text == example.text.bytes)
    }
  }

  @Test("no changed byte of key, nonce, data or ciphertext opens, and nothing that is too short")
  func refuses() {
    let key = [UInt8](repeating: 1, count: 32)
    let nonce = [UInt8](repeating: 2, count: 12)
    let data: [UInt8] = [3, 4]
    func open(_ sealed: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ data: [UInt8]) -> [UInt8]? {
      sealed.withUnsafeBytes { ChaCha20Poly1305.open($0, key: key, nonce: nonce, authenticating: data) }
    }
    func changed(_ bytes: [UInt8], _ index: Int) -> [UInt8] {
      var bytes = bytes
      bytes[index] ^= 0x80
      return bytes
    }
    for count in [0, 1, 63, 64, 65] {
      let text = [UInt8](repeating: 5, count: count)
      let sealed = text.withUnsafeBytes {
        ChaCha20Poly1305.seal($0, key: key, nonce: nonce, authenticating: data)
      }
      #expect(sealed.count == count + 16)
      #expect(open(sealed, key, nonce, data) == text)
      for index in sealed.indices { #expect(open(changed(sealed, index), key, nonce, data) == nil) }
      for index in key.indices { #expect(open(sealed, changed(key, index), nonce, data) == nil) }
      for index in nonce.indices { #expect(open(sealed, key, changed(nonce, index), data) == nil) }
      for index in data.indices { #expect(open(sealed, key, nonce, changed(data, index)) == nil) }
      #expect(open(sealed, key, nonce, []) == nil)
      for shorter in 0..<16 { #expect(open(Array(sealed.prefix(shorter)), key, nonce, data) == nil) }
    }
  }

  @Test("public keys of small order, and keys of another size, share no secret")
  func smallOrder() throws {
    let secret = [UInt8](repeating: 7, count: 32)
    // The points of order 1, 2, 4 and 8: RFC 7748, section 6.1, and https://cr.yp.to/ecdh.html.
    let points = [
      [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31),
      try #require(hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")),
      try #require(hex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157")),
      try #require(hex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")),
    ]
    for point in points { #expect(X25519.sharedSecret(of: secret, with: point) == nil) }
    let key = try #require(X25519.publicKey(of: secret))
    for size in [0, 31, 33] {
      let other = [UInt8](repeating: 9, count: size)
      #expect(X25519.publicKey(of: other) == nil)
      #expect(X25519.sharedSecret(of: other, with: key) == nil)
      #expect(X25519.sharedSecret(of: secret, with: other) == nil)
    }
  }

  private func hex(_ digits: String) -> [UInt8]? { Hexadecimal.bytes(digits) }
}
