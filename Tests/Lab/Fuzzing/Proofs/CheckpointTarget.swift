import HeartlogFormat

/// Keys that anyone can sign with.
enum KnownKeys {
  static let owner = key(1)
  static let witness = key(2)

  private static func key(_ number: UInt8) -> SigningKey {
    guard let key = SigningKey(seed: [UInt8](repeating: number, count: SigningKey.seedByteCount)) else {
      preconditionFailure("any 32 bytes are a seed")
    }
    return key
  }

  /// A checkpoint of the owner's stream.
  static func checkpoint(size: UInt64, root: Digest) throws -> SignedCheckpoint {
    guard let vault = VaultID(bytes: [UInt8](repeating: 9, count: 16)) else {
      throw Violation("16 bytes are no vault")
    }
    return try SignedCheckpoint(
      Checkpoint(vault: vault, replica: owner.publicKey.replica, size: size, root: root), signedBy: owner)
  }
}

extension FuzzTarget {
  /// A signed note, and the checkpoint in it. Signatures are not verified, which would take most of the time: `proof` does.
  static let checkpoint = FuzzTarget(
    "checkpoint", words: ["\u{2014} ", "\n\n", "heartlog/", "+", "=="],
    seeds: { _ in
      var signed = try KnownKeys.checkpoint(size: 7, root: Digest([UInt8](0..<32)))
      var seeds = [Seed("signed", signed.note.bytes)]
      try signed.cosign(with: KnownKeys.witness, seconds: 1_772_438_400)
      seeds.append(Seed("witnessed", signed.note.bytes))
      return seeds
    }
  ) { bytes in
    guard let note = try? SignedNote(Array(bytes)) else { return }
    try state(note.bytes.elementsEqual(bytes), "a note has two forms")
    for cosignature in note.cosignatures {
      try state(!cosignature.isValid(for: note, key: KnownKeys.owner.publicKey), "anyone can cosign")
    }
    guard let checkpoint = try? Checkpoint(text: note.text) else { return }
    try state(checkpoint.text.utf8.elementsEqual(note.text.utf8), "a checkpoint has two texts")
    guard var signed = try? SignedCheckpoint(unverified: note, key: KnownKeys.owner.publicKey) else { return }
    let before = signed
    signed.merge(signed)
    try state(signed == before, "a checkpoint that is merged with itself changes")
  }
}
