import CXXHash

/// Records of a fixed size, numbered from 0, in pages: of a mapped snapshot until they are written to, in memory from then on.
///
/// It is a value: copies share their pages until one of them is written to, which then copies what lies in memory. Growing copies no
/// record, so that no write waits for one. A record of zeros must mean nothing to whoever reads it: that is what a number out of range
/// and a damaged page give.
struct PagedTable<Record: BitwiseCopyable>: @unchecked Sendable {
  /// Pages have a power of two of records, and about this size.
  private static var pageBytesMax: Int { 2_048 }
  @inline(__always) private static var stride: Int { MemoryLayout<Record>.stride }
  @inline(__always) fileprivate static var shift: Int {
    Int.bitWidth - 1 - (pageBytesMax / stride).leadingZeroBitCount
  }
  @inline(__always) fileprivate static var mask: Int { 1 << shift - 1 }
  static var recordsPerPage: Int { 1 << shift }
  /// The records of a page, in bytes.
  static var pageBytes: Int { recordsPerPage * stride }

  private var pages: PageStorage
  /// Where the records lie until the table is written to.
  private(set) var reader: PagedReader<Record>

  @inline(__always) var count: Int { reader.count }

  init() { self.init(zeros: 0) }

  /// A table of `count` records of zeros.
  init(zeros count: Int) {
    let pageCount = (count + Self.mask) >> Self.shift
    pages = PageStorage(
      pageBytes: Self.pageBytes, recordBytes: Self.stride, capacity: pageCount, section: nil)
    reader = PagedReader(pages, count: count)
    for page in 0..<pageCount { pages.makePage(page) }
  }

  /// The records of a snapshot, each page checked when it is first looked at.
  init(_ section: SnapshotSection) {
    pages = PageStorage(
      pageBytes: Self.pageBytes, recordBytes: Self.stride,
      capacity: (section.count + Self.mask) >> Self.shift, section: section)
    reader = PagedReader(pages, count: section.count)
  }

  /// A record; one of zeros where there is none.
  @inline(__always)
  subscript(index: Int) -> Record { reader.read(index).pointee }

  /// Where a record lies until the table is written to.
  @inline(__always)
  func read(_ index: Int) -> UnsafePointer<Record> { reader.read(index) }

  /// Where a record lies that is about to be written, until the table is written to again.
  @inline(__always)
  mutating func write(_ index: Int) -> UnsafeMutablePointer<Record> {
    precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "a record that is not there")
    makeOwnIfShared()
    return writeOwn(index)
  }

  /// Sees to it that this table alone has its pages: until it is copied again, `writeOwn` may be called.
  @inline(__always)
  mutating func makeOwnIfShared() {
    if !isKnownUniquelyReferenced(&pages) { makeOwn() }
  }

  /// `write`, without a look at who else has the table.
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
    // They may lie elsewhere now.
    reader = PagedReader(pages, count: count)
  }

  /// Puts a record in front of those from `index` on.
  mutating func insert(_ record: Record, at index: Int) {
    append(record)
    var place = count - 1
    while place > index {
      write(place).pointee = self[place - 1]
      place -= 1
    }
    write(index).pointee = record
  }

  /// Checks every page of the snapshot, so that no later look can meet a damaged one.
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

/// Where the records of a table lie: a few words, which say so for as long as the table lives and is not written to. A look through it
/// counts no references.
struct PagedReader<Record: BitwiseCopyable>: @unchecked Sendable {
  /// As in the storage.
  fileprivate let pages: UnsafeMutablePointer<UInt>
  private let storage: Unmanaged<PageStorage>
  fileprivate(set) var count: Int

  fileprivate init(_ storage: PageStorage, count: Int) {
    pages = storage.pages
    self.storage = .passUnretained(storage)
    self.count = count
  }

  /// Where a record lies; one of zeros where there is none.
  @inline(__always)
  func read(_ index: Int) -> UnsafePointer<Record> {
    let table = PagedTable<Record>.self
    // Numbers that point nowhere can come from a snapshot alone.
    guard UInt(bitPattern: index) < UInt(bitPattern: count) else {
      return UnsafePointer(Self.records(miss()))
    }
    let word = pages[index >> table.shift]
    let part = (index & table.mask) >> (table.shift - SnapshotSection.partsShift)
    if word & PageStorage.readableBit << UInt(truncatingIfNeeded: part) == 0 { return look(index) }
    return UnsafePointer(Self.records(word) + (index & table.mask))
  }

  /// Has a record brought into the cache that will soon be read, and what is to be checked before.
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

  /// On a page of which that part was not looked at yet, or that has a patch.
  @inline(never)
  private func look(_ index: Int) -> UnsafePointer<Record> {
    let table = PagedTable<Record>.self
    return storage._withUnsafeGuaranteedRef { $0.place(of: index & table.mask, on: index >> table.shift) }
      .assumingMemoryBound(to: Record.self)
  }

  @inline(never)
  private func miss() -> UInt {
    storage._withUnsafeGuaranteedRef { $0.section?.source.noteDamage() }
    return UInt(bitPattern: SnapshotSource.zeros)
  }
}
