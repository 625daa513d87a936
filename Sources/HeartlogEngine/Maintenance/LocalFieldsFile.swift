import HeartlogFiles
import HeartlogFormat

/// The device-local fields of a store: the latest value of each, in the file `local/<replica>.fields`.
///
/// A record contains all values of one item and replaces the item's earlier record. The file is written again from the present values
/// when replaced records take up more than half of it, so the number of items bounds its size, whatever is written how often.
package final class LocalFieldsFile: Sendable {
  /// The present values of an item, and the size of its record.
  private struct Item {
    let id: String
    var fields: [Field]
    let recordBytes: Int
  }

  private struct State {
    /// The replica whose values these are; nil before the first read.
    var replica: ReplicaID?
    var libraries: [String: [UTF8Key: Item]] = [:]
    /// The size of the file if it were written now.
    var presentBytes = LocalFieldsFile.magic.count
    /// The file that was read, and how far; nil if there was none.
    var inode: UInt64?
    var readBytes = 0
    /// Whether the last records may not be durable.
    var isUnsynced = false
    /// Whether fdatasync failed, so the contents of the disk are unknown, or a record is damaged: the file is replaced.
    var isSuspect = false

    mutating func apply(_ record: Event) {
      let key = UTF8Key(record.item)
      let bytes = LocalFieldsFile.record(record).count
      let before = libraries[record.library]?[key]?.recordBytes ?? 0
      libraries[record.library, default: [:]][key] =
        record.fields.isEmpty ? nil : Item(id: record.item, fields: record.fields, recordBytes: bytes)
      presentBytes += (record.fields.isEmpty ? 0 : bytes) - before
      assert(presentBytes >= LocalFieldsFile.magic.count, "the size counts each record once")
    }

    /// One record for each item, in a fixed order.
    var records: [Event] {
      libraries.sorted { $0.key < $1.key }.flatMap { library, items in
        items.values.sorted { $0.id.bytesPrecede($1.id) }
          .map { Event(localFields: $0.fields, of: $0.id, in: library) }
      }
    }
  }

  /// The first bytes of the file, with the version of its form.
  private static let magic = Array("HLLOCAL1".utf8)
  /// A smaller file is not written again: it takes little space.
  private static let rewrittenBytesMin = 1 << 16
  private static let recordHeaderBytes = 12

  private let directory: StoreDirectory
  private let options: StorageOptions
  private let state = Monitor(State())
  /// The lock that excludes other processes. Held by a thread of this one while it reads or writes the file.
  private let working = Monitor<StoreLock?>(nil)
  private let seen = Monitor<SeenGeneration?>(nil)

  /// - Parameter path: the folder of the store.
  package init(at path: String, on fileSystem: any FileSystem, options: StorageOptions) {
    directory = StoreDirectory(fileSystem: fileSystem, path: Self.folder(in: path))
    self.options = options
  }

  private var fileSystem: any FileSystem { directory.fileSystem }
  private static func folder(in store: String) -> String { "\(store)/local" }
  private func path(of replica: ReplicaID) -> String { Self.path(of: replica, in: directory.path) }
  private static func path(of replica: ReplicaID, in folder: String) -> String {
    "\(folder)/\(replica).fields"
  }

  // MARK: - Values

  /// Whether everything was read that other processes wrote, as far as the lock page tells.
  package var isCurrent: Bool { seen.withLock { $0?.isCurrent ?? true } }

  /// Whether the values of this replica were read.
  package func holds(_ replica: ReplicaID) -> Bool { state.withLock { $0.replica == replica } }

  /// The values of an item, sorted by the bytes of their names; empty for those of another replica than the one that was read.
  package func fields(of id: String, in library: String, as replica: ReplicaID) -> [Field] {
    state.withLock { $0.replica == replica ? $0.libraries[library]?[UTF8Key(id)]?.fields ?? [] : [] }
  }

  /// The items of a library with a value, in no particular order.
  package func items(in library: String, as replica: ReplicaID) -> [String] {
    state.withLock { $0.replica == replica ? $0.libraries[library]?.values.map(\.id) ?? [] : [] }
  }

  // MARK: - Reading

  /// Reads what was written since the last read.
  ///
  /// - Returns: whether there may be other values.
  /// - Throws: `corrupt` if the file is none of this form; `inputOutput`.
  package func refresh(as replica: ReplicaID) throws(HeartlogError) -> Bool {
    try withLock { lock in
      guard try fileSystem.info(directory.path) != nil else { return false }
      // A reader does not create the lock.
      if try options.access == .readWrite || fileSystem.info(directory.lockPath) != nil { try open(&lock) }
      return try read(as: replica, lock)
    }
  }

  private func open(_ lock: inout StoreLock?) throws(HeartlogError) {
    guard lock == nil else { return }
    let opened = try StoreLock(directory, options)
    lock = opened
    seen.withLock { $0 = opened.seen }
  }

  private func read(as replica: ReplicaID, _ lock: StoreLock?) throws(HeartlogError) -> Bool {
    let generation = lock?.generation
    let (known, inode, readBytes) = state.withLock { ($0.replica, $0.inode, $0.readBytes) }
    guard let file = try ifPresent(fileSystem.open(path(of: replica), .read)) else {
      if known == replica, inode == nil { return false }
      state.withLock { $0 = State(replica: replica) }
      return true
    }
    let (size, found) = (Int(clamping: try file.size()), try file.inode())
    let continues = known == replica && found == inode && size >= readBytes
    guard !continues || size > readBytes else {
      if let generation { lock?.seen.note(generation) }
      return false
    }
    let start = continues ? readBytes : 0
    let (records, end, damaged) = try Self.records(
      in: file.bytes(size - start, at: UInt64(start)), isStart: start == 0, of: path(of: replica))
    assert(start + end <= size, "only what is in the file counts as read")
    state.withLock { state in
      if !continues { state = State(replica: replica) }
      for record in records { state.apply(record) }
      (state.inode, state.readBytes) = (found, start + end)
      if damaged > 0 { state.isSuspect = true }
    }
    if let generation { lock?.seen.note(generation) }
    return !continues || !records.isEmpty
  }

  /// The whole records in a part of a file, where the last one ends, and how many bytes before it are damaged. What follows it is a write
  /// that a crash has cut short; what is not whole between two records, also one whose sectors a crash has lost, is skipped.
  package static func records(
    in bytes: [UInt8], isStart: Bool, of path: String
  ) throws(HeartlogError) -> (records: [Event], end: Int, damagedByteCount: Int) {
    guard !isStart || bytes.starts(with: magic) else {
      throw HeartlogError(
        .corrupt,
        "the file of the device-local fields is damaged. Remove it: only this device's values of such fields are lost",
        file: path)
    }
    return bytes.withBytes { bytes in
      var records: [Event] = []
      var end = isStart ? magic.count : 0
      var damagedByteCount = 0
      var offset = end
      while bytes.count - offset >= recordHeaderBytes {
        let length = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        let hash = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt64.self))
        let start = offset + recordHeaderBytes
        offset += 1
        guard length > 0, length <= bytes.count - start else { continue }
        let content = UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])
        guard XXH3.hash(content, seed: 0) == hash, let event = try? RowEncoding.event(content) else {
          continue
        }
        records.append(event)
        damagedByteCount += start - recordHeaderBytes - end
        end = start + length
        offset = end
      }
      assert(end <= bytes.count && damagedByteCount >= 0, "whole records end within the bytes")
      return (records, end, damagedByteCount)
    }
  }

  /// What is damaged in the file of a replica, which may be missing.
  static func damage(
    of replica: ReplicaID, in store: StoreDirectory
  ) throws(HeartlogError) -> (path: String, reason: String)? {
    let path = path(of: replica, in: folder(in: store.path))
    do throws(HeartlogError) {
      guard try store.fileSystem.info(path) != nil else { return nil }
      let file = try store.fileSystem.open(path, .read)
      let bytes = try file.bytes(Int(clamping: file.size()), at: 0)
      let damagedByteCount = try records(in: bytes, isStart: true, of: path).damagedByteCount
      return damagedByteCount > 0 ? (path, "\(damagedByteCount) bytes before its last record") : nil
    } catch {
      guard error.code == .corrupt else { throw error }
      return (path, error.message)
    }
  }

  /// A file with these records.
  package static func encoded(_ records: [Event]) -> [UInt8] { magic + records.flatMap(record) }

  private static func record(_ event: Event) -> [UInt8] {
    var content: [UInt8] = []
    RowEncoding.append(event, to: &content)
    var writer = ByteWriter(capacity: recordHeaderBytes + content.count)
    writer.u32(UInt32(content.count))
    writer.u64(content.withBytes { XXH3.hash($0, seed: 0) })
    writer.raw(content)
    return writer.bytes
  }

  // MARK: - Writing

  /// Writes values, each of which replaces the field's former one; null clears it.
  ///
  /// - Parameter isDurable: whether to return after fdatasync; otherwise it follows within 100 ms.
  /// - Throws: `readOnly`, `locked`, `diskFull`, `inputOutput`. Former values remain after any of these.
  package func write(_ changes: [Event], as replica: ReplicaID, isDurable: Bool) throws(HeartlogError) {
    try changing(as: replica) { lock in
      let records = changes.map { change in
        let before = fields(of: change.item, in: change.library, as: replica)
        return Event(
          localFields: before.setting(change.fields).filter { !$0.value.isNull }, of: change.item,
          in: change.library)
      }
      let bytes = records.flatMap(Self.record)
      let (inode, readBytes, presentBytes, isSuspect) = state.withLock {
        ($0.inode, $0.readBytes, $0.presentBytes, $0.isSuspect)
      }
      let isSmall = readBytes + bytes.count <= max(Self.rewrittenBytesMin, 2 * presentBytes)
      guard inode != nil, !isSuspect, isSmall else {
        return try rewrite(with: records, as: replica)
      }
      assert(readBytes >= Self.magic.count, "records follow the first bytes of the file")
      let file = try fileSystem.open(path(of: replica), .readWrite)
      if try file.size() > UInt64(readBytes) { try file.truncate(to: UInt64(readBytes)) }
      try file.write(bytes, at: UInt64(readBytes))
      let isTimed =
        !isDurable
        && options.scheduler.run(afterMilliseconds: Self.unsyncedMilliseconds) {
          [weak self, scheduler = options.scheduler] in
          // A failure is thrown by the next write or `flush`, which replaces the file.
          scheduler.run { [weak self] in try? self?.flush(as: replica) }
        }
      if !isTimed { try synchronize(file) }
      state.withLock { state in
        for record in records { state.apply(record) }
        state.readBytes += bytes.count
        if isTimed { state.isUnsynced = true }
      }
    }
  }

  private static let unsyncedMilliseconds = 100

  /// Removes the values of an item, and every trace of them.
  ///
  /// - Returns: whether there were any.
  package func erase(_ id: String, in library: String, as replica: ReplicaID) throws(HeartlogError) -> Bool {
    guard try fileSystem.info(directory.path) != nil else { return false }
    return try changing(as: replica) { _ in
      guard !fields(of: id, in: library, as: replica).isEmpty else { return false }
      try rewrite(with: [Event(localFields: [], of: id, in: library)], as: replica)
      return true
    }
  }

  /// Makes everything that was written durable.
  package func flush(as replica: ReplicaID) throws(HeartlogError) {
    guard state.withLock({ $0.isUnsynced && $0.replica == replica }) else { return }
    try changing(as: replica) { _ in
      let (isUnsynced, isSuspect) = state.withLock { ($0.isUnsynced, $0.isSuspect) }
      guard isUnsynced else { return }
      if isSuspect { return try rewrite(with: [], as: replica) }
      try synchronize(try fileSystem.open(path(of: replica), .readWrite))
    }
  }

  /// Closes the lock's file until the next write.
  package func rest() { working.withLock { $0?.rest() } }

  /// Runs `body` while no other process changes the file, and this one has read all of it.
  private func changing<R: Sendable>(
    as replica: ReplicaID, _ body: (StoreLock) throws -> R
  ) throws(HeartlogError) -> R {
    guard options.access == .readWrite else {
      throw HeartlogError(.readOnly, "the store was opened for reading only")
    }
    return try withLock { lock in
      try fileSystem.makeFolder(directory.path)
      try open(&lock)
      guard let lock else { preconditionFailure("a lock that was not opened") }
      try lock.acquire(waitingAtMost: options.lockMillisecondsMax)
      defer {
        // After the change: who has read the file before reads it again.
        lock.touch()
        lock.release()
      }
      _ = try read(as: replica, lock)
      return try body(lock)
    }
  }

  private func withLock<R: Sendable>(
    _ body: (inout StoreLock?) throws -> R
  ) throws(HeartlogError) -> R {
    try heartlogErrors { try working.withLock { try body(&$0) } }
  }

  private func synchronize(_ file: any OpenFile) throws(HeartlogError) {
    do throws(HeartlogError) { try file.synchronizeData() } catch {
      state.withLock { ($0.isSuspect, $0.isUnsynced) = (true, true) }
      throw HeartlogError(.outcomeUnknown, error.description, file: error.file)
    }
    state.withLock { $0.isUnsynced = false }
  }

  /// Writes the file again from the present values and some new ones, and removes everything else from the folder: unfinished files, and
  /// values of replicas that this store was before, which may describe another machine.
  private func rewrite(with records: [Event], as replica: ReplicaID) throws(HeartlogError) {
    var next = state.withLock { $0 }
    for record in records { next.apply(record) }
    let bytes = Self.encoded(next.records)
    assert(
      (try? Self.records(in: bytes, isStart: true, of: ""))?.end == bytes.count,
      "the file is read as it was written")
    let path = path(of: replica)
    try directory.replaceFile(path, with: bytes, suffix: options.random())
    (next.inode, next.readBytes) = (try fileSystem.open(path, .read).inode(), bytes.count)
    (next.isSuspect, next.isUnsynced) = (false, false)
    let written = next
    state.withLock { $0 = written }
    for name in try fileSystem.entries(of: directory.path) {
      let entry = "\(directory.path)/\(name)"
      if entry != path, entry != directory.lockPath { try fileSystem.removeTree(entry) }
    }
  }
}

extension Event {
  /// The local fields of an item, which are all that a record says of it. An item without any is removed.
  package init(localFields fields: [Field], of item: String, in library: String) {
    self.init(
      library: library, item: item, action: fields.isEmpty ? .removed : .changed, favoritedDate: nil,
      fields: fields)
  }
}

extension [Field] {
  /// These fields with other values, sorted by the bytes of their names.
  package func setting(_ changed: [Field]) -> [Field] {
    var values: [UTF8Key: Field] = [:]
    for field in self + changed { values[UTF8Key(field.name)] = field }
    return values.values.sorted { $0.name.bytesPrecede($1.name) }
  }
}
