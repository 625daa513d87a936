import HeartlogFormat

/// Writes the parts of a snapshot in order, as in docs/format.md.
struct SnapshotWriter {
  /// The offset of a part, of its index if it is packed, and its number of records or bytes.
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
    assert(offset % SnapshotLayout.alignment == 0, "a part may start here")
  }

  /// Writes a table of records, page by page.
  mutating func records<Record: MappedRecord>(
    _ count: Int, _ record: (Int) throws -> Record
  ) throws -> Location {
    assert(Record.isLaidOutAsInFormat, "docs/format.md says where each integer of a record lies")
    assert(offset % SnapshotLayout.alignment == 0, "a part starts at a multiple of the alignment")
    let location = Location(offset: offset, count: count)
    let (perPage, pageBytes) = (PagedTable<Record>.recordsPerPage, PagedTable<Record>.pageBytes)
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageBytes, alignment: 64)
    defer { page.deallocate() }
    var index: [SnapshotPages.Entry] = []
    for first in stride(from: 0, to: count, by: perPage) {
      page.initializeMemory(as: UInt8.self, repeating: 0)
      let used = min(perPage, count - first)
      for number in 0..<used {
        page.storeBytes(
          of: try record(first + number), toByteOffset: number * MemoryLayout<Record>.stride, as: Record.self)
      }
      if Record.isPacked {
        let packed = PagePacking.pack(
          UnsafeRawBufferPointer(page), count: used, stride: MemoryLayout<Record>.stride, Record.columns)
        try append(page: packed, to: &index)
      } else {
        try append(checked: UnsafeRawBufferPointer(page))
      }
    }
    if Record.isPacked { return try end(index, count: count) }
    assert(
      offset - location.offset == SnapshotSection.byteCount(count, of: Record.self),
      "a reader expects a part of this size")
    return location
  }

  /// Writes a page that is read in place, and the checksums of its parts.
  private mutating func append(checked page: UnsafeRawBufferPointer) throws {
    let partBytes = page.count / PageStorage.parts
    let checksums = (0..<PageStorage.parts).map {
      SnapshotSource.checksum(
        UnsafeRawBufferPointer(rebasing: page[$0 * partBytes..<($0 + 1) * partBytes]), seed: seed,
        offset: offset + $0 * partBytes)
    }
    try append(page)
    try checksums.withUnsafeBytes { try append($0) }
  }

  private mutating func append(page: [UInt8], to index: inout [SnapshotPages.Entry]) throws {
    index.append(
      SnapshotPages.Entry(
        offset: offset, byteCount: page.count, hash: page.withUnsafeBytes { XXH3.hash($0, seed: 0) }))
    try append(page)
  }

  /// Writes the index of pages that were written.
  private mutating func end(_ index: [SnapshotPages.Entry], count: Int) throws -> Location {
    try align()
    let location = Location(offset: offset, count: count)
    var bytes = ByteWriter()
    for entry in index {
      let place = offset + bytes.count
      bytes.u64(entry.place)
      bytes.u64(SnapshotSource.checksum(entry.hash, seed: seed, offset: place))
    }
    try append(bytes.bytes)
    try align()
    return location
  }

  /// Writes an existing table.
  mutating func records<Record: MappedRecord>(_ table: PagedTable<Record>) throws -> Location {
    try records(table.count) { table[$0] }
  }

  /// Texts that are being written.
  struct Texts {
    fileprivate var page: [UInt8] = []
    fileprivate var index: [SnapshotPages.Entry] = []
    fileprivate var byteCount = 0
  }

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
    let packed = texts.page.withUnsafeBytes { LZ4.compress($0) }
    try append(page: packed ?? texts.page, to: &texts.index)
    texts.page.removeAll(keepingCapacity: true)
  }

  /// Ends the texts.
  mutating func end(_ texts: inout Texts) throws -> Location {
    if !texts.page.isEmpty { try endPage(of: &texts) }
    return try end(texts.index, count: texts.byteCount)
  }
}

extension ByteWriter {
  mutating func location(_ location: SnapshotWriter.Location) {
    varint(location.offset)
    varint(location.count)
  }
}

/// The frame of a snapshot as in docs/format.md: a header, mapped parts, a directory of them, and a trailer.
///
/// The header identifies the file. The trailer is written last and shows that the file is complete.
enum SnapshotLayout {
  static let magic: [UInt8] = [0x89, 0x48, 0x53, 0x4E, 0x41, 0x50, 0x0D, 0x0A]
  static let version: UInt16 = 7
  /// The alignment of parts, and the length of the header and the trailer.
  static let alignment = 64
  private static let checkedBytes = 56

  static func seed(_ id: (UInt64, UInt64)) -> UInt64 { id.0 ^ id.1 }

  static func header(id: (UInt64, UInt64)) -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(magic)
    writer.u32(UInt32(version))
    writer.u32(0)
    writer.u64(id.0)
    writer.u64(id.1)
    return sealed(writer, seed: 0, offset: 0)
  }

  static func trailer(
    id: (UInt64, UInt64), directory: SnapshotWriter.Location, checksum: UInt64, at offset: Int
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.u64(UInt64(directory.offset))
    writer.u64(UInt64(directory.count))
    writer.u64(checksum)
    writer.u64(UInt64(offset + alignment))
    return sealed(writer, seed: seed(id), offset: offset)
  }

  private static func sealed(_ writer: ByteWriter, seed: UInt64, offset: Int) -> [UInt8] {
    var writer = writer
    writer.raw([UInt8](repeating: 0, count: checkedBytes - writer.count))
    writer.u64(writer.bytes.withUnsafeBytes { SnapshotSource.checksum($0, seed: seed, offset: offset) })
    assert(writer.count == alignment, "the frame of a snapshot is aligned")
    return writer.bytes
  }

  /// The contents of a header and a trailer.
  struct Frame {
    let seed: UInt64
    let directory: UnsafeRawBufferPointer
    let directoryOffset: Int
  }

  /// Returns false only if the header is intact and states another version.
  static func isOfThisVersion(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= alignment, var header = try? unsealed(bytes, at: 0, seed: 0, "header"),
      let found = try? (header.take(8).elementsEqual(magic), header.u32())
    else { return true }
    return !found.0 || found.1 == UInt32(version)
  }

  /// Reads the header and the trailer, and checks the checksum of the directory.
  static func read(_ bytes: UnsafeRawBufferPointer) throws(MalformedError) -> Frame {
    guard bytes.count >= 2 * alignment, bytes.count % alignment == 0 else {
      throw MalformedError("a snapshot that is cut short")
    }
    var header = try unsealed(bytes, at: 0, seed: 0, "header")
    guard try header.take(8).elementsEqual(magic) else { throw MalformedError("no snapshot") }
    let found = try header.u32()
    guard found == UInt32(version) else { throw MalformedError("a snapshot of version \(found)") }
    _ = try header.u32()
    let seed = seed((try header.u64(), try header.u64()))
    let end = bytes.count - alignment
    var trailer = try unsealed(bytes, at: end, seed: seed, "trailer")
    let offset = try trailer.u64()
    let count = try trailer.u64()
    let checksum = try trailer.u64()
    guard try trailer.u64() == UInt64(bytes.count), offset <= UInt64(end), count <= UInt64(end) - offset
    else {
      throw MalformedError("a snapshot whose trailer does not fit it")
    }
    let directory = UnsafeRawBufferPointer(rebasing: bytes[Int(offset)..<Int(offset + count)])
    guard SnapshotSource.checksum(directory, seed: seed, offset: Int(offset)) == checksum else {
      throw MalformedError("a snapshot whose directory is damaged")
    }
    return Frame(seed: seed, directory: directory, directoryOffset: Int(offset))
  }

  private static func unsealed(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, seed: UInt64, _ what: StaticString
  ) throws(MalformedError) -> ByteReader {
    let checked = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + checkedBytes])
    let checksum = bytes.loadUnaligned(fromByteOffset: offset + checkedBytes, as: UInt64.self)
    guard SnapshotSource.checksum(checked, seed: seed, offset: offset) == UInt64(littleEndian: checksum)
    else {
      throw MalformedError("a snapshot whose \(what) is damaged")
    }
    return ByteReader(checked)
  }
}

/// The pages of a table in a snapshot that are read in place. Each is followed by the checksums of its parts.
struct SnapshotSection: Sendable {
  /// The size of the checksums after a page.
  static let checksumBytes = PageStorage.parts * 8

  let source: SnapshotSource
  let offset: Int
  /// The number of records.
  let count: Int

  /// Its pages, without reference counting. Valid while the section lives.
  var pages: Pages { Pages(source: .passUnretained(source), offset: offset) }

  /// Unchecked, because the source is sendable.
  struct Pages: @unchecked Sendable {
    fileprivate let source: Unmanaged<SnapshotSource>
    fileprivate let offset: Int

    private func start(of page: Int, _ pageBytes: Int) -> Int {
      offset + page * (pageBytes + SnapshotSection.checksumBytes)
    }

    /// Returns the address of a page.
    func page(_ number: Int, bytes count: Int) -> UnsafeRawPointer {
      let start = start(of: number, count)
      assert(
        number >= 0 && start % SnapshotLayout.alignment == 0, "pages start at multiples of the alignment")
      let page = source._withUnsafeGuaranteedRef {
        assert(start + count + SnapshotSection.checksumBytes <= $0.bytes.count, "a page lies in its snapshot")
        return UnsafeRawBufferPointer(rebasing: $0.bytes[start..<start + count])
      }
      guard let base = page.baseAddress else { preconditionFailure("a page has bytes") }
      return base
    }

    /// Prefetches a part of a page and its checksum.
    func seek(_ number: Int, part: Int, pageBytes: Int) {
      let page = page(number, bytes: pageBytes)
      let partBytes = pageBytes / PageStorage.parts
      Prefetch.lines(partBytes / Prefetch.lineBytes, at: page + part * partBytes)
      Prefetch.lines(1, at: page + pageBytes)
    }

    /// Returns whether the checksum of a part of a page matches. Records the damage if not.
    func holds(_ number: Int, part: Int, pageBytes: Int) -> Bool {
      let start = start(of: number, pageBytes)
      let partBytes = pageBytes / PageStorage.parts
      return source._withUnsafeGuaranteedRef { source in
        assert(
          start + pageBytes + SnapshotSection.checksumBytes <= source.bytes.count,
          "a page lies in its snapshot")
        let checksum = source.bytes.load(fromByteOffset: start + pageBytes + part * 8, as: UInt64.self)
        let first = start + part * partBytes
        let records = UnsafeRawBufferPointer(rebasing: source.bytes[first..<first + partBytes])
        if checksum == SnapshotSource.checksum(records, seed: source.seed, offset: first) { return true }
        source.noteDamage()
        return false
      }
    }
  }

  /// Returns the size of a section in bytes.
  static func byteCount<Record: BitwiseCopyable>(_ count: Int, of type: Record.Type) -> Int {
    let table = PagedTable<Record>.self
    return table.pageCount(count) * (table.pageBytes + checksumBytes)
  }
}
