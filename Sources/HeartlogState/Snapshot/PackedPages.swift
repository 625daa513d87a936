import CHeartlogPlatform
import HeartlogFormat

/// An integer of a record.
struct PackedColumn: BitwiseCopyable {
  let offset: Int
  /// 1, 4 or 8.
  let byteCount: Int
}

/// Packs the records of a page, as in docs/format.md: the integers of a column lie near each other, so each is stored as the difference from
/// the least of them, in as many bytes as the greatest difference needs. All rows are equally long, so that any record can be read alone.
enum PagePacking {
  private static let widthMask: UInt8 = 0xF
  private static let widthMax = 8
  private static let shiftMask: UInt8 = 0x70
  private static let baseBit: UInt8 = 0x80

  /// Returns the packed form of records, each `stride` bytes after the one before.
  static func pack(
    _ records: UnsafeRawBufferPointer, count: Int, stride: Int, _ columns: [PackedColumn]
  ) -> [UInt8] {
    assert(count > 0 && records.count >= count * stride, "a page has records")
    var page: [UInt8] = [0]
    var bases: [UInt8] = []
    var differing: [(column: PackedColumn, base: UInt64, shift: UInt64, width: Int)] = []
    for column in columns {
      var least = UInt64.max
      for index in 0..<count { least = min(least, load(column, from: records, at: index * stride)) }
      var differences: UInt64 = 0
      for index in 0..<count { differences |= load(column, from: records, at: index * stride) - least }
      // Zero bytes below: the stamps of writes at different moments.
      let shift = differences == 0 ? 0 : UInt64(differences.trailingZeroBitCount / 8 * 8)
      let width = (UInt64.bitWidth - (differences >> shift).leadingZeroBitCount + 7) / 8
      page.append(UInt8(width) | UInt8(shift / 8) << 4 | (least == 0 ? 0 : baseBit))
      if least != 0 { append(least, column.byteCount, to: &bases) }
      if width > 0 { differing.append((column, least, shift, width)) }
      page[0] += UInt8(width)
    }
    page += bases
    page.reserveCapacity(page.count + count * Int(page[0]))
    for index in 0..<count {
      for (column, base, shift, width) in differing {
        append((load(column, from: records, at: index * stride) - base) >> shift, width, to: &page)
      }
    }
    return page
  }

  private static func append(_ value: UInt64, _ count: Int, to bytes: inout [UInt8]) {
    for byte in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * byte))) }
  }

  private static func load(
    _ column: PackedColumn, from bytes: UnsafeRawBufferPointer, at offset: Int
  ) -> UInt64 {
    let offset = offset + column.offset
    return switch column.byteCount {
    case 8: bytes.load(fromByteOffset: offset, as: UInt64.self)
    case 4: UInt64(bytes.load(fromByteOffset: offset, as: UInt32.self))
    default: UInt64(bytes[offset])
    }
  }

  /// Unpacks some records of a page.
  ///
  /// - Parameters:
  ///   - packed: the page of a snapshot, of `count` records. At least eight bytes follow that may be read.
  ///   - target: the memory of the first of the records, zeros.
  /// - Returns: false if this is no such page. The records then have no meaning.
  static func unpack(
    _ packed: UnsafeRawBufferPointer, count: Int, _ records: Range<Int>, stride: Int,
    _ columns: UnsafeBufferPointer<PackedColumn>, into target: UnsafeMutableRawPointer
  ) -> Bool {
    assert(records.lowerBound >= 0 && records.upperBound <= count, "the page has the records")
    guard let start = packed.baseAddress, packed.count > columns.count else { return false }
    let rowBytes = Int(start.load(as: UInt8.self))
    guard 1 + columns.count + count * rowBytes <= packed.count else { return false }
    let rows = start + packed.count - count * rowBytes
    var base = start + 1 + columns.count
    var source = rows + records.lowerBound * rowBytes
    let rowEnd = source + rowBytes
    for index in 0..<columns.count {
      let kind = start.load(fromByteOffset: 1 &+ index, as: UInt8.self)
      if kind == 0 { continue }
      let column = columns[index]
      var least: UInt64 = 0
      if kind & baseBit != 0 {
        least = UInt64(littleEndian: base.loadUnaligned(as: UInt64.self))
        base += column.byteCount
      }
      let width = Int(truncatingIfNeeded: kind & widthMask)
      // Bases lie before the rows, and the integers of a row within it. At most eight bytes of others were read.
      guard width <= widthMax, base <= rows, source + width <= rowEnd else { return false }
      let integers = PackedIntegers(
        source: source, rowBytes: rowBytes, mask: width == 0 ? 0 : .max &>> UInt64(64 &- 8 &* width),
        shift: UInt64(truncatingIfNeeded: kind & shiftMask) &>> 1, base: least,
        target: target + column.offset, stride: stride, count: records.count)
      switch column.byteCount {
      case 8: integers.unpack(UInt64.self)
      case 4: integers.unpack(UInt32.self)
      default: integers.unpack(UInt8.self)
      }
      source += width
    }
    return base == rows && source == rowEnd
  }

  /// The integers of a column in consecutive rows.
  private struct PackedIntegers {
    let source: UnsafeRawPointer
    let rowBytes: Int
    let mask: UInt64
    /// In bits.
    let shift: UInt64
    let base: UInt64
    let target: UnsafeMutableRawPointer
    let stride: Int
    let count: Int

    @inline(__always)
    func unpack<Integer: FixedWidthInteger & BitwiseCopyable>(_ type: Integer.Type) {
      var (source, target) = (source, target)
      for _ in 0..<count {
        let stored = UInt64(littleEndian: source.loadUnaligned(as: UInt64.self)) & mask
        target.storeBytes(of: Integer(truncatingIfNeeded: base &+ stored &<< shift), as: Integer.self)
        source += rowBytes
        target += stride
      }
    }
  }
}

/// The pages of a part of a snapshot as they are stored, and the index that says where each lies.
struct SnapshotPages {
  /// What the index says of a page.
  struct Entry {
    /// Its offset in the low 48 bits, its size in the others.
    let place: UInt64
    /// XXH3-64 of its bytes. In its checksum the place of the entry counts, so that it is valid for no other page.
    let hash: UInt64

    init(offset: Int, byteCount: Int, hash: UInt64) {
      assert(
        offset >> Int(sizeShift) == 0 && byteCount < 1 << 16, "an entry has room for the place of a page")
      place = UInt64(offset) | UInt64(byteCount) << sizeShift
      self.hash = hash
    }
  }

  /// The size of an entry: its place and its checksum.
  static let indexBytes = 16
  private static let sizeShift: UInt64 = 48

  // Unowned, to avoid reference counting: whoever has the pages keeps the source.
  private unowned(unsafe) let source: SnapshotSource
  private let index: Int
  let count: Int

  /// - Parameter index: the offset of the part's index.
  init(_ source: SnapshotSource, index: Int, count: Int) {
    self.source = source
    self.index = index
    self.count = count
  }

  /// Returns the bytes of a page; nil if they are damaged, which is noted.
  ///
  /// - Parameter isChecked: whether they were found undamaged before.
  @inline(__always)
  func bytes(of page: Int, isChecked: Bool) -> UnsafeRawBufferPointer? {
    assert(page >= 0 && page < count, "the part has the page")
    let entry = index + page * Self.indexBytes
    let (offset, count) = Self.place(source.bytes.load(fromByteOffset: entry, as: UInt64.self))
    // The trailer follows, so a few more bytes can be read.
    let end = source.bytes.count - SnapshotLayout.alignment
    guard offset <= end, count <= end - offset else {
      source.noteDamage()
      return nil
    }
    let bytes = UnsafeRawBufferPointer(rebasing: source.bytes[offset..<offset + count])
    let checksum = source.bytes.load(fromByteOffset: entry + 8, as: UInt64.self)
    guard isChecked || checksum == SnapshotSource.checksum(bytes, seed: source.seed, offset: entry) else {
      source.noteDamage()
      return nil
    }
    return bytes
  }

  private static func place(_ entry: UInt64) -> (offset: Int, count: Int) {
    (Int(entry & (1 << sizeShift - 1)), Int(entry >> sizeShift))
  }

  /// Prefetches the beginning of a page, and what is as far into it as a part of `parts`.
  @inline(__always)
  func seek(_ page: Int, part: Int, of parts: Int) {
    let entry = source.bytes.load(fromByteOffset: index + page * Self.indexBytes, as: UInt64.self)
    let (offset, count) = Self.place(entry)
    guard let base = source.bytes.baseAddress else { return }
    Prefetch.lines(2, at: base + offset)
    Prefetch.lines(2, at: base + offset + count * part / parts)
  }
}

/// The packed records of a snapshot.
final class PackedRecords {
  let source: SnapshotSource
  private let pages: SnapshotPages
  let count: Int
  private let perPage: Int
  private let stride: Int
  private let columns: UnsafeBufferPointer<PackedColumn>
  /// Has unpacked pages. Copies of a table share them.
  private let memory: Slabs

  /// - Parameters:
  ///   - index: the offset of the index of their pages.
  ///   - count: the number of records.
  init<Record: MappedRecord>(_ source: SnapshotSource, index: Int, count: Int, of type: Record.Type) {
    let table = PagedTable<Record>.self
    self.source = source
    self.count = count
    perPage = table.recordsPerPage
    stride = MemoryLayout<Record>.stride
    pages = SnapshotPages(source, index: index, count: table.pageCount(count))
    let columns = Record.columns
    let copy = UnsafeMutableBufferPointer<PackedColumn>.allocate(capacity: columns.count)
    _ = copy.initialize(from: columns)
    self.columns = UnsafeBufferPointer(copy)
    memory = Slabs(pageBytes: table.pageBytes)
  }

  deinit { columns.deallocate() }

  /// Unpacks a page to memory that all copies of the table share. Returns its address; nil if it is damaged, which is noted.
  func page(_ page: Int, isChecked: Bool) -> UnsafeMutableRawPointer? {
    let unpacked = memory.allocate(perPage * stride)
    return unpackAll(page, isChecked: isChecked, into: unpacked) ? unpacked : nil
  }

  @discardableResult
  func unpackAll(_ page: Int, isChecked: Bool, into target: UnsafeMutableRawPointer) -> Bool {
    unpack(0..<perPage, of: page, isChecked: isChecked, into: target)
  }

  /// Unpacks some records of a page.
  ///
  /// - Parameters:
  ///   - isChecked: whether the page was found undamaged before.
  ///   - target: the memory of the first of the records.
  /// - Returns: false if the page is damaged, which is noted.
  func unpack(
    _ records: Range<Int>, of page: Int, isChecked: Bool, into target: UnsafeMutableRawPointer
  ) -> Bool {
    target.initializeMemory(as: UInt8.self, repeating: 0, count: records.count * stride)
    guard let packed = pages.bytes(of: page, isChecked: isChecked) else { return false }
    let onPage = min(perPage, count - page * perPage)
    let used = min(records.lowerBound, onPage)..<min(records.upperBound, onPage)
    guard PagePacking.unpack(packed, count: onPage, used, stride: stride, columns, into: target) else {
      source.noteDamage()
      return false
    }
    return true
  }

  /// Prefetches what a record is unpacked from.
  @inline(__always)
  func seek(_ record: Int, on page: Int) { pages.seek(page, part: record, of: perPage) }
}

/// The texts of a snapshot: one run of bytes, of which pages are decompressed on first access.
final class MappedTexts: @unchecked Sendable {
  static let pageBytes = 4_096

  private let source: SnapshotSource
  private let pages: SnapshotPages
  let byteCount: Int
  /// The texts; allocated with the first page, under the snapshot's lock.
  private var memory: ZeroedMemory?
  // Unchecked, because a dynamic exclusivity check for each text would be too slow.
  @exclusivity(unchecked) private var start: UnsafeMutableRawPointer?
  /// One bit per page: whether it was decompressed.
  private let readable: UnsafeMutablePointer<UInt64>

  init(_ source: SnapshotSource, index: Int, byteCount: Int) {
    self.source = source
    pages = SnapshotPages(source, index: index, count: Self.pageCount(byteCount))
    self.byteCount = byteCount
    readable = .allocate(capacity: pages.count / UInt64.bitWidth + 1)
    readable.initialize(repeating: 0, count: pages.count / UInt64.bitWidth + 1)
  }

  deinit { readable.deallocate() }

  static func pageCount(_ byteCount: Int) -> Int { (byteCount + pageBytes - 1) / pageBytes }

  @inline(__always)
  private func isReadable(_ page: Int) -> Bool {
    heartlog_load_acquire(readable + page / UInt64.bitWidth) >> UInt64(page % UInt64.bitWidth) & 1 != 0
  }

  /// Returns a text; empty if there is none, or if one of its pages is damaged.
  func bytes(_ offset: Int, count: Int) -> UnsafeRawBufferPointer {
    guard offset >= 0, count > 0, count <= byteCount, offset <= byteCount - count else {
      if count != 0 { noteDamage() }
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    let last = (offset + count - 1) / Self.pageBytes
    var page = offset / Self.pageBytes
    while page <= last {
      guard isReadable(page) || decompress(page) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
      page += 1
    }
    return UnsafeRawBufferPointer(start: start.unsafelyUnwrapped + offset, count: count)
  }

  /// Prefetches the texts at an offset, or what they are decompressed from. Ignores an offset out of range.
  func seek(_ offset: Int) {
    guard offset >= 0, offset < byteCount else { return }
    let page = offset / Self.pageBytes
    if isReadable(page) {
      Prefetch.lines(3, at: start.unsafelyUnwrapped + offset)
    } else {
      pages.seek(page, part: 0, of: 1)
    }
  }

  @inline(never)
  private func decompress(_ page: Int) -> Bool {
    source.unpacking.withLock { _ in isReadable(page) || decompressAlone(page) }
  }

  private func decompressAlone(_ page: Int) -> Bool {
    guard let packed = pages.bytes(of: page, isChecked: false) else { return false }
    if memory == nil {
      memory = ZeroedMemory(byteCount: byteCount)
      start = memory?.start
    }
    guard let start else {
      // Only a malformed snapshot has more texts than there can be memory for.
      noteDamage()
      return false
    }
    let offset = page * Self.pageBytes
    let room = UnsafeMutableRawBufferPointer(
      start: start + offset, count: min(Self.pageBytes, byteCount - offset))
    if packed.count == room.count {
      room.copyMemory(from: packed)
    } else if (try? LZ4.decompress(packed, into: room)) == nil {
      noteDamage()
      return false
    }
    let word = page / UInt64.bitWidth
    heartlog_store_release(readable + word, readable[word] | 1 << UInt64(page % UInt64.bitWidth))
    return true
  }

  func noteDamage() { source.noteDamage() }

  func loadAll() {
    for page in 0..<pages.count where !isReadable(page) && !source.isDamaged { _ = decompress(page) }
  }
}
