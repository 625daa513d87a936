import HeartlogFiles
import HeartlogFormat

/// The events whose content the store withholds, as this process last read them. What it read of the streams before may have their
/// content.
///
/// Guarded by the log's monitor.
final class ErasedEvents {
  private let directory: StoreDirectory
  private let options: StorageOptions
  private let lock: StoreLock

  private(set) var list = ErasedList() { didSet { known = nil } }
  private var known: WithheldEvents?

  init(_ directory: StoreDirectory, _ options: StorageOptions, _ lock: StoreLock) {
    self.directory = directory
    self.options = options
    self.lock = lock
  }

  /// The list as blocks are searched for it. Made when it is first needed, because most processes never do.
  var withheld: WithheldEvents {
    if let known { return known }
    let made = WithheldEvents(list.events)
    known = made
    return made
  }

  /// Reads the list again.
  ///
  /// - Returns: Whether it has changed. Then all streams must be read again.
  func refresh() throws(HeartlogError) -> Bool {
    let found = try ErasedList.read(directory)
    guard found != list else { return false }
    list = found
    return true
  }

  /// Replaces the list. From here on no run brings the content of its events back, and every process with the store builds its state anew.
  /// The caller holds the lock.
  func replace(by list: ErasedList) throws(HeartlogError) {
    var list = list
    lock.update { $0.structure &+= 1 }
    try list.write(in: directory, options)
    lock.update { $0.structure &+= 1 }
    self.list = list
  }

  /// Adds places at which events stand. The caller holds the lock.
  func add(_ places: [ErasedEvent]) throws(HeartlogError) {
    var extended = list
    extended.add(places)
    if extended != list { try replace(by: extended) }
  }
}

/// The file `erased`: the events whose content the store withholds. Source: docs/format.md, "Erased events".
package struct ErasedList: Equatable, Sendable {
  /// In the order in which they were added, without duplicates.
  package private(set) var events: [ErasedEvent] = []
  /// Whether content of them may be left in the store.
  package var isPending: Bool
  /// Another number each time that the list is written; 0 before the first time.
  private(set) var generation: UInt64 = 0

  private static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x45, 0x52, 0x41, 0x0D, 0x0A]
  private static let version: UInt8 = 1
  private static let checksumBytes = 8

  init(isPending: Bool = false) { self.isPending = isPending }

  /// Adds the events that are new.
  mutating func add(_ added: [ErasedEvent]) {
    guard !added.isEmpty else { return }
    var known = Set(events)
    for event in added where known.insert(event).inserted { events.append(event) }
  }

  static func path(in directory: StoreDirectory) -> String { "\(directory.path)/erased" }

  /// Reads the list; an empty one if there is no file. One that is damaged is made again from the erasing commits in the log: it is
  /// returned as empty and pending.
  ///
  /// - Throws: `newerFormat`.
  package static func read(_ directory: StoreDirectory) throws(HeartlogError) -> ErasedList {
    let path = path(in: directory)
    guard let bytes = try directory.fileSystem.contents(of: path) else { return ErasedList() }
    let damaged = ErasedList(isPending: true)
    guard bytes.count > magic.count + checksumBytes, bytes.starts(with: magic) else { return damaged }
    let end = bytes.count - checksumBytes
    let isWhole = bytes.withUnsafeBytes { bytes in
      XXH3.hash(UnsafeRawBufferPointer(rebasing: bytes[..<end]), seed: 0)
        == UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self))
    }
    guard isWhole else { return damaged }
    guard bytes[magic.count] <= version else {
      throw HeartlogError(
        .newerFormat,
        "a list of erased events of version \(bytes[magic.count]); this Heartlog reads versions up to \(version)",
        file: path)
    }
    let list = try? bytes[(magic.count + 1)..<end].withUnsafeBytes { try ErasedList($0) }
    return list ?? damaged
  }

  private init(_ bytes: UnsafeRawBufferPointer) throws(MalformedError) {
    var reader = ByteReader(bytes)
    isPending = try reader.u8() != 0
    generation = try reader.u64()
    let count = try reader.count(atMost: reader.remaining / ErasedEvent.byteCountMin, "erased events")
    events.reserveCapacity(count)
    for _ in 0..<count { events.append(try ErasedEvent(from: &reader)) }
    try reader.end()
  }

  /// Replaces the list in a store, durably, as a new generation. The caller holds the lock.
  package mutating func write(in directory: StoreDirectory, _ options: StorageOptions) throws(HeartlogError) {
    generation = options.random() | 1
    var writer = ByteWriter(Self.magic)
    writer.u8(Self.version)
    writer.u8(isPending ? 1 : 0)
    writer.u64(generation)
    writer.varint(events.count)
    for event in events { event.write(to: &writer) }
    writer.u64(writer.bytes.withUnsafeBytes { XXH3.hash($0, seed: 0) })
    assert(
      writer.bytes.dropFirst(Self.magic.count + 1).dropLast(Self.checksumBytes).withUnsafeBytes {
        (try? ErasedList($0)) == self
      }, "a list is read as it was written")
    try directory.replaceFile(Self.path(in: directory), with: writer.bytes, suffix: options.random())
  }
}

/// Which events to erase.
package enum ErasureScope: Sendable {
  /// Everything that was written of an item.
  case item(_ id: String, library: String)
  /// These events.
  case events(Set<EventID>)

  /// The commits of a frame that may contain one of the events, and the secrets that cover them.
  func commits(in frame: StoredFrame) -> (commits: [Commit], secrets: [SegmentSecret]) {
    guard case .block(let block) = frame else { return frame.commits ?? ([], []) }
    let indices =
      switch self {
      case .item(let id, let library): block.commitIndices(ofItem: id, in: library)
      case .events(let events):
        block.commitIndices.filter { index in
          let header = block.header(at: index)
          return (header.firstSequence.rawValue..<header.nextSequence.rawValue).contains {
            events.contains(EventID(replica: block.replica, sequence: SequenceNumber(rawValue: $0)))
          }
        }
      }
    var assembly = CommitAssembly(block)
    return (indices.map { assembly.commit(at: $0) }, block.secrets)
  }

  func contains(_ event: Event, _ id: EventID) -> Bool {
    switch self {
    case .item(let item, let library):
      event.item.hasSameBytes(as: item) && event.library.hasSameBytes(as: library)
    case .events(let events): events.contains(id)
    }
  }
}
