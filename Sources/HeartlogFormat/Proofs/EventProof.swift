/// That a replica wrote an event, in a commit of its stream that a signed checkpoint covers. Every value is verified.
public struct EventProof: Hashable, Sendable {
  /// The commit. Its other events are withheld: only their hashes are known.
  public let commit: Commit
  /// The number of events before the event in its commit.
  public let index: Int
  /// The checkpoint that covers the commit, signed by the replica that wrote it.
  public let checkpoint: WitnessedCheckpoint
  private let row: [UInt8]
  private let salt: Salt
  private let path: [Digest]

  /// The event, or what is kept of an event of a later version.
  public var event: EventRecord { commit.records[index] }
  /// The event's identity.
  public var id: EventID { commit.eventID(at: index) }

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
    for (other, record) in commit.records.enumerated() {
      var isWithheld = false
      if case .withheld = record { isWithheld = true }
      guard isWithheld == (other != index) else {
        throw MalformedError("a proof of one event that does not have exactly that event")
      }
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

extension Commit {
  /// The same commit with other records.
  fileprivate func with(_ records: [EventRecord]) -> Commit {
    Commit(
      replica: replica, number: number, firstSequence: firstSequence, stamp: stamp, wallTime: wallTime,
      origin: origin, heads: heads, unknownMembers: unknownMembers, records: records)
  }
}
