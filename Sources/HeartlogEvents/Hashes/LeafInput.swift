/// The buffer in which the leaves of a stream's tree are assembled, reused from leaf to leaf.
struct LeafInput: ~Copyable {
  private var leaf = HashInput()
  private var event = HashInput()

  /// The hash of a commit as a leaf of its stream's tree: see "Hashes" in docs/format.md.
  ///
  /// - Parameter writeEvent: writes the next event as stored in a row, or returns the hash of a withheld event.
  /// - Throws: if `salts` has none for an event that is not withheld.
  @inline(__always)
  mutating func hash(
    _ header: CommitHeader, origin: String?, heads: [Head], unknownMembers: [UnknownMember],
    salts: inout Salts, hasher: inout SHA256Hasher,
    writeEvent: (_ index: Int, _ input: inout HashInput) -> EventHash?
  ) throws(MalformedError) -> Digest {
    leaf.removeAll()
    leaf.u8(0)
    leaf.replica(header.replica)
    leaf.u64(header.number.rawValue)
    leaf.u64(header.firstSequence.rawValue)
    leaf.u32(UInt32(header.eventCount))
    leaf.u64(header.stamp.rawValue)
    leaf.u64(UInt64(bitPattern: header.wallTime))
    (origin ?? "").withUTF8Bytes {
      leaf.u32(UInt32($0.count))
      leaf.raw($0)
    }
    leaf.u32(UInt32(heads.count))
    for head in heads {
      leaf.replica(head.replica)
      leaf.u64(head.commit.rawValue)
    }
    leaf.u32(UInt32(unknownMembers.count))
    for member in unknownMembers {
      leaf.u64(member.tag)
      leaf.u32(UInt32(member.bytes.count))
      leaf.raw(member.bytes)
    }
    for index in 0..<header.eventCount {
      event.removeAll()
      event.leaveSaltOpen()
      if let withheld = writeEvent(index, &event) {
        leaf.raw(withheld)
        continue
      }
      guard let salt = salts.salt(commit: header.number, event: index, hasher: &hasher) else {
        throw MalformedError("no salt for event \(index) of commit \(header.number)")
      }
      event.fill(salt)
      leaf.raw(event.hash(with: &hasher))
    }
    return leaf.hash(with: &hasher)
  }
}

extension EventRecord {
  /// SHA-256 of the salt and the event as stored in a row; for a withheld event, the stored hash.
  package func hash(salt: Salt, hasher: inout SHA256Hasher) -> EventHash {
    if case .withheld(let hash) = self { return hash }
    var input = HashInput()
    input.leaveSaltOpen()
    RowEncoding.write(self, to: &input)
    input.fill(salt)
    return input.hash(with: &hasher)
  }
}

extension Commit {
  /// The hash of this commit as a leaf of its stream's tree: see "Hashes" in docs/format.md.
  ///
  /// - Throws: if `salts` has none for an event that is not withheld.
  package func leafHash(salts: inout Salts, hasher: inout SHA256Hasher) throws(MalformedError) -> Digest {
    var input = LeafInput()
    return try input.hash(
      header, origin: origin, heads: heads, unknownMembers: unknownMembers, salts: &salts, hasher: &hasher
    ) { index, input in
      let record = contents[index]
      if case .withheld(let hash) = record { return hash }
      RowEncoding.write(record, to: &input)
      return nil
    }
  }
}
