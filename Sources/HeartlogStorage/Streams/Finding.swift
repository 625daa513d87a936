import HeartlogEvents

/// Something in a store that is not as it was written, and where.
package struct Finding: Sendable {
  package enum Verdict: String, Sendable {
    /// An unfinished batch at the tail, never acknowledged; the next writer cuts it and keeps it aside.
    case torn
    /// Acknowledged commits at the tail are gone.
    case lost
    /// Bytes that are not what was written.
    case corrupt
  }

  package let verdict: Verdict
  package let replica: ReplicaID
  /// The sentence, the file, the offset and the commits.
  package let error: StorageError

  /// Commits that something else in the store knows of, and that are gone.
  static func missing(
    _ commits: ClosedRange<CommitNumber>, of replica: ReplicaID, knownFrom file: String
  ) -> Finding {
    Finding(
      verdict: .lost, replica: replica,
      error: StorageError(
        .corrupt, "commits of the stream \(replica) are missing that \(file) knows of", file: file,
        commits: commits))
  }
}
