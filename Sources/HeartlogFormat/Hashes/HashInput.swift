/// Bytes to be hashed, in one reused buffer.
struct HashInput: ~Copyable, ByteOutput {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 16)
  private var count = 0

  deinit { memory.deallocate() }

  mutating func removeAll() { count = 0 }

  borrowing func hash(with hasher: inout SHA256Hasher) -> Digest {
    hasher.update(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    return hasher.finish()
  }

  /// Reserves space for a salt.
  mutating func leaveSaltOpen() {
    assert(count == 0, "a salt is hashed first")
    reserve(MemoryLayout<Salt>.size)
    count += MemoryLayout<Salt>.size
  }

  /// Writes the salt into the space reserved at the start.
  mutating func fill(_ salt: Salt) {
    assert(count >= MemoryLayout<Salt>.size, "space for a salt was left at the start")
    salt.withUnsafeBytes { memory.copyMemory(from: $0) }
  }

  /// Ensures capacity for `more` bytes. Must be called before every write below.
  @inline(__always)
  private mutating func reserve(_ more: Int) {
    if count + more > memory.count { grow(to: count + more) }
  }

  private mutating func grow(to byteCount: Int) {
    assert(byteCount > memory.count && count <= memory.count, "memory grows for bytes that do not fit")
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(byteCount, 2 * memory.count), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    memory.deallocate()
    memory = larger
  }

  @inline(__always)
  private mutating func store<Value: BitwiseCopyable>(_ value: Value) {
    reserve(MemoryLayout<Value>.size)
    memory.storeBytes(of: value, toByteOffset: count, as: Value.self)
    count += MemoryLayout<Value>.size
  }

  mutating func u8(_ value: UInt8) { store(value) }
  mutating func u32(_ value: UInt32) { store(value.littleEndian) }
  mutating func u64(_ value: UInt64) { store(value.littleEndian) }

  mutating func raw(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + bytes.count]).copyMemory(from: bytes)
    count += bytes.count
  }
}

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
