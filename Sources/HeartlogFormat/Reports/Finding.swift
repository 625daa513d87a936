/// A place in a store where the bytes differ from what was written.
public struct Finding: Sendable {
  /// What happened to the bytes.
  public enum Verdict: String, Sendable {
    /// An unfinished batch at the tail that was never acknowledged. The next writer cuts it off and keeps a copy.
    case torn
    /// Acknowledged commits are missing at the tail.
    case lost
    /// Bytes differ from what was written.
    case corrupt
  }

  /// What happened to the bytes.
  public let verdict: Verdict
  /// The replica whose stream is affected.
  public let replica: ReplicaID
  /// A description with the file, the offset and the commits.
  public let error: HeartlogError

  package init(verdict: Verdict, replica: ReplicaID, error: HeartlogError) {
    self.verdict = verdict
    self.replica = replica
    self.error = error
  }
}

extension [Finding] {
  /// Both, each place of the log once.
  package func union(_ others: [Finding]) -> [Finding] {
    self
      + others.filter { other in
        !contains { $0.error.file == other.error.file && $0.error.offset == other.error.offset }
      }
  }
}
