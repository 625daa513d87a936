import AppleBranches
import HeartlogFormat
import TestSupport
import Testing

@Suite("SHA-256 of CryptoKit, compared with libcrypto")
struct SHA256Tests {
  /// The examples of FIPS 180-4.
  static let examples: [(String, String)] = [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ]

  @Test("the published examples")
  func published() {
    for (text, digest) in Self.examples {
      #expect(AppleBranches.SHA256Hasher.digest(of: Array(text.utf8)).description == digest)
      #expect(HeartlogFormat.SHA256Hasher.digest(of: Array(text.utf8)).description == digest)
    }
  }

  @Test("in parts, one digest after the other, and of nothing at no address")
  func parts() {
    var random = SeededGenerator(seed: 5)
    var apple = AppleBranches.SHA256Hasher()
    var linux = HeartlogFormat.SHA256Hasher()
    for count in 0..<150 {
      let input = random.bytes(count)
      let cut = Int.random(in: 0...count, using: &random)
      for part in [input[..<cut], input[cut...]] {
        apple.update(Array(part))
        linux.update(Array(part))
      }
      apple.update(UnsafeRawBufferPointer(start: nil, count: 0))
      let digest = apple.finish().bytes
      #expect(digest == linux.finish().bytes)
      #expect(digest == HeartlogFormat.SHA256Hasher.digest(of: input).bytes)
    }
  }
}
