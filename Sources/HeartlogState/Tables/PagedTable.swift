import CHeartlogPlatform

/// Fixed-size records, numbered from 0, in pages. A page is read from the mapped snapshot until it is written to, and from memory after
/// that.
///
/// The table is a value. Copies share their pages until one copy is written to; that copy then copies the pages in memory. Growing the
/// table copies no records, so no write stalls. A record of zeros must be harmless to readers: an index out of range or a damaged page
/// reads as zeros.
struct PagedTable<Record: BitwiseCopyable>: @unchecked Sendable {
  /// A page holds a power of two of records and is at most this large.
  private static var pageBytesMax: Int { 2_048 }
  @inline(__always) private static var stride: Int { MemoryLayout<Record>.stride }
  @inline(__always) fileprivate static var shift: Int {
    Int.bitWidth - 1 - (pageBytesMax / stride).leadingZeroBitCount
  }
  @inline(__always) fileprivate static var mask: Int { 1 << shift - 1 }
  static var recordsPerPage: Int { 1 << shift }
  /// The size of a page's records in bytes.
  static var pageBytes: Int { recordsPerPage * stride }

  private var pages: PageStorage
  /// Reads the records. Valid until the table is written to.
  private(set) var reader: PagedReader<Record>

  @inline(__always) var count: Int { reader.count }

  init() { self.init(zeros: 0) }

  /// Creates a table of `count` records of zeros.
  init(zeros count: Int) {
    let pageCount = (count + Self.mask) >> Self.shift
    pages = PageStorage(
      pageBytes: Self.pageBytes, recordBytes: Self.stride, capacity: pageCount, section: nil)
    reader = PagedReader(pages, count: count)
    for page in 0..<pageCount { pages.makePage(page) }
  }

  /// Creates a table of the records of a snapshot. Each page is checked on first access.
  init(_ section: SnapshotSection) {
    pages = PageStorage(
      pageBytes: Self.pageBytes, recordBytes: Self.stride,
      capacity: (section.count + Self.mask) >> Self.shift, section: section)
    reader = PagedReader(pages, count: section.count)
  }

  /// Returns a record; one of zeros if the index is out of range.
  @inline(__always)
  subscript(index: Int) -> Record { reader.read(index).pointee }

  /// Returns the address of a record. Valid until the table is written to.
  @inline(__always)
  func read(_ index: Int) -> UnsafePointer<Record> { reader.read(index) }

  /// Returns the address of a record for writing. Valid until the next write to the table.
  @inline(__always)
  mutating func write(_ index: Int) -> UnsafeMutablePointer<Record> {
    precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "a record that is not there")
    makeOwnIfShared()
    return writeOwn(index)
  }

  /// Makes this table the only owner of its pages. `writeOwn` may then be called until the table is copied.
  @inline(__always)
  mutating func makeOwnIfShared() {
    if !isKnownUniquelyReferenced(&pages) { makeOwn() }
  }

  /// Like `write`, without checking whether the pages are shared.
  @inline(__always)
  mutating func writeOwn(_ index: Int) -> UnsafeMutablePointer<Record> {
    let page = index >> Self.shift
    let word = reader.pages[page]
    if word & PageStorage.ownedBit == 0 {
      return pages.makeWritable(index & Self.mask, on: page).assumingMemoryBound(to: Record.self)
    }
    return PagedReader<Record>.records(word) + (index & Self.mask)
  }

  mutating func append(_ record: Record) {
    makeOwnIfShared()
    let page = count >> Self.shift
    if count & Self.mask == 0 { addPage(page) }
    reader.count += 1
    writeOwn(count - 1).pointee = record
  }

  @inline(never)
  private mutating func addPage(_ page: Int) {
    pages.addPage(page)
    // The page words may have moved.
    reader = PagedReader(pages, count: count)
  }

  /// Inserts a record before those from `index` on.
  mutating func insert(_ record: Record, at index: Int) {
    append(record)
    var moved = count - 1
    while moved > index {
      write(moved).pointee = self[moved - 1]
      moved -= 1
    }
    write(index).pointee = record
  }

  /// Checks every page of the snapshot, so that later reads cannot encounter damage.
  func loadAll() {
    guard pages.section != nil else { return }
    for page in 0..<(count + Self.mask) >> Self.shift { pages.loadAll(page) }
  }

  @inline(never)
  private mutating func makeOwn() {
    pages = pages.copy(pageCount: (count + Self.mask) >> Self.shift)
    reader = PagedReader(pages, count: count)
  }
}

/// Reads the records of a table without reference counting. Valid while the table lives and is not written to.
struct PagedReader<Record: BitwiseCopyable>: @unchecked Sendable {
  /// The page words of the storage.
  fileprivate let pages: UnsafeMutablePointer<UInt>
  private let storage: Unmanaged<PageStorage>
  fileprivate(set) var count: Int

  fileprivate init(_ storage: PageStorage, count: Int) {
    pages = storage.pages
    self.storage = .passUnretained(storage)
    self.count = count
  }

  /// Returns the address of a record; of one of zeros if the index is out of range.
  @inline(__always)
  func read(_ index: Int) -> UnsafePointer<Record> {
    let table = PagedTable<Record>.self
    // Only a malformed snapshot contains indices out of range.
    guard UInt(bitPattern: index) < UInt(bitPattern: count) else {
      return UnsafePointer(Self.records(miss()))
    }
    let word = pages[index >> table.shift]
    let part = (index & table.mask) >> (table.shift - SnapshotSection.partsShift)
    if word & PageStorage.readableBit << UInt(truncatingIfNeeded: part) == 0 { return look(index) }
    return UnsafePointer(Self.records(word) + (index & table.mask))
  }

  /// Prefetches a record that will be read soon, and the checksum if it must be checked first.
  @inline(__always)
  func seek(_ index: Int) {
    let table = PagedTable<Record>.self
    guard UInt(bitPattern: index) < UInt(bitPattern: count) else { return }
    let word = pages[index >> table.shift]
    let part = (index & table.mask) >> (table.shift - SnapshotSection.partsShift)
    if word & PageStorage.readableBit << UInt(truncatingIfNeeded: part) != 0 {
      heartlog_prefetch(Self.records(word) + (index & table.mask))
    } else if word == 0 || word & PageStorage.bits != 0 {
      storage._withUnsafeGuaranteedRef {
        $0.sectionPages?.seek(index >> table.shift, part: part, pageBytes: table.pageBytes)
      }
    }
  }

  @inline(__always)
  fileprivate static func records(_ word: UInt) -> UnsafeMutablePointer<Record> {
    UnsafeMutablePointer(bitPattern: word & ~PageStorage.bits).unsafelyUnwrapped
  }

  /// Reads a record on a page that has patches or a part not yet checked.
  @inline(never)
  private func look(_ index: Int) -> UnsafePointer<Record> {
    let table = PagedTable<Record>.self
    return storage._withUnsafeGuaranteedRef { $0.address(of: index & table.mask, on: index >> table.shift) }
      .assumingMemoryBound(to: Record.self)
  }

  @inline(never)
  private func miss() -> UInt {
    storage._withUnsafeGuaranteedRef { $0.section?.source.noteDamage() }
    return UInt(bitPattern: SnapshotSource.zeros)
  }
}
