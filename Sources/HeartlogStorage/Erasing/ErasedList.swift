import HeartlogFormat
import HeartlogFiles

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
    guard let bytes = try directory.contents(of: path) else { return ErasedList() }
    let damaged = ErasedList(isPending: true)
    guard bytes.count > magic.count + checksumBytes, bytes.starts(with: magic) else { return damaged }
    let end = bytes.count - checksumBytes
    let isWhole = bytes.withUnsafeBytes { bytes in
      Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[..<end]), seed: 0)
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
    writer.u64(writer.bytes.withUnsafeBytes { Checksum.of($0, seed: 0) })
    try directory.replaceFile(
      Self.path(in: directory), with: writer.bytes, in: directory.path, suffix: options.random())
  }
}
