import HeartlogEvents
import HeartlogStorage

/// Something in a store that is not as it was written, and where.
public struct Finding: Sendable {
  /// What became of the bytes.
  public enum Verdict: String, Sendable {
    /// An unfinished batch at the tail, never acknowledged. The next writer cuts it off and keeps it aside.
    case torn
    /// Acknowledged commits at the tail are gone.
    case lost
    /// Bytes that are not what was written.
    case corrupt
  }

  /// What became of the bytes.
  public let verdict: Verdict
  /// Whose stream it is in.
  public let replica: ReplicaID
  /// The sentence, the file, the offset and the commits.
  public let error: HeartlogError

  package init(verdict: Verdict, replica: ReplicaID, error: HeartlogError) {
    self.verdict = verdict
    self.replica = replica
    self.error = error
  }

  init(_ finding: HeartlogStorage.Finding) {
    verdict =
      switch finding.verdict {
      case .torn: .torn
      case .lost: .lost
      case .corrupt: .corrupt
      }
    replica = finding.replica
    error = HeartlogError(finding.error)
  }
}
