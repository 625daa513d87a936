import HeartlogFormat

/// Writes the parts of a snapshot in order, as in docs/format.md.
struct SnapshotWriter {
  /// The offset of a part, and its number of records or bytes.
  struct Location {
    let offset: Int
    let count: Int
  }

  private let write: (UnsafeRawBufferPointer) throws -> Void
  let id: (UInt64, UInt64)
  private(set) var offset = 0
  private var buffer: [UInt8] = []
  private static let bufferBytes = 1 << 18

  /// - Parameters:
  ///   - id: the random id of this snapshot.
  ///   - write: receives the bytes, piece by piece.
  init(id: (UInt64, UInt64), _ write: @escaping (UnsafeRawBufferPointer) throws -> Void) {
    self.id = id
    self.write = write
    buffer.reserveCapacity(Self.bufferBytes)
  }

  var seed: UInt64 { SnapshotLayout.seed(id) }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
    buffer.append(contentsOf: bytes)
    offset += bytes.count
    if buffer.count >= Self.bufferBytes { try flush() }
  }

  mutating func append(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try append($0) } }

  mutating func flush() throws {
    try buffer.withUnsafeBytes { if $0.count > 0 { try write($0) } }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes zeros up to the next offset at which a part may start.
  mutating func align() throws {
    try append([UInt8](repeating: 0, count: -offset & (SnapshotLayout.alignment - 1)))
  }

  /// Writes a table of records, page by page.
  mutating func records<Record: MappedRecord>(
    _ count: Int, _ record: (Int) throws -> Record
  ) throws -> Location {
    assert(Record.isLaidOutAsInFormat, "docs/format.md says where each integer of a record lies")
    let location = Location(offset: offset, count: count)
    let perPage = PagedTable<Record>.recordsPerPage
    let pageBytes = PagedTable<Record>.pageBytes
    let page = UnsafeMutableRawBufferPointer.allocate(
      byteCount: pageBytes + SnapshotSection.checksumBytes, alignment: 64)
    defer { page.deallocate() }
    for first in stride(from: 0, to: count, by: perPage) {
      page.initializeMemory(as: UInt8.self, repeating: 0)
      for index in first..<min(first + perPage, count) {
        page.storeBytes(
          of: try record(index), toByteOffset: (index - first) * MemoryLayout<Record>.stride, as: Record.self)
      }
      let partBytes = pageBytes / SnapshotSection.parts
      for part in 0..<SnapshotSection.parts {
        let start = part * partBytes
        let records = UnsafeRawBufferPointer(rebasing: page[start..<start + partBytes])
        page.storeBytes(
          of: SnapshotSource.checksum(records, seed: seed, offset: offset + start),
          toByteOffset: pageBytes + part * 8, as: UInt64.self)
      }
      try append(UnsafeRawBufferPointer(page))
    }
    return location
  }

  /// Writes an existing table.
  mutating func records<Record: MappedRecord>(_ table: PagedTable<Record>) throws -> Location {
    try records(table.count) { table[$0] }
  }

  /// Texts that are being written.
  struct Texts {
    fileprivate var page: [UInt8] = []
    fileprivate var checksums: [UInt64] = []
    fileprivate let offset: Int
    fileprivate var byteCount = 0
  }

  func beginTexts() -> Texts { Texts(offset: offset) }

  mutating func append(_ text: UnsafeRawBufferPointer, to texts: inout Texts) throws {
    var rest = text[...]
    while !rest.isEmpty {
      let part = rest.prefix(MappedTexts.pageBytes - texts.page.count)
      texts.page.append(contentsOf: part)
      rest = rest.dropFirst(part.count)
      if texts.page.count == MappedTexts.pageBytes { try endPage(of: &texts) }
    }
    texts.byteCount += text.count
  }

  private mutating func endPage(of texts: inout Texts) throws {
    let seed = seed
    let start = offset
    texts.checksums.append(
      texts.page.withUnsafeBytes { SnapshotSource.checksum($0, seed: seed, offset: start) })
    try append(texts.page)
    texts.page.removeAll(keepingCapacity: true)
  }

  /// Ends the texts. Returns their location, and that of the checksums of their pages, which follow them.
  mutating func end(_ texts: inout Texts) throws -> (texts: Location, checksums: Location) {
    if !texts.page.isEmpty { try endPage(of: &texts) }
    try align()
    let checksums = texts.checksums
    return (
      Location(offset: texts.offset, count: texts.byteCount), try records(checksums.count) { checksums[$0] }
    )
  }
}

extension ByteWriter {
  mutating func location(_ location: SnapshotWriter.Location) {
    varint(location.offset)
    varint(location.count)
  }
}
