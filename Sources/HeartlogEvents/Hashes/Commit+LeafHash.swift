extension EventRecord {
  /// SHA-256 of the salt and the event as it stands in a row; of a withheld event, what stands in its place.
  package func hash(salt: Salt, hasher: inout SHA256Hasher) -> EventHash {
    if case .withheld(let hash) = self { return hash }
    var writer = ByteWriter(capacity: 16 + RowEncoding.byteCount(of: self))
    salt.withUnsafeBytes { writer.raw($0) }
    RowEncoding.write(self, to: &writer)
    hasher.update(writer.bytes)
    return hasher.finish()
  }
}

extension Commit {
  /// The hash of this commit as a leaf of its stream's tree: see "Hashes" in docs/format.md.
  ///
  /// - Throws: where `salts` has none for an event that is not withheld.
  package func leafHash(salts: inout Salts, hasher: inout SHA256Hasher) throws(MalformedError) -> Digest {
    // The fixed parts, less than 128 bytes, and the hashes; the rest is rare.
    var writer = ByteWriter(capacity: 128 + 32 * records.count)
    writer.u8(0)
    writer.replica(replica)
    writer.u64(number.rawValue)
    writer.u64(firstSequence.rawValue)
    writer.u32(UInt32(records.count))
    writer.u64(stamp.rawValue)
    writer.u64(UInt64(bitPattern: wallTime))
    (origin ?? "").withUTF8Bytes {
      writer.u32(UInt32($0.count))
      writer.raw($0)
    }
    writer.u32(UInt32(heads.count))
    for head in heads {
      writer.replica(head.replica)
      writer.u64(head.commit.rawValue)
    }
    writer.u32(UInt32(unknownMembers.count))
    for member in unknownMembers {
      writer.u64(member.tag)
      writer.u32(UInt32(member.bytes.count))
      writer.raw(member.bytes)
    }
    for (index, record) in records.enumerated() {
      if case .withheld(let hash) = record {
        writer.raw(hash)
        continue
      }
      guard let salt = salts.salt(commit: number, event: index, hasher: &hasher) else {
        throw MalformedError("no salt for event \(index) of commit \(number)")
      }
      writer.raw(record.hash(salt: salt, hasher: &hasher))
    }
    hasher.update(writer.bytes)
    return hasher.finish()
  }
}
