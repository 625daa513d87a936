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
    assert(offset % SnapshotLayout.alignment == 0, "a part may start here")
  }

  /// Writes a table of records, page by page.
  mutating func records<Record: MappedRecord>(
    _ count: Int, _ record: (Int) throws -> Record
  ) throws -> Location {
    assert(Record.isLaidOutAsInFormat, "docs/format.md says where each integer of a record lies")
    assert(offset % SnapshotLayout.alignment == 0, "a part starts at a multiple of the alignment")
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
    assert(
      offset - location.offset == SnapshotSection.byteCount(count, of: Record.self),
      "a reader expects a part of this size")
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
    assert(!texts.page.isEmpty && texts.page.count <= MappedTexts.pageBytes, "a page of texts has bytes")
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
    assert(offset == texts.offset + texts.byteCount, "texts lie one behind the other")
    assert(
      texts.checksums.count == (texts.byteCount + MappedTexts.pageBytes - 1) / MappedTexts.pageBytes,
      "each page of texts has a checksum")
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

/// The frame of a snapshot as in docs/format.md: a header, mapped parts, a directory of them, and a trailer.
///
/// The header identifies the file. The trailer is written last and shows that the file is complete.
enum SnapshotLayout {
  static let magic: [UInt8] = [0x89, 0x48, 0x53, 0x4E, 0x41, 0x50, 0x0D, 0x0A]
  static let version: UInt16 = 6
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

/// The location of a table's pages in a snapshot. Each page is followed by the checksums of its parts.
struct SnapshotSection: Sendable {
  /// A page is checked in this many parts of equal size, so that reading one record checks only one part.
  static let parts = 1 << partsShift
  static let partsShift = 3
  /// The size of the checksums after a page.
  static let checksumBytes = parts * 8

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
      let partBytes = pageBytes / SnapshotSection.parts
      Prefetch.lines(partBytes / Prefetch.lineBytes, at: page + part * partBytes)
      Prefetch.lines(1, at: page + pageBytes)
    }

    /// Returns whether the checksum of a part of a page matches. Records the damage if not.
    func holds(_ number: Int, part: Int, pageBytes: Int) -> Bool {
      let start = start(of: number, pageBytes)
      let partBytes = pageBytes / SnapshotSection.parts
      return source._withUnsafeGuaranteedRef { source in
        assert(
          start + pageBytes + SnapshotSection.checksumBytes <= source.bytes.count,
          "a page lies in its snapshot")
        let checksum = source.bytes.load(fromByteOffset: start + pageBytes + part * 8, as: UInt64.self)
        if source.holds(start + part * partBytes, partBytes, checksum: checksum) { return true }
        source.noteDamage()
        return false
      }
    }
  }

  /// Returns the size of a section in bytes.
  static func byteCount<Record: BitwiseCopyable>(_ count: Int, of type: Record.Type) -> Int {
    let table = PagedTable<Record>.self
    return (count + table.recordsPerPage - 1) / table.recordsPerPage * (table.pageBytes + checksumBytes)
  }
}

/// The texts of a snapshot: one run of bytes, with a checksum per page.
final class MappedTexts: @unchecked Sendable {
  static let pageBytes = 4_096

  private let source: SnapshotSource
  private let offset: Int
  let byteCount: Int
  private let checksums: PagedTable<UInt64>
  /// One bit per page: whether its checksum was verified. Bits rather than bytes, because all are cleared on opening.
  private let checked: UnsafeMutableBufferPointer<UInt64>

  init(_ source: SnapshotSource, offset: Int, byteCount: Int, checksums: PagedTable<UInt64>) {
    assert(
      offset >= 0 && byteCount >= 0 && offset + byteCount <= source.bytes.count,
      "the texts lie in their snapshot")
    self.source = source
    self.offset = offset
    self.byteCount = byteCount
    self.checksums = checksums
    checked = .allocate(capacity: byteCount / Self.pageBytes / UInt64.bitWidth + 1)
    checked.initialize(repeating: 0)
  }

  deinit { checked.deallocate() }

  @inline(__always)
  private func isChecked(_ page: Int) -> Bool {
    checked[page / UInt64.bitWidth] >> UInt64(page % UInt64.bitWidth) & 1 != 0
  }

  /// Returns a text whose pages match their checksums; empty if they do not.
  func bytes(_ start: Int, count: Int) -> UnsafeRawBufferPointer {
    guard start >= 0, count > 0, count <= byteCount, start <= byteCount - count else {
      if count != 0 { source.noteDamage() }
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    let last = (start + count - 1) / Self.pageBytes
    var page = start / Self.pageBytes
    while page <= last {
      guard isChecked(page) || check(page) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
      page += 1
    }
    return UnsafeRawBufferPointer(rebasing: source.bytes[offset + start..<offset + start + count])
  }

  /// Prefetches the texts at an offset. Ignores an offset out of range.
  func seek(_ start: Int) {
    guard start >= 0, start < byteCount, let base = source.bytes.baseAddress else { return }
    Prefetch.lines(3, at: base + offset + start)
  }

  @inline(never)
  private func check(_ page: Int) -> Bool {
    assert(page >= 0 && page * Self.pageBytes < byteCount, "the texts have the page")
    let start = page * Self.pageBytes
    let count = min(Self.pageBytes, byteCount - start)
    guard source.holds(offset + start, count, checksum: checksums[page]) else {
      source.noteDamage()
      return false
    }
    checked[page / UInt64.bitWidth] |= 1 << UInt64(page % UInt64.bitWidth)
    return true
  }

  func noteDamage() { source.noteDamage() }

  func loadAll() {
    checksums.loadAll()
    for page in 0..<(byteCount + Self.pageBytes - 1) / Self.pageBytes where !isChecked(page) {
      _ = check(page)
    }
  }
}
