/// An event whose content is to be erased, named without its content.
package struct ErasedEvent: Hashable, Sendable {
  /// The stream of the event.
  package let replica: ReplicaID
  /// The first commit of the open segment that the event was written to. The segment's secret leads to the event's salt.
  package let segment: CommitNumber
  /// The commit of the event.
  package let commit: CommitNumber
  /// The commit's stamp, by which its copies in branches of the stream are found.
  package let stamp: HybridTimestamp
  /// The event's index in its commit, from 0.
  package let index: Int
  /// The event's hash, which stays in its place.
  package let hash: Digest

  /// Names an event.
  package init(
    replica: ReplicaID, segment: CommitNumber, commit: CommitNumber, stamp: HybridTimestamp, index: Int,
    hash: Digest
  ) {
    self.replica = replica
    self.segment = segment
    self.commit = commit
    self.stamp = stamp
    self.index = index
    self.hash = hash
  }

  /// Names an event of a commit; nil if no secret covers it.
  package init?(of commit: Commit, at index: Int, salts: inout Salts, hasher: inout SHA256Hasher) {
    guard let segment = salts.segment(of: commit.number),
      let salt = salts.salt(commit: commit.number, event: index, hasher: &hasher)
    else { return nil }
    self.init(
      replica: commit.replica, segment: segment, commit: commit.number, stamp: commit.stamp, index: index,
      hash: commit.contents[index].hash(salt: salt, hasher: &hasher))
  }

  /// A replica, a commit and its distance, a stamp, an index, and a hash.
  package static let byteCountMin = 16 + 1 + 1 + 8 + 1 + 32
  /// The same, with the longest numbers.
  package static let byteCountMax = 16 + 8 + 8 + 8 + 3 + 32

  /// Writes the event as erasing events contain it.
  package func write(to writer: inout ByteWriter) {
    writer.replica(replica)
    writer.varint(commit.rawValue)
    writer.varint(commit.rawValue - segment.rawValue)
    writer.u64(stamp.rawValue)
    writer.varint(index)
    writer.raw(hash)
  }

  /// Reads what `write` wrote.
  package init(from reader: inout ByteReader) throws(MalformedError) {
    let replica = try reader.replica()
    let commit = try reader.varint()
    let behind = try reader.varint()
    guard (1...Limits.numberMax).contains(commit), behind < commit else {
      throw MalformedError("an erased event of commit \(commit), \(behind) after its segment's first")
    }
    self.init(
      replica: replica, segment: CommitNumber(rawValue: commit - behind),
      commit: CommitNumber(rawValue: commit), stamp: HybridTimestamp(rawValue: try reader.u64()),
      index: try reader.count(atMost: Limits.commitEventsMax - 1, "an event's place"),
      hash: try reader.digest())
  }

  /// The order of an erasing event: by stream, then along it.
  package static func precedes(_ a: ErasedEvent, _ b: ErasedEvent) -> Bool {
    a.replica == b.replica ? (a.commit, a.index) < (b.commit, b.index) : a.replica < b.replica
  }
}
