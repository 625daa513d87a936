import TestSupport

@testable import HeartlogFormat

/// A stream in memory that its owner signs, and what is proven of it.
struct SignedStream {
  let key: SigningKey
  let vault: VaultID
  private(set) var commits: [Commit] = []
  private let salts: Salts

  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    self.init(
      key: SigningKey(using: &random), vault: .random(using: &random), secret: SHA256Hasher.digest(of: [1]))
  }

  init(key: SigningKey, vault: VaultID, secret: Digest) {
    self.key = key
    self.vault = vault
    salts = Salts([SegmentSecret(firstCommit: CommitNumber(rawValue: 1), kind: .whole(secret))])
  }

  /// Appends a commit of some events.
  mutating func append(_ records: [EventRecord], origin: String? = "app", at time: Milliseconds? = nil) {
    let time = time ?? 1_772_438_400_000 + Milliseconds(commits.count) * 1_000
    commits.append(
      Commit(
        replica: key.publicKey.replica, number: CommitNumber(rawValue: UInt64(commits.count + 1)),
        firstSequence: commits.last?.nextSequence ?? SequenceNumber(rawValue: 1),
        stamp: HybridTimestamp(milliseconds: time), wallTime: time, origin: origin, records: records))
  }

  mutating func append(events count: Int) {
    append(
      (0..<count).map {
        .event(
          Event(
            library: "papers", item: "\(commits.count)-\($0)", action: .added,
            fields: [Field(name: "title", value: .string("Logs"))]))
      })
  }

  private func leaf(_ index: Int) throws -> Digest {
    var salts = salts
    var hasher = SHA256Hasher()
    return try commits[index].leafHash(salts: &salts, hasher: &hasher)
  }

  func roots(_ subtrees: [MerkleSubtree]) throws -> [Digest] {
    try subtrees.map { subtree in
      var tree = MerkleTree()
      for index in subtree.leaves { tree.append(leaf: try leaf(Int(index))) }
      return tree.root
    }
  }

  func checkpoint(size: Int, witnesses: [SigningKey] = [], seconds: UInt64 = 1_772_438_400) throws
    -> WitnessedCheckpoint
  {
    var tree = MerkleTree()
    for index in 0..<size { tree.append(leaf: try leaf(index)) }
    let checkpoint = Checkpoint(
      vault: vault, replica: key.publicKey.replica, size: UInt64(size), root: tree.root)
    var signed = try SignedCheckpoint(checkpoint, signedBy: key)
    for (index, witness) in witnesses.enumerated() {
      try signed.cosign(with: witness, seconds: seconds + UInt64(index))
    }
    return try WitnessedCheckpoint(signed) { replica in
      witnesses.first { $0.publicKey.replica == replica }?.publicKey
    }
  }

  func proof(commit number: Int, event index: Int, below checkpoint: WitnessedCheckpoint) throws -> EventProof
  {
    let commit = commits[number - 1]
    var hasher = SHA256Hasher()
    let hashes = try commit.records.indices.map { event in
      guard let salt = salts.salt(commit: commit.number, event: event) else {
        throw MalformedError("no salt")
      }
      return commit.records[event].hash(salt: salt, hasher: &hasher)
    }
    guard let salt = salts.salt(commit: commit.number, event: index) else { throw MalformedError("no salt") }
    let inclusion = try InclusionProof(
      index: UInt64(number - 1), size: checkpoint.checkpoint.size, roots: roots)
    return try EventProof(
      commit: commit, index: index, salt: salt, hashes: hashes, path: inclusion.path, checkpoint: checkpoint)
  }

  func history(from earlier: HistoryProof.Earlier, to later: WitnessedCheckpoint) throws -> HistoryProof {
    let size =
      switch earlier {
      case .root(let size, _): size
      case .checkpoint(let checkpoint): checkpoint.checkpoint.size
      }
    let consistency = try ConsistencyProof(size: size, laterSize: later.checkpoint.size, roots: roots)
    return try HistoryProof(earlier, path: consistency.path, later: later)
  }
}
