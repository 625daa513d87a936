import Testing

@testable import HeartlogFormat

@Suite struct NotesTests {
  /// The example of golang.org/x/mod/sumdb/note, whose format C2SP signed-note is.
  static let example = """
    If you think cryptography is the answer to your problem,
    then you don't know what your problem is.

    — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=

    """
  static let exampleKey = "ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"

  @Test func `the public example of a signed note verifies`() throws {
    let note = try SignedNote(Array(Self.example.utf8))
    let bytes = try #require(Base64.bytes(Self.exampleKey))
    let key = try #require(PublicKey(bytes: bytes.dropFirst()))
    #expect(note.isSigned(by: key, named: "PeterNeumann"))
    #expect(!note.isSigned(by: key, named: "PeterNewmann"))
    #expect(note.bytes == Array(Self.example.utf8))
    let changed = try SignedNote(Array(Self.example.replacing("think", with: "thunk").utf8))
    #expect(!changed.isSigned(by: key, named: "PeterNeumann"))
  }

  @Test func `the first test of RFC 8032 gives its key and signature`() throws {
    let seed = try #require(
      Hexadecimal.bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    let key = try #require(SigningKey(seed: seed))
    #expect(key.publicKey.description == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    #expect(
      Hexadecimal.text(try key.signature(of: []).bytes)
        == "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )
  }

  @Test func `base64 has one form for each sequence of bytes`() {
    for (text, base64) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
      #expect(Base64.text(Array(text.utf8)) == base64)
      #expect(Base64.bytes(base64) == Array(text.utf8))
    }
    for wrong in ["Zg", "Zg=", "Zh==", "Zg===", "Zm9v\n", "Zm-v", "=", "Z", "Zm9v=Zg="] {
      #expect(Base64.bytes(wrong) == nil, "\(wrong)")
    }
  }

  private static func checkpoint(size: UInt64 = 3) throws -> (SigningKey, SignedCheckpoint) {
    var generator = SystemRandomNumberGenerator()
    let key = SigningKey(using: &generator)
    let checkpoint = Checkpoint(
      vault: .random(using: &generator), replica: key.publicKey.replica, size: size,
      root: SHA256Hasher.digest(of: [UInt8](repeating: 7, count: 3)))
    return (key, try SignedCheckpoint(checkpoint, signedBy: key))
  }

  @Test func `a checkpoint is three lines and a signature of its owner`() throws {
    let (key, signed) = try Self.checkpoint()
    let again = try SignedCheckpoint(try SignedNote(signed.note.bytes), key: key.publicKey)
    #expect(again == signed)
    let lines = signed.note.text.split(separator: "\n")
    #expect(lines[0] == "heartlog/\(signed.checkpoint.vault)/\(key.publicKey.replica)")
    #expect(lines[1] == "3")
    #expect(lines.count == 3)
    #expect(throws: MalformedError.self) {
      try SignedCheckpoint(signed.note, key: try Self.checkpoint().0.publicKey)
    }
  }

  @Test func `no other byte of a checkpoint verifies`() throws {
    let (key, signed) = try Self.checkpoint()
    let bytes = signed.note.bytes
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        #expect(throws: MalformedError.self, "byte \(index), bit \(bit)") {
          try SignedCheckpoint(try SignedNote(changed), key: key.publicKey)
        }
      }
    }
  }

  @Test func `each witness cosigns once, and only its own key verifies`() throws {
    var (_, signed) = try Self.checkpoint()
    let (witness, other) = try Self.checkpoint()
    try signed.cosign(with: witness, seconds: 1_772_438_400)
    try signed.cosign(with: witness, seconds: 1_772_438_500)
    #expect(signed.cosignatures.map(\.witness) == [witness.publicKey.replica])
    let cosignature = try #require(signed.cosignatures.first)
    #expect(cosignature.seconds == 1_772_438_400)
    #expect(cosignature.isValid(for: signed.note, key: witness.publicKey))
    #expect(!cosignature.isValid(for: other.note, key: witness.publicKey))
    #expect(!cosignature.isValid(for: signed.note, key: try Self.checkpoint().0.publicKey))
  }

  @Test func `copies of a checkpoint share their cosignatures`() throws {
    let (_, signed) = try Self.checkpoint()
    let (first, _) = try Self.checkpoint()
    let (second, _) = try Self.checkpoint()
    var mine = signed
    var theirs = signed
    try mine.cosign(with: first, seconds: 1)
    try theirs.cosign(with: second, seconds: 2)
    let isNew = [mine.merge(theirs), mine.merge(theirs), mine.merge(try Self.checkpoint().1)]
    #expect(isNew == [true, false, false])
    #expect(Set(mine.cosignatures.map(\.witness)) == [first.publicKey.replica, second.publicKey.replica])
  }

  @Test(arguments: [
    "", "\n", "text", "text\n", "text\n\n", "text\n\n\n", "\n— a AAAAAAAA\n", "text\n\n— a AAAA\n",
    "text\n\n- a AAAAAAAA\n", "text\n\n— a+b AAAAAAAA\n", "text\n\n—  AAAAAAAA\n", "text\n\n— a AAAAAAAA",
    "te\u{1}xt\n\n— a AAAAAAAA\n", "text\n\n— a AAAAAAAA\nmore\n", "text\n\n— a b AAAAAAAA\n",
  ])
  func `what is no note is refused`(_ text: String) {
    #expect(throws: MalformedError.self) { try SignedNote(Array(text.utf8)) }
  }
}
