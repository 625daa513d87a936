import HeartlogFormat
import HeartlogFiles

/// Proofs that a key signed two histories, kept in the folder `evidence`. Source: docs/format.md, "Evidence".
extension CommitLog {
  private var evidencePath: String { "\(directory.path)/evidence" }
  private static let evidenceEnding = ".proof"

  /// Returns the proof that the owner of a stream signed another history than the one in this log; nil if this log does not show it, or
  /// reaches less far than the other history.
  ///
  /// - Parameter other: A checkpoint of the other history, with a valid signature.
  package func forkProof(of other: SignedCheckpoint) throws(HeartlogError) -> ForkProof? {
    let replica = other.checkpoint.replica
    guard let mine = try checkpoint(of: replica), mine.checkpoint.size >= other.checkpoint.size else {
      return nil
    }
    return try heartlogErrors {
      let history = try historyProof(from: (nil, other.checkpoint.size), to: try witnessed(mine))
      return try? ForkProof(earlier: try witnessed(other), history: history)
    }
  }

  /// Keeps a proof, durably.
  package func keep(_ proof: ForkProof) throws(HeartlogError) {
    let bytes = ProofFile.fork(proof).bytes
    let name = "\(proof.replica)-\(Hexadecimal.text(SHA256Hasher.digest(of: bytes).bytes.prefix(8)))"
    try heartlogErrors {
      try withQuietLog {
        let fileSystem = directory.fileSystem
        try directory.makeFolder(evidencePath)
        let path = "\(evidencePath)/\(name)\(Self.evidenceEnding)"
        guard try fileSystem.info(path) == nil else { return }
        try directory.replaceFile(path, with: bytes, in: evidencePath, suffix: options.random())
      }
    }
  }

  /// The proofs that are kept, with their files, sorted by name; a file that is no longer a proof has none.
  package func evidence() throws(HeartlogError) -> [(file: String, proof: ForkProof?)] {
    let names: [String]
    do { names = try directory.fileSystem.entries(of: evidencePath) } catch {
      if error.isNotFound || error.isNotDirectory { return [] }
      throw HeartlogError(error)
    }
    return try heartlogErrors {
      try names.filter { $0.hasSuffix(Self.evidenceEnding) }.map { (name) throws(FileError) in
        let path = "\(evidencePath)/\(name)"
        let bytes = try directory.fileSystem.open(path, .read).bytes(1 << 20, at: 0)
        guard case .fork(let proof)? = try? ProofFile(bytes) else { return (path, nil) }
        return (path, proof)
      }
    }
  }
}
