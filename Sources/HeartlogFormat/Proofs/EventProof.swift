/// That a replica wrote an event, in a commit of its stream that a signed checkpoint covers. Every value is verified.
package struct EventProof: Hashable, Sendable {
  /// The commit. Its other events are withheld: only their hashes are known.
  package let commit: Commit
  /// The number of events before the event in its commit.
  package let index: Int
  /// The checkpoint that covers the commit, signed by the replica that wrote it.
  package let checkpoint: WitnessedCheckpoint
  private let row: [UInt8]
  private let salt: Salt
  private let path: [Digest]

  /// The event, or what is kept of an event of a later version.
  package var event: EventRecord { commit.records[index] }
  /// The event's identity.
  package var id: EventID { commit.eventID(at: index) }

  /// Makes a proof.
  ///
  /// - Parameters:
  ///   - commit: The commit with the event.
  ///   - index: The number of events before the event.
  ///   - salt: The event's salt.
  ///   - hashes: The hashes of all events of the commit.
  ///   - path: The inclusion path of the commit's leaf in the checkpoint's tree.
  /// - Throws: `MalformedError` if they do not lead to the root that was signed.
  package init(
    commit: Commit, index: Int, salt: Salt, hashes: [EventHash], path: [Digest],
    checkpoint: WitnessedCheckpoint
  ) throws(MalformedError) {
    let records = commit.records.indices.map { $0 == index ? commit.records[$0] : .withheld(hashes[$0]) }
    try self.init(commit.with(records), index, salt, path, checkpoint)
  }

  private init(
    _ commit: Commit, _ index: Int, _ salt: Salt, _ path: [Digest], _ checkpoint: WitnessedCheckpoint
  ) throws(MalformedError) {
    self.commit = commit
    self.index = index
    self.salt = salt
    self.path = path
    self.checkpoint = checkpoint
    var row: [UInt8] = []
    try RowEncoding.append(commit, to: &row)
    self.row = row
    guard commit.records.indices.allSatisfy({ commit.records[$0].isWithheld == ($0 != index) }) else {
      throw MalformedError("a proof of one event that does not have exactly that event")
    }
    var hasher = SHA256Hasher()
    var records = commit.records
    records[index] = .withheld(records[index].hash(salt: salt, hasher: &hasher))
    var salts = Salts([])
    let leaf = try commit.with(records).leafHash(salts: &salts, hasher: &hasher)
    let inclusion = InclusionProof(
      index: commit.number.rawValue - 1, size: checkpoint.checkpoint.size, path: path)
    guard try inclusion.root(of: leaf) == checkpoint.checkpoint.root else {
      throw MalformedError("an event that does not lead to the root that replica \(commit.replica) signed")
    }
  }

  init(from reader: inout ByteReader) throws(MalformedError) {
    let checkpoint = try WitnessedCheckpoint(from: &reader)
    let number = CommitNumber(rawValue: try reader.varint())
    let row = try reader.lengthAndBytes()
    let commit = try RowEncoding.decode(row, replica: checkpoint.checkpoint.replica, number: number)
    let index = try reader.count(atMost: commit.eventCount - 1, "an event's index")
    let salt = Salt(try reader.take(16))
    try self.init(commit, index, salt, try reader.path(), checkpoint)
  }

  func write(to writer: inout ByteWriter) {
    checkpoint.write(to: &writer)
    writer.varint(commit.number.rawValue)
    writer.lengthAndBytes(row)
    writer.varint(index)
    salt.withUnsafeBytes { writer.raw($0) }
    writer.path(path)
  }
}

/// That the first commits of a stream are still those that they were: a later checkpoint covers them unchanged, and everything that was
/// proven of them stays proven. Every value is verified.
package struct HistoryProof: Hashable, Sendable {
  /// The number of first commits.
  package let size: UInt64
  /// The root of the tree over them.
  package let root: HeartlogDigest
  /// The checkpoint of these first commits; nil if the proof has only their root, which is compared by whoever knows it.
  package let earlier: WitnessedCheckpoint?
  /// A checkpoint that covers at least as many commits.
  package let later: WitnessedCheckpoint
  private let path: [Digest]

  /// The replica that writes the stream.
  package var replica: ReplicaID { later.checkpoint.replica }

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

/// That one key signed two histories: its owner's folder was copied with the key, or the owner rewrote its past. Every value is verified.
///
/// The later checkpoint's history begins with other commits than the earlier checkpoint covers. Two checkpoints alone do not show this
/// unless they are of the same size: the path shows which root the later history had at the earlier size.
package struct ForkProof: Hashable, Sendable {
  /// A checkpoint that the later history contradicts.
  package let earlier: WitnessedCheckpoint
  /// That the later history had another root at the same size.
  package let history: HistoryProof

  /// The checkpoint of the later history.
  package var later: WitnessedCheckpoint { history.later }
  /// The replica whose key signed both.
  package var replica: ReplicaID { history.replica }

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
