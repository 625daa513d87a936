import HeartlogFormat
import Synchronization

extension FavoritesState {
  /// Writes the state as a snapshot.
  ///
  /// - Parameters:
  ///   - log: the state's positions in the log. Stored with the state, and returned when it is read.
  ///   - write: receives the bytes, piece by piece.
  package func writeSnapshot(log: [UInt8], _ write: @escaping (UnsafeRawBufferPointer) throws -> Void) throws
  {
    let id = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    var writer = SnapshotWriter(id: id, write)
    try writer.append(SnapshotLayout.header(id: id))
    var directory = ByteWriter()
    directory.lengthAndBytes(log)
    directory.u64(eventCount)
    directory.u64(commitCount)
    directory.u64(lastStamp.rawValue)
    directory.u64(erasedGeneration)
    directory.varint(erasingCommits.count)
    for commit in erasingCommits {
      directory.replica(commit.source.replica)
      directory.varint(commit.source.commit.rawValue)
      directory.varint(commit.erasures.count)
      for erasure in commit.erasures { directory.lengthAndBytes(erasure.bytes) }
    }
    try replicas.append(to: &directory, &writer)
    let names = fieldNames.sorted()
    directory.varint(names.texts.count)
    for name in names.texts { directory.text(name) }
    directory.varint(tables.count)
    for (slot, table) in tables.enumerated() {
      directory.text(libraryNames.string(of: Int32(slot)))
      var library = LibraryWriter(table, names: names.indices, replicas: replicas)
      try library.append(to: &directory, &writer)
    }
    try writer.align()
    let location = SnapshotWriter.Location(offset: writer.offset, count: directory.count)
    let checksum = directory.bytes.withUnsafeBytes {
      SnapshotSource.checksum($0, seed: writer.seed, offset: location.offset)
    }
    try writer.append(directory.bytes)
    try writer.align()
    try writer.append(
      SnapshotLayout.trailer(id: id, directory: location, checksum: checksum, at: writer.offset))
    try writer.flush()
  }

  /// Reads the directory of a snapshot. The parts are read on access.
  ///
  /// - Parameters:
  ///   - bytes: the bytes of the whole file.
  ///   - owner: keeps the bytes mapped.
  /// - Returns: the state, and its positions in the log as they were passed to `writeSnapshot`.
  package static func snapshot(
    _ bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable
  ) throws(MalformedError) -> (state: FavoritesState, log: [UInt8]) {
    let frame = try SnapshotLayout.read(bytes)
    let source = SnapshotSource(bytes, owner: owner, seed: frame.seed)
    var reader = SnapshotReader(
      bytes: ByteReader(frame.directory), source: source, end: frame.directoryOffset)
    let log = Array(try reader.bytes.lengthAndBytes())
    let state = try FavoritesState(&reader)
    try reader.bytes.end()
    return (state, log)
  }

  /// Returns false if the header is intact and states another version. Such a snapshot is not damaged, but must not be read.
  package static func isSnapshotOfThisVersion(_ bytes: UnsafeRawBufferPointer) -> Bool {
    SnapshotLayout.isOfThisVersion(bytes)
  }

  private init(_ reader: inout SnapshotReader) throws(MalformedError) {
    self.init()
    snapshot = reader.source
    share = Share()
    eventCount = try reader.number()
    commitCount = try reader.number()
    lastStamp = try reader.stamp()
    erasedGeneration = try reader.bytes.u64()
    for _ in 0..<(try reader.count("erasing commits")) {
      erasingCommits.append(try reader.erasingCommit())
    }
    replicas = try ReplicaTable(&reader)
    for _ in 0..<(try reader.count("field names")) {
      let known = fieldNames.count
      _ = fieldNames.intern(try reader.bytes.lengthAndBytes())
      guard fieldNames.count > known else { throw MalformedError("a field name that a snapshot has twice") }
    }
    for _ in 0..<(try reader.count("libraries")) {
      _ = libraryNames.intern(try reader.bytes.lengthAndBytes())
      tables.append(try ItemTable(&reader))
      guard libraryNames.count == tables.count else {
        throw MalformedError("a library that a snapshot has twice")
      }
    }
  }

  /// Whether a part of the snapshot that was read is damaged. If so, discard everything that was read from it.
  package var isDamaged: Bool { snapshot?.isDamaged ?? false }

  /// Whether reading the state can still encounter new damage.
  package var mayMeetDamage: Bool { snapshot != nil && !isLoaded }

  /// Whether this state has copies.
  package var isShared: Bool {
    mutating get { share != nil && !isKnownUniquelyReferenced(&share) }
  }

  /// Checks all of the snapshot. After that, several threads can read this state and its copies, and none encounters new damage.
  package mutating func loadSnapshot() {
    guard mayMeetDamage else { return }
    replicas.loadAll()
    for table in tables { table.loadAll() }
    isLoaded = true
  }
}

/// Reads the directory of a snapshot.
struct SnapshotReader {
  var bytes: ByteReader
  let source: SnapshotSource
  /// The offset at which parts must end.
  let end: Int
  private var claimed = 0

  init(bytes: ByteReader, source: SnapshotSource, end: Int) {
    self.bytes = bytes
    self.source = source
    self.end = end
  }

  /// Reads the number of entries that follow; each has at least one byte.
  mutating func count(_ what: StaticString) throws(MalformedError) -> Int {
    try bytes.count(atMost: bytes.remaining, what)
  }

  /// Reads the number of a commit or an event, or a count of them; 0 is none.
  mutating func number() throws(MalformedError) -> UInt64 {
    let number = try bytes.u64()
    // The last number plus one: the next number to assign.
    guard number <= Limits.numberMax + 1 else { throw MalformedError("a number past 2^53") }
    return number
  }

  mutating func stamp() throws(MalformedError) -> HybridTimestamp {
    let stamp = HybridTimestamp(rawValue: try bytes.u64())
    guard stamp <= .last else { throw MalformedError("a stamp after the last that there is") }
    return stamp
  }

  mutating func erasingCommit() throws(MalformedError) -> ErasingCommit {
    let replica = try bytes.replica()
    let number = try bytes.varint()
    guard (1...Limits.numberMax).contains(number) else { throw MalformedError("erasing commit \(number)") }
    var erasures: [Erasure] = []
    for _ in 0..<(try count("erasing events")) { erasures.append(try Erasure(try bytes.lengthAndBytes())) }
    return ErasingCommit(
      source: Head(replica: replica, commit: CommitNumber(rawValue: number)), erasures: erasures)
  }

  /// Reads the location of a table in the snapshot.
  mutating func table<Record: MappedRecord>() throws(MalformedError) -> PagedTable<Record> {
    assert(Record.isLaidOutAsInFormat, "docs/format.md says where each integer of a record lies")
    let table = PagedTable<Record>.self
    let (offset, count) = try place(countMax: Self.recordsMax)
    if Record.isPacked {
      try claim(table.pageCount(count) * SnapshotPages.indexBytes, at: offset)
      return PagedTable(PackedRecords(source, index: offset, count: count, of: Record.self))
    }
    try claim(SnapshotSection.byteCount(count, of: Record.self), at: offset)
    return PagedTable(SnapshotSection(source: source, offset: offset, count: count))
  }

  mutating func texts() throws(MalformedError) -> MappedTexts {
    let (index, count) = try place(countMax: Self.textBytesMax)
    try claim(MappedTexts.pageCount(count) * SnapshotPages.indexBytes, at: index)
    return MappedTexts(source, index: index, byteCount: count)
  }

  /// Some more can be added to any table.
  private static let recordsMax = 1 << 30
  /// No more than 2^48 − 1 bytes are in a file that has an index of them.
  private static let textBytesMax = 1 << 48 - 1

  private mutating func place(countMax: Int) throws(MalformedError) -> (offset: Int, count: Int) {
    let offset = try bytes.count(atMost: end, "the place of a part")
    return (offset, try bytes.count(atMost: countMax, "the records or bytes of a part"))
  }

  /// Checks that the pages or the index of a part lie in the snapshot. All parts together have no more room than one after the other, so what
  /// they claim is bounded by the size of the file.
  private mutating func claim(_ byteCount: Int, at offset: Int) throws(MalformedError) {
    claimed += byteCount
    guard offset % SnapshotLayout.alignment == 0, byteCount <= end - offset, claimed <= end else {
      throw MalformedError("a part that is not in the snapshot")
    }
  }
}

/// The bytes of a mapped snapshot, read only after their checksums were verified.
///
/// Damaged bytes read as zeros and set `isDamaged`. Check it after reading; if it is set, discard everything that was read.
final class SnapshotSource: Sendable {
  nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
  /// Keeps `bytes` mapped.
  private let owner: any AnyObject & Sendable
  /// Part of every checksum, so that a page of another snapshot never passes.
  let seed: UInt64
  private let damage = Atomic<Bool>(false)
  /// Held while something is unpacked. Copies of a state share what was unpacked, and several threads may read them.
  let unpacking = Mutex(())

  init(_ bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable, seed: UInt64) {
    self.bytes = bytes
    self.owner = owner
    self.seed = seed
  }

  /// Whether any bytes that were read were damaged.
  var isDamaged: Bool { damage.load(ordering: .relaxed) }

  func noteDamage() { damage.store(true, ordering: .relaxed) }

  /// Returns XXH3-64 of bytes at an offset of a snapshot, xor the sum of seed and offset. Seeding XXH3 itself would cost as much as hashing
  /// a part of a page.
  static func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt64, offset: Int) -> UInt64 {
    checksum(XXH3.hash(bytes, seed: 0), seed: seed, offset: offset)
  }

  static func checksum(_ hash: UInt64, seed: UInt64, offset: Int) -> UInt64 {
    hash ^ (seed &+ UInt64(offset))
  }

  /// Read in place of a damaged page.
  nonisolated(unsafe) static let zeros = UnsafeRawPointer(
    UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 64).zeroed)
}

extension UnsafeMutableRawBufferPointer {
  fileprivate var zeroed: UnsafeMutableRawPointer {
    initializeMemory(as: UInt8.self, repeating: 0)
    guard let start = baseAddress else { preconditionFailure("it has bytes") }
    return start
  }
}
