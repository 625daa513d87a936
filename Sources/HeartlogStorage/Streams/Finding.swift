import HeartlogEvents

/// Something in a store that differs from what was written, and where it is.
package struct Finding: Sendable {
  package enum Verdict: String, Sendable {
    /// An unfinished batch at the tail that was never acknowledged. The next writer cuts it off and keeps a
    /// copy.
    case torn
    /// Acknowledged commits at the tail are missing.
    case lost
    /// Bytes that differ from what was written.
    case corrupt
  }

  package let verdict: Verdict
  package let replica: ReplicaID
  /// The message, the file, the offset and the commits.
  package let error: StorageError

  /// Creates a finding for missing commits of which another file of the store knows.
  static func missing(
    _ commits: ClosedRange<CommitNumber>, of replica: ReplicaID, knownFrom file: String
  ) -> Finding {
    Finding(
      verdict: .lost, replica: replica,
      error: StorageError(
        .corrupt, "\(file) refers to commits of the stream \(replica) that are missing", file: file,
        commits: commits))
  }
}
