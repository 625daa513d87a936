/// That one key signed two histories: its owner's folder was copied with the key, or the owner rewrote its past. Every value is verified.
///
/// The later checkpoint's history begins with other commits than the earlier checkpoint covers. Two checkpoints alone do not show this
/// unless they are of the same size: the path shows which root the later history had at the earlier size.
public struct ForkProof: Hashable, Sendable {
  /// A checkpoint that the later history contradicts.
  public let earlier: WitnessedCheckpoint
  /// That the later history had another root at the same size.
  public let history: HistoryProof

  /// The checkpoint of the later history.
  public var later: WitnessedCheckpoint { history.later }
  /// The replica whose key signed both.
  public var replica: ReplicaID { history.replica }

  /// Joins both parts.
  ///
  /// - Throws: `MalformedError` if they are not of one key, or do not contradict each other.
  package init(earlier: WitnessedCheckpoint, history: HistoryProof) throws(MalformedError) {
    guard earlier.key == history.later.key else {
      throw MalformedError("two checkpoints of different replicas")
    }
    guard earlier.checkpoint.size == history.size, earlier.checkpoint.root != history.root else {
      throw MalformedError("two checkpoints that do not contradict each other")
    }
    self.earlier = earlier
    self.history = history
  }

  init(from reader: inout ByteReader) throws(MalformedError) {
    let earlier = try WitnessedCheckpoint(from: &reader)
    try self.init(earlier: earlier, history: try HistoryProof(from: &reader))
  }

  func write(to writer: inout ByteWriter) {
    earlier.write(to: &writer)
    history.write(to: &writer)
  }
}
