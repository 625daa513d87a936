import CHeartlogPlatform

/// The pages of a table: those of its snapshot, and those in memory, which are freed with the last copy of the table.
///
/// The pages of a snapshot are read in place, and checked in parts, each on first access; or they are packed. If few records of a packed
/// page are read or written, only these are unpacked (`PagePatch`): the writes after a snapshot are scattered, and touching new memory costs
/// more than everything else about them.
///
/// Several threads may read, or one may write.
final class PageStorage {
  /// A page that is read in place is checked in this many parts of equal size, so that reading one record checks only one part.
  static let parts = 1 << partsShift
  static let partsShift = 3
  /// Set in the word of a page in memory that only one table has. That table may write to it.
  static let ownedBit: UInt = 1
  /// Set in the word of a page without patches if its first part may be read. The next higher bits say the same of its other parts. They
  /// lie above the address, which has 48 bits unless a process asks the system for more.
  static let readableBit: UInt = 1 << 48
  private static let allReadable = readableBit * (1 << UInt(parts) - 1)
  static let bits = ownedBit | allReadable

  /// One word per page: the address of the page with bits; or the address of its newest patch without bits; or 0 for a snapshot page that
  /// was not read yet.
  // What reading changes of a packed page is changed under the snapshot's lock, and published. Unchecked, because a dynamic exclusivity
  // check for each page would be too slow.
  @exclusivity(unchecked) private(set) var pages: UnsafeMutablePointer<UInt>
  let section: SnapshotSection?
  let sectionPages: SnapshotSection.Pages?
  let packed: PackedRecords?
  private let pageBytes: Int
  private let recordBytes: Int
  private var capacity: Int
  private var words: ZeroedMemory
  private let memory: Slabs

  init(
    pageBytes: Int, recordBytes: Int, capacity: Int, section: SnapshotSection? = nil,
    packed: PackedRecords? = nil
  ) {
    assert(pageBytes % 64 == 0 && pageBytes % recordBytes == 0, "a page has whole records and cache lines")
    self.pageBytes = pageBytes
    self.recordBytes = recordBytes
    self.capacity = max(1, capacity)
    self.section = section
    self.packed = packed
    sectionPages = section?.pages
    (words, pages) = Self.zeroed(self.capacity)
    memory = Slabs(pageBytes: pageBytes)
  }

  private static func zeroed(_ count: Int) -> (ZeroedMemory, UnsafeMutablePointer<UInt>) {
    guard let words = ZeroedMemory(byteCount: count * MemoryLayout<UInt>.stride) else {
      preconditionFailure("out of memory")
    }
    return (words, words.start.bindMemory(to: UInt.self, capacity: count))
  }

  /// Allocates a page of zeros.
  func makePage(_ page: Int) {
    UnsafeMutableRawPointer(bitPattern: addPage(page))?
      .initializeMemory(as: UInt8.self, repeating: 0, count: pageBytes)
  }

  /// Allocates a page. The caller must write all of it before reading it.
  @discardableResult
  func addPage(_ page: Int) -> UInt {
    if page >= capacity { grow(to: page + 1) }
    let memory = memory.allocate(pageBytes)
    assert(
      page < capacity && UInt(bitPattern: memory) & Self.bits == 0, "an address leaves room for the bits")
    pages[page] = Self.word(memory)
    return UInt(bitPattern: memory)
  }

  private static func word(_ page: UnsafeMutableRawPointer) -> UInt { UInt(bitPattern: page) | bits }

  private func grow(to wanted: Int) {
    assert(wanted > capacity, "the words grow for a page that has none")
    let larger = max(wanted, capacity * 2)
    let (newWords, newPages) = Self.zeroed(larger)
    newPages.update(from: pages, count: capacity)
    (words, pages) = (newWords, newPages)
    capacity = larger
  }

  /// Checks a part of a snapshot page. Returns the page's word with the part marked as readable, or that of a page of zeros if the part is
  /// damaged.
  ///
  /// - Parameter word: the current word of the page; 0 if it was not read yet.
  private func readable(_ word: UInt, _ page: Int, part: Int) -> UInt {
    guard let sectionPages else { preconditionFailure("a page that was never made") }
    assert(word == 0 || word & Self.bits != 0, "the word is that of a page")
    let bit = Self.readableBit << UInt(part)
    if word & bit != 0 { return word }
    guard sectionPages.holds(page, part: part, pageBytes: pageBytes) else { return Self.zeros }
    return (word == 0 ? UInt(bitPattern: sectionPages.page(page, bytes: pageBytes)) : word) | bit
  }

  /// The word of a damaged page.
  private static var zeros: UInt { UInt(bitPattern: SnapshotSource.zeros) | allReadable }

  /// Unpacks a whole page, which replaces the patches that were only read.
  private func unpack(_ page: Int, from packed: PackedRecords) {
    var word = Self.zeros
    if let unpacked = packed.page(page, isChecked: pages[page] != 0) {
      word = UInt(bitPattern: unpacked) | Self.allReadable
    }
    var written: [PagePatch] = []
    var next = Self.patch(pages[page])
    while let patch = next {
      if patch.isWritten(recordBytes) { written.append(patch) }
      next = Self.patch(patch.next(recordBytes))
    }
    // In their order and from the last on, so that a thread that follows them meanwhile misses none.
    for (index, patch) in written.reversed().enumerated() {
      patch.link(to: word, recordBytes, count: index + 1)
      word = UInt(bitPattern: patch.memory)
    }
    (pages + page).publish(word)
  }

  /// Unpacks one record of a packed page to a patch. Returns false if the page has many patches, or its records are read one after the other,
  /// or it is damaged.
  private func unpackPatch(of record: Int, on page: Int, from packed: PackedRecords) -> Bool {
    let last = Self.patch(pages[page])
    let count = last?.count(recordBytes) ?? 0
    guard count < PagePatch.readCountMax, last?.record(recordBytes) != record - 1 else { return false }
    let memory = memory.allocate(PagePatch.byteCount(recordBytes))
    guard packed.unpack(record..<record + 1, of: page, isChecked: pages[page] != 0, into: memory) else {
      return false
    }
    _ = PagePatch(memory, of: record, recordBytes, count: count + 1, next: pages[page])
    (pages + page).publish(UInt(bitPattern: memory))
    return true
  }

  private func part(of record: Int) -> Int { record * recordBytes * Self.parts / pageBytes }

  private static func address(_ word: UInt) -> UnsafeMutableRawPointer {
    guard let address = UnsafeMutableRawPointer(bitPattern: word & ~bits) else {
      preconditionFailure("a page lies somewhere")
    }
    return address
  }

  /// Returns the patch that a word points to; nil if it points to a page.
  private static func patch(_ word: UInt) -> PagePatch? {
    word == 0 || word & bits != 0 ? nil : PagePatch(memory: address(word))
  }

  /// Returns the patch for a record of a page; nil if there is none.
  private func patch(of record: Int, on page: Int) -> PagePatch? {
    var next = Self.patch(pages[page])
    while let patch = next, patch.record(recordBytes) != record { next = Self.patch(patch.next(recordBytes)) }
    return next
  }

  /// Returns the location of the word with a page's address and bits, at the end of its chain of patches.
  private func wordPointer(of page: Int) -> UnsafeMutablePointer<UInt> {
    var pointer = pages + page
    while let patch = Self.patch(pointer.pointee) { pointer = patch.nextPointer(recordBytes) }
    return pointer
  }

  /// Returns the address of a record on a page that has patches, or parts not yet checked, or is packed.
  @inline(never)
  func address(of record: Int, on page: Int) -> UnsafeRawPointer {
    if let patch = patch(of: record, on: page) { return UnsafeRawPointer(patch.memory) }
    var word = wordPointer(of: page).pointee
    let part = part(of: record)
    if word & Self.readableBit << UInt(part) == 0 {
      if let packed { return unpacked(record, on: page, from: packed) }
      word = readable(word, page, part: part)
      pages[page] = word
    }
    return UnsafeRawPointer(Self.address(word)) + record * recordBytes
  }

  private func unpacked(_ record: Int, on page: Int, from packed: PackedRecords) -> UnsafeRawPointer {
    packed.source.unpacking.withLock { _ in
      // Another thread may have unpacked it since.
      guard patch(of: record, on: page) == nil, wordPointer(of: page).pointee == 0,
        !unpackPatch(of: record, on: page, from: packed)
      else { return }
      unpack(page, from: packed)
    }
    if let patch = patch(of: record, on: page) { return UnsafeRawPointer(patch.memory) }
    return UnsafeRawPointer(Self.address(wordPointer(of: page).pointee)) + record * recordBytes
  }

  /// Makes a record writable: copies it from the snapshot to memory unless that was done before.
  @inline(never)
  func makeWritable(_ record: Int, on page: Int) -> UnsafeMutableRawPointer {
    assert(record >= 0 && (record + 1) * recordBytes <= pageBytes, "a page has the record")
    if let patch = patch(of: record, on: page) { return patch.written(recordBytes) }
    let count = Self.patch(pages[page])?.count(recordBytes) ?? 0
    guard packed != nil, pages[page] & Self.ownedBit == 0, count < PagePatch.countMax else {
      return makeWholeWritable(page) + record * recordBytes
    }
    let source = address(of: record, on: page)
    if let patch = patch(of: record, on: page) { return patch.written(recordBytes) }
    let memory = memory.allocate(PagePatch.byteCount(recordBytes))
    memory.copyMemory(from: source, byteCount: recordBytes)
    let patch = PagePatch(
      memory, of: record, recordBytes, count: (Self.patch(pages[page])?.count(recordBytes) ?? 0) + 1,
      next: pages[page])
    pages[page] = UInt(bitPattern: memory)
    return patch.written(recordBytes)
  }

  private func makeWholeWritable(_ page: Int) -> UnsafeMutableRawPointer {
    if pages[page] & Self.ownedBit != 0 { return Self.address(pages[page]) }
    let own = memory.allocate(pageBytes)
    let word = wordPointer(of: page).pointee
    if let packed, word == 0 {
      // Of a damaged page nothing counts.
      packed.unpackAll(page, isChecked: pages[page] != 0, into: own)
    } else {
      own.copyMemory(from: Self.address(allReadable(word, page)), byteCount: pageBytes)
    }
    var next = Self.patch(pages[page])
    while let patch = next {
      (own + patch.record(recordBytes) * recordBytes).copyMemory(from: patch.memory, byteCount: recordBytes)
      next = Self.patch(patch.next(recordBytes))
    }
    pages[page] = Self.word(own)
    return own
  }

  /// Makes all of a page readable.
  func load(_ page: Int) {
    if let packed {
      packed.source.unpacking.withLock { _ in
        if wordPointer(of: page).pointee == 0 { unpack(page, from: packed) }
      }
    } else if pages[page] & Self.ownedBit == 0 {
      pages[page] = allReadable(pages[page], page)
    }
  }

  private func allReadable(_ word: UInt, _ page: Int) -> UInt {
    word & Self.allReadable == Self.allReadable
      ? word : (0..<Self.parts).reduce(word) { readable($0, page, part: $1) }
  }

  func copy(pageCount: Int) -> PageStorage {
    assert(pageCount <= capacity, "each page has a word")
    let copy = PageStorage(
      pageBytes: pageBytes, recordBytes: recordBytes, capacity: capacity, section: section, packed: packed)
    let words = copy.pages
    words.update(from: pages, count: pageCount)
    for page in 0..<pageCount where Self.isOwn(words[page]) { copy.copyOwn(words + page) }
    return copy
  }

  /// Whether a word points to a page or a patch that only this table has.
  private static func isOwn(_ word: UInt) -> Bool {
    word & ownedBit != 0 || word != 0 && word & bits == 0
  }

  /// Copies the page and patches that a word points to.
  private func copyOwn(_ word: UnsafeMutablePointer<UInt>) {
    var pointer = word
    while let patch = Self.patch(pointer.pointee) {
      let own = memory.allocate(PagePatch.byteCount(recordBytes))
      own.copyMemory(from: patch.memory, byteCount: PagePatch.byteCount(recordBytes))
      pointer.pointee = UInt(bitPattern: own)
      pointer = PagePatch(memory: own).nextPointer(recordBytes)
    }
    guard pointer.pointee & Self.ownedBit != 0 else { return }
    let own = memory.allocate(pageBytes)
    own.copyMemory(from: Self.address(pointer.pointee), byteCount: pageBytes)
    pointer.pointee = Self.word(own)
  }
}

/// Fixed-size records, numbered from 0, in pages. A page is read from the snapshot until it is written to, and from memory after that.
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
  /// The number of pages of so many records.
  static func pageCount(_ records: Int) -> Int { (records + mask) >> shift }

  private var pages: PageStorage
  /// Reads the records. Valid until the table is written to.
  private(set) var reader: PagedReader<Record>

  @inline(__always) var count: Int { reader.count }

  init() { self.init(zeros: 0) }

  /// Creates a table of `count` records of zeros.
  init(zeros count: Int) {
    let pageCount = Self.pageCount(count)
    pages = PageStorage(
      pageBytes: Self.pageBytes, recordBytes: Self.stride, capacity: pageCount)
    reader = PagedReader(pages, count: count)
    for page in 0..<pageCount { pages.makePage(page) }
  }

  /// Creates a table of the records of a snapshot. Each page is checked on first access.
  init(_ section: SnapshotSection) {
    pages = PageStorage(
      pageBytes: Self.pageBytes, recordBytes: Self.stride, capacity: Self.pageCount(section.count),
      section: section)
    reader = PagedReader(pages, count: section.count)
  }

  /// Creates a table of the packed records of a snapshot. They are unpacked on first access.
  init(_ packed: PackedRecords) {
    pages = PageStorage(
      pageBytes: Self.pageBytes, recordBytes: Self.stride, capacity: Self.pageCount(packed.count),
      packed: packed)
    reader = PagedReader(pages, count: packed.count)
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
    assert(UInt(bitPattern: index) < UInt(bitPattern: count), "a record that is not there")
    assert(isKnownUniquelyReferenced(&pages), "no other table has the pages")
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
    assert(index >= 0 && index <= count, "a record is inserted among the others or behind them")
    append(record)
    var moved = count - 1
    while moved > index {
      write(moved).pointee = self[moved - 1]
      moved -= 1
    }
    write(index).pointee = record
  }

  /// Checks or unpacks every page of the snapshot, so that later reads cannot encounter damage.
  func loadAll() {
    guard let source = pages.section?.source ?? pages.packed?.source else { return }
    for page in 0..<Self.pageCount(count) where !source.isDamaged { pages.load(page) }
  }

  @inline(never)
  private mutating func makeOwn() {
    pages = pages.copy(pageCount: Self.pageCount(count))
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
    let part = (index & table.mask) >> (table.shift - PageStorage.partsShift)
    if word & PageStorage.readableBit << UInt(truncatingIfNeeded: part) == 0 { return look(index) }
    return UnsafePointer(Self.records(word) + (index & table.mask))
  }

  /// Prefetches a record that will be read soon, with the checksum if it must be checked first, or what it is unpacked from.
  @inline(__always)
  func seek(_ index: Int) {
    let table = PagedTable<Record>.self
    guard UInt(bitPattern: index) < UInt(bitPattern: count) else { return }
    let word = pages[index >> table.shift]
    let part = (index & table.mask) >> (table.shift - PageStorage.partsShift)
    if word & PageStorage.readableBit << UInt(truncatingIfNeeded: part) != 0 {
      heartlog_prefetch(Self.records(word) + (index & table.mask))
    } else if word == 0 || word & PageStorage.bits != 0 {
      storage._withUnsafeGuaranteedRef {
        $0.sectionPages?.seek(index >> table.shift, part: part, pageBytes: table.pageBytes)
        $0.packed?.seek(index & table.mask, on: index >> table.shift)
      }
    }
  }

  @inline(__always)
  fileprivate static func records(_ word: UInt) -> UnsafeMutablePointer<Record> {
    UnsafeMutablePointer(bitPattern: word & ~PageStorage.bits).unsafelyUnwrapped
  }

  /// Reads a record on a page that is not simply readable.
  @inline(never)
  private func look(_ index: Int) -> UnsafePointer<Record> {
    let table = PagedTable<Record>.self
    return storage._withUnsafeGuaranteedRef { $0.address(of: index & table.mask, on: index >> table.shift) }
      .assumingMemoryBound(to: Record.self)
  }

  @inline(never)
  private func miss() -> UInt {
    storage._withUnsafeGuaranteedRef { ($0.section?.source ?? $0.packed?.source)?.noteDamage() }
    return UInt(bitPattern: SnapshotSource.zeros)
  }
}

extension UnsafeMutablePointer<UInt> {
  /// Stores a word so that a thread that follows it also sees what was written before.
  fileprivate func publish(_ word: UInt) {
    withMemoryRebound(to: UInt64.self, capacity: 1) { heartlog_store_release($0, UInt64(word)) }
  }
}

/// A copy of one record that replaces the record on its page. Used for packed pages of which only a few records are read or written.
///
/// Layout in memory: the record; the word that the page had before (its own, or that of its previous patch); the index of the record on the
/// page, with a bit that is set once it was written; the number of patches of the page including this one.
struct PagePatch {
  /// A page with this many patches is copied as a whole when another record is written.
  static let countMax = 8
  /// A packed page with this many patches is unpacked as a whole when another record is read.
  static let readCountMax = 4
  private static let alignment = 64
  private static let writtenBit: UInt32 = 1 << 31

  let memory: UnsafeMutableRawPointer

  init(memory: UnsafeMutableRawPointer) { self.memory = memory }

  /// - Parameter memory: `byteCount` bytes, which begin with the record.
  init(_ memory: UnsafeMutableRawPointer, of record: Int, _ recordBytes: Int, count: Int, next: UInt) {
    self.memory = memory
    assert(recordBytes % MemoryLayout<UInt>.stride == 0, "whole words are patched")
    memory.storeBytes(of: UInt32(record), toByteOffset: recordBytes + 8, as: UInt32.self)
    link(to: next, recordBytes, count: count)
  }

  /// - Parameter next: the word of the page before.
  func link(to next: UInt, _ recordBytes: Int, count: Int) {
    assert(count > 0 && count <= Self.countMax, "few records are patched")
    memory.storeBytes(of: UInt32(count), toByteOffset: recordBytes + 12, as: UInt32.self)
    nextPointer(recordBytes).publish(next)
  }

  /// The size of a patch, a multiple of 64.
  static func byteCount(_ recordBytes: Int) -> Int { (recordBytes + 16 + alignment - 1) & ~(alignment - 1) }

  /// The word that links to the previous patch or the page.
  func nextPointer(_ recordBytes: Int) -> UnsafeMutablePointer<UInt> {
    (memory + recordBytes).assumingMemoryBound(to: UInt.self)
  }

  func next(_ recordBytes: Int) -> UInt { nextPointer(recordBytes).pointee }
  private func recordPointer(_ recordBytes: Int) -> UnsafeMutablePointer<UInt32> {
    (memory + recordBytes + 8).assumingMemoryBound(to: UInt32.self)
  }
  func record(_ recordBytes: Int) -> Int { Int(recordPointer(recordBytes).pointee & ~Self.writtenBit) }
  func count(_ recordBytes: Int) -> Int {
    Int(memory.load(fromByteOffset: recordBytes + 12, as: UInt32.self))
  }

  func isWritten(_ recordBytes: Int) -> Bool { recordPointer(recordBytes).pointee & Self.writtenBit != 0 }

  /// Returns the address of the record, which will be written.
  func written(_ recordBytes: Int) -> UnsafeMutableRawPointer {
    recordPointer(recordBytes).pointee |= Self.writtenBit
    return memory
  }
}
