/// That the first commits of a stream are still those that they were: a later checkpoint covers them unchanged, and everything that was
/// proven of them stays proven. Every value is verified.
public struct HistoryProof: Hashable, Sendable {
  /// The number of first commits.
  public let size: UInt64
  /// The root of the tree over them.
  public let root: HeartlogDigest
  /// The checkpoint of these first commits; nil if the proof has only their root, which is compared by whoever knows it.
  public let earlier: WitnessedCheckpoint?
  /// A checkpoint that covers at least as many commits.
  public let later: WitnessedCheckpoint
  private let path: [Digest]

  /// The replica that writes the stream.
  public var replica: ReplicaID { later.checkpoint.replica }

  /// Makes a proof for the first commits of a stream.
  ///
  /// - Parameters:
  ///   - earlier: Their number and root, or the checkpoint over them.
  ///   - path: The consistency path in the later checkpoint's tree.
  /// - Throws: `MalformedError` if the path does not lead from one root to the other.
  package init(
    _ earlier: Earlier, path: [Digest], later: WitnessedCheckpoint
  ) throws(MalformedError) {
    self.path = path
    self.later = later
    switch earlier {
    case .root(let size, let root):
      self.earlier = nil
      self.size = size
      self.root = root
    case .checkpoint(let checkpoint):
      self.earlier = checkpoint
      size = checkpoint.checkpoint.size
      root = checkpoint.checkpoint.root
      guard checkpoint.key == later.key else { throw MalformedError("two checkpoints of different replicas") }
    }
    try ConsistencyProof(size: size, laterSize: later.checkpoint.size, path: path)
      .verify(root: root, laterRoot: later.checkpoint.root)
  }

  /// What is known of the first commits.
  package enum Earlier {
    case root(size: UInt64, Digest)
    case checkpoint(WitnessedCheckpoint)
  }

  init(from reader: inout ByteReader) throws(MalformedError) {
    let later = try WitnessedCheckpoint(from: &reader)
    let earlier: Earlier
    switch try reader.u8() {
    case 0: earlier = .root(size: try reader.varint(), try reader.digest())
    case 1: earlier = .checkpoint(try WitnessedCheckpoint(from: &reader))
    case let byte: throw MalformedError("an earlier tree that begins with the byte \(byte)")
    }
    try self.init(earlier, path: try reader.path(), later: later)
  }

  func write(to writer: inout ByteWriter) {
    later.write(to: &writer)
    writer.u8(earlier == nil ? 0 : 1)
    if let earlier {
      earlier.write(to: &writer)
    } else {
      writer.varint(size)
      writer.raw(root)
    }
    writer.path(path)
  }
}
