@testable import AppleBranches
@testable import HeartlogFormat
import TestSupport
import Testing

@Suite("Ed25519 of CryptoKit, compared with libcrypto")
struct Ed25519Tests {
  /// One platform's Ed25519.
  struct Branch: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let publicKey: @Sendable (_ seed: [UInt8]) -> [UInt8]?
    let signature: @Sendable (_ message: [UInt8], _ seed: [UInt8]) -> [UInt8]?
    let verifies: @Sendable (_ signature: [UInt8], _ message: [UInt8], _ key: [UInt8]) -> Bool

    static let linux = Branch(
      testDescription: "libcrypto",
      publicKey: { HeartlogFormat.Ed25519.publicKey(seed: $0) },
      signature: { HeartlogFormat.Ed25519.signature(of: $0, seed: $1) },
      verifies: { HeartlogFormat.Ed25519.verifies($0, of: $1, with: $2) })

    static let apple = Branch(
      testDescription: "CryptoKit",
      publicKey: { AppleBranches.Ed25519.publicKey(seed: $0) },
      signature: { AppleBranches.Ed25519.signature(of: $0, seed: $1) },
      verifies: { AppleBranches.Ed25519.verifies($0, of: $1, with: $2) })

    static let all = [linux, apple]
  }

  /// RFC 8032, section 7.1: seed, public key, message, signature.
  private static let examples: [(seed: String, key: String, message: String, signature: String)] = [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    ),
    (
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    ),
  ]

  private func bytes(_ digits: String) throws -> [UInt8] {
    try #require(HeartlogFormat.Hexadecimal.bytes(digits))
  }

  @Test("the examples of RFC 8032", arguments: Branch.all)
  func published(branch: Branch) throws {
    for example in Self.examples {
      let key = try bytes(example.key)
      let message = try bytes(example.message)
      #expect(branch.publicKey(try bytes(example.seed)) == key)
      #expect(branch.verifies(try bytes(example.signature), message, key))
    }
  }

  @Test("libcrypto signs as RFC 8032 derives")
  func derived() throws {
    for example in Self.examples {
      let signature = Branch.linux.signature(try bytes(example.message), try bytes(example.seed))
      #expect(signature == (try bytes(example.signature)))
    }
  }

  @Test("what one platform signs, every platform verifies, and nothing else", arguments: Branch.all)
  func signs(signer: Branch) throws {
    var random = SeededGenerator(seed: 6)
    for count in [0, 1, 63, 64, 65, 1_000] {
      let seed = random.bytes(32)
      let message = random.bytes(count)
      let key = try #require(signer.publicKey(seed))
      let signature = try #require(signer.signature(message, seed))
      #expect(signature.count == 64)
      for verifier in Branch.all {
        #expect(verifier.publicKey(seed) == key)
        #expect(verifier.verifies(signature, message, key))
        #expect(!verifier.verifies(signature, message + [0], key))
        #expect(!verifier.verifies(signature, message, try #require(verifier.publicKey(random.bytes(32)))))
        for offset in [0, 31, 32, 63] {
          var changed = signature
          changed[offset] ^= 1
          #expect(!verifier.verifies(changed, message, key))
        }
      }
    }
  }

  @Test("seeds, keys and signatures of another size are refused", arguments: Branch.all)
  func sizes(branch: Branch) throws {
    let seed = [UInt8](repeating: 7, count: 32)
    let key = try #require(branch.publicKey(seed))
    let signature = try #require(branch.signature([1], seed))
    for other in [[], Array(seed.dropLast()), seed + [7]] {
      #expect(branch.publicKey(other) == nil)
      #expect(branch.signature([1], other) == nil)
    }
    for other in [[], Array(key.dropLast()), key + [0]] { #expect(!branch.verifies(signature, [1], other)) }
    for other in [[], Array(signature.dropLast()), signature + [0]] {
      #expect(!branch.verifies(other, [1], key))
    }
  }
}
