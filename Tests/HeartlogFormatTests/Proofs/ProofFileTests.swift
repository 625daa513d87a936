import TestSupport
import Testing

@testable import HeartlogFormat

@Suite struct ProofFileTests {
  private static func stream(_ counts: [Int], seed: UInt64 = 1) -> SignedStream {
    var stream = SignedStream(seed: seed)
    for count in counts { stream.append(events: count) }
    return stream
  }

  private static func key(_ seed: UInt64) -> SigningKey {
    var random = SeededGenerator(seed: seed)
    return SigningKey(using: &random)
  }

  @Test func `every event of a stream is proven below every later checkpoint`() throws {
    let counts = [1, 3, 1, 2, 1, 1, 5]
    let stream = Self.stream(counts)
    for size in 1...counts.count {
      let checkpoint = try stream.checkpoint(size: size, witnesses: [Self.key(2), Self.key(3)])
      for number in 1...size {
        for event in 0..<counts[number - 1] {
          let proof = try stream.proof(commit: number, event: event, below: checkpoint)
          let bytes = ProofFile.event(proof).bytes
          #expect(try ProofFile(bytes) == .event(proof))
          #expect(proof.event == stream.commits[number - 1].records[event])
          #expect(proof.id == stream.commits[number - 1].eventID(at: event))
          #expect(
            Dictionary(uniqueKeysWithValues: proof.checkpoint.witnesses.map { ($0.key, $0.seconds) })
              == [Self.key(2).publicKey: 1_772_438_400, Self.key(3).publicKey: 1_772_438_401])
        }
      }
    }
  }

  @Test func `a later checkpoint proves that it covers an earlier one, signed or not`() throws {
    let stream = Self.stream(Array(repeating: 1, count: 20))
    let later = try stream.checkpoint(size: 20, witnesses: [Self.key(2)])
    for size in 1...20 {
      let earlier = try stream.checkpoint(size: size, witnesses: [Self.key(3)])
      for start in [
        HistoryProof.Earlier.checkpoint(earlier), .root(size: UInt64(size), earlier.checkpoint.root),
      ] {
        let proof = try stream.history(from: start, to: later)
        #expect(proof.size == UInt64(size) && proof.root == earlier.checkpoint.root)
        #expect(try ProofFile(ProofFile.history(proof).bytes) == .history(proof))
      }
    }
  }

  @Test func `no other bit of a file is a proof`() throws {
    let stream = Self.stream([1, 2, 1, 1, 1])
    let checkpoint = try stream.checkpoint(size: 5, witnesses: [Self.key(2)])
    let earlier = try stream.checkpoint(size: 3)
    let files = [
      ProofFile.event(try stream.proof(commit: 2, event: 1, below: checkpoint)),
      ProofFile.history(try stream.history(from: .checkpoint(earlier), to: checkpoint)),
      ProofFile.history(
        try stream.history(from: .root(size: 3, earlier.checkpoint.root), to: checkpoint)),
    ]
    for file in files {
      let bytes = file.bytes
      #expect(try ProofFile(bytes) == file)
      for index in bytes.indices {
        for bit in 0..<8 {
          var changed = bytes
          changed[index] ^= 1 << UInt8(bit)
          #expect(throws: MalformedError.self, "byte \(index), bit \(bit)") { try ProofFile(changed) }
        }
      }
      for count in bytes.indices {
        #expect(throws: MalformedError.self) { try ProofFile(Array(bytes.prefix(count))) }
      }
      #expect(throws: MalformedError.self) { try ProofFile(bytes + [0]) }
    }
  }

  @Test func `what does not belong together proves nothing`() throws {
    let stream = Self.stream([1, 2, 1])
    let other = Self.stream([1, 2, 1], seed: 9)
    let checkpoint = try stream.checkpoint(size: 3)
    let proof = try stream.proof(commit: 2, event: 0, below: checkpoint)
    #expect(throws: MalformedError.self) {
      try stream.proof(commit: 2, event: 0, below: other.checkpoint(size: 3))
    }
    #expect(throws: MalformedError.self) {
      try stream.history(from: .checkpoint(other.checkpoint(size: 2)), to: checkpoint)
    }
    #expect(throws: MalformedError.self) {
      try stream.history(from: .root(size: 2, checkpoint.checkpoint.root), to: checkpoint)
    }
    // A witness that is not known, or did not sign this, is left out.
    var signed = checkpoint.signed
    try signed.cosign(with: Self.key(2), seconds: 1)
    let unknown = try WitnessedCheckpoint(signed) { _ in nil }
    #expect(unknown.witnesses.isEmpty && unknown == checkpoint)
    #expect(proof.checkpoint == checkpoint)
  }

  @Test func `an event that is withheld cannot be proven`() throws {
    var stream = SignedStream(seed: 1)
    let hash = SHA256Hasher.digest(of: [1])
    stream.append([.withheld(hash)])
    let checkpoint = try stream.checkpoint(size: 1)
    #expect(throws: MalformedError.self) { try stream.proof(commit: 1, event: 0, below: checkpoint) }
  }

  @Test func `a proof names the key that a person has`() throws {
    let stream = Self.stream([1])
    let key = stream.key.publicKey
    let name = "heartlog/\(stream.vault)/\(key.replica)"
    // The verifier key of C2SP signed-note.
    let id = Hexadecimal.text(NoteSignature.keyID(of: key, named: name, .ed25519))
    let vkey = "\(name)+\(id)+\(Base64.text([1] + key.bytes))"
    for text in [
      key.description, key.fingerprint.description, key.replica.description, vkey,
      key.description.uppercased(),
    ] {
      #expect(KeyReference(text)?.matches(key) == true, "\(text)")
      #expect(KeyReference(text)?.matches(Self.key(5).publicKey) == false)
    }
    // The public example of a signed note.
    let example = KeyReference("PeterNeumann+c74f20a3+\(NotesTests.exampleKey)")
    let bytes = try #require(Base64.bytes(NotesTests.exampleKey)?.dropFirst())
    #expect(example?.matches(try #require(PublicKey(bytes: bytes))) == true)
    for wrong in [
      "", "00", "PeterNeumann+c74f20a4+\(NotesTests.exampleKey)", "a b+c74f20a3+\(NotesTests.exampleKey)",
      String(vkey.dropLast()), "x" + vkey, String(key.description.dropLast(2)),
    ] {
      #expect(KeyReference(wrong) == nil, "\(wrong)")
    }
  }

  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `random bytes in a file are refused without a trap`(seed: UInt64) throws {
    print("proof files: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let stream = Self.stream([1, 3, 2])
    var bytes = ProofFile.event(
      try stream.proof(commit: 2, event: 1, below: try stream.checkpoint(size: 3, witnesses: [Self.key(2)]))
    ).bytes
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      bytes[Int.random(in: 8..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
    }
    _ = try? ProofFile(bytes)
    _ = try? ProofFile((0..<300).map { $0 < 9 ? bytes[$0] : UInt8.random(in: 0...255, using: &random) })
  }
}
