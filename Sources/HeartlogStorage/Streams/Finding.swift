import HeartlogFormat

extension Finding {
  /// Creates a finding for missing commits of which another file of the store knows.
  static func missing(
    _ commits: ClosedRange<CommitNumber>, of replica: ReplicaID, knownFrom file: String
  ) -> Finding {
    Finding(
      verdict: .lost, replica: replica,
      error: HeartlogError(
        .corrupt, "\(file) refers to commits of the stream \(replica) that are missing", file: file,
        commits: commits))
  }
}
