#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Records of a fixed size, numbered from 0, in pages: of a mapped snapshot until they are written to, in memory from then on.
///
/// It is a value: copies share their pages until one of them is written to, which then copies what lies in memory. Growing copies no
/// record, so that no write waits for one. A record of zeros must mean nothing to whoever reads it: that is what a number out of range
/// and a damaged page give.
struct PagedTable<Record: BitwiseCopyable>: @unchecked Sendable {
  typealias Page = UnsafeMutablePointer<Record>

  /// Pages have a power of two of records, and about this size.
  private static var pageBytesMax: Int { 2_048 }
  @inline(__always) private static var stride: Int { MemoryLayout<Record>.stride }
  @inline(__always) private static var shift: Int {
    Int.bitWidth - 1 - (pageBytesMax / stride).leadingZeroBitCount
  }
  @inline(__always) private static var mask: Int { 1 << shift - 1 }
  static var recordsPerPage: Int { 1 << shift }
  /// The records of a page, in bytes.
  static var pageBytes: Int { recordsPerPage * stride }

  /// Frees the pages, and keeps the snapshot mapped.
  private final class Storage {
    var pages: UnsafeMutablePointer<Page?>
    /// By page: it lies in memory, and may be written to.
    var isOwned: UnsafeMutablePointer<Bool>
    var capacity: Int
    let section: SnapshotSection?
    private var slabs: [UnsafeMutableRawPointer] = []
    private var room: UnsafeMutableRawPointer?
    private var roomBytes = 0
    private var slabPages = 1
    private static var slabPagesMax: Int { 64 }

    init(capacity: Int, section: SnapshotSection? = nil) {
      self.capacity = capacity
      self.section = section
      pages = Self.zeroed(capacity)
      isOwned = Self.zeroed(capacity)
    }

    deinit {
      for slab in slabs { slab.deallocate() }
      free(pages)
      free(isOwned)
    }

    /// Zeros, which cost nothing until they are looked at where there are many.
    private static func zeroed<Element>(_ count: Int) -> UnsafeMutablePointer<Element> {
      guard let memory = calloc(max(1, count), MemoryLayout<Element>.stride) else {
        preconditionFailure("out of memory")
      }
      return memory.bindMemory(to: Element.self, capacity: count)
    }

    func grow(to wanted: Int) {
      let larger = max(wanted, capacity * 2)
      let newPages: UnsafeMutablePointer<Page?> = Self.zeroed(larger)
      let newOwned: UnsafeMutablePointer<Bool> = Self.zeroed(larger)
      newPages.update(from: pages, count: capacity)
      newOwned.update(from: isOwned, count: capacity)
      free(pages)
      free(isOwned)
      pages = newPages
      isOwned = newOwned
      capacity = larger
    }

    /// A page of zeros.
    func makePage() -> Page {
      let page = allocate(pageBytes)
      page.initializeMemory(as: UInt8.self, repeating: 0, count: pageBytes)
      return page.assumingMemoryBound(to: Record.self)
    }

    private func allocate(_ bytes: Int) -> UnsafeMutableRawPointer {
      if roomBytes < bytes {
        roomBytes = bytes * slabPages
        let slab = UnsafeMutableRawPointer.allocate(byteCount: roomBytes, alignment: 64)
        slabs.append(slab)
        room = slab
        slabPages = min(slabPages * 2, Self.slabPagesMax)
      }
      guard let place = room else { preconditionFailure("a slab was made") }
      room = place + bytes
      roomBytes -= bytes
      return place
    }

    func copy(pageCount: Int) -> Storage {
      let copy = Storage(capacity: capacity, section: section)
      for page in 0..<pageCount {
        guard let records = pages[page] else { continue }
        guard isOwned[page] else {
          copy.pages[page] = records
          continue
        }
        let own = copy.makePage()
        own.update(from: records, count: recordsPerPage)
        copy.pages[page] = own
        copy.isOwned[page] = true
      }
      return copy
    }
  }

  private var storage: Storage
  /// Those of the storage; nil for a page that was not looked at yet.
  private var pages: UnsafeMutablePointer<Page?>
  private(set) var count: Int
  /// Whether any page may lie in a snapshot.
  private let isMapped: Bool

  init() { self.init(zeros: 0) }

  /// A table of `count` records of zeros.
  init(zeros count: Int) {
    let pageCount = (count + Self.mask) >> Self.shift
    storage = Storage(capacity: max(1, pageCount))
    pages = storage.pages
    self.count = count
    isMapped = false
    for page in 0..<pageCount { setOwned(page, storage.makePage()) }
  }

  /// The records of a snapshot, each page checked when it is first looked at.
  init(_ section: SnapshotSection) {
    storage = Storage(capacity: max(1, (section.count + Self.mask) >> Self.shift), section: section)
    pages = storage.pages
    count = section.count
    isMapped = true
  }

  /// A record; one of zeros where there is none.
  @inline(__always)
  subscript(index: Int) -> Record { read(index).pointee }

  /// Where a record lies until the table is written to.
  @inline(__always)
  func read(_ index: Int) -> UnsafePointer<Record> {
    guard UInt(bitPattern: index) < UInt(bitPattern: count) else {
      return UnsafePointer(outOfRange())
    }
    let page = pages[index >> Self.shift] ?? load(index >> Self.shift)
    return UnsafePointer(page + (index & Self.mask))
  }

  /// Where a record lies that is about to be written, until the table is written to again.
  @inline(__always)
  mutating func write(_ index: Int) -> UnsafeMutablePointer<Record> {
    precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "a record that is not there")
    own()
    let page = index >> Self.shift
    if !storage.isOwned[page] { takeOver(page) }
    // Owned pages are there.
    return pages[page].unsafelyUnwrapped + (index & Self.mask)
  }

  /// Sees to it that this table alone has its pages: until it is copied again, `writeOwn` may be called.
  mutating func makeOwnIfShared() { own() }

  /// `write`, without a look at who else has the table.
  @inline(__always)
  mutating func writeOwn(_ index: Int) -> UnsafeMutablePointer<Record> {
    let page = index >> Self.shift
    if isMapped, !storage.isOwned[page] { takeOver(page) }
    return pages[page].unsafelyUnwrapped + (index & Self.mask)
  }

  mutating func append(_ record: Record) {
    own()
    let page = count >> Self.shift
    if page == storage.capacity {
      storage.grow(to: page + 1)
      pages = storage.pages
    }
    if count & Self.mask == 0 {
      setOwned(page, storage.makePage())
    } else if !storage.isOwned[page] {
      takeOver(page)
    }
    pages[page].unsafelyUnwrapped[count & Self.mask] = record
    count += 1
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
    guard storage.section != nil else { return }
    for page in 0..<(count + Self.mask) >> Self.shift where pages[page] == nil { _ = load(page) }
  }

  @inline(__always)
  private mutating func own() {
    if !isKnownUniquelyReferenced(&storage) { makeOwn() }
  }

  @inline(never)
  private mutating func makeOwn() {
    storage = storage.copy(pageCount: (count + Self.mask) >> Self.shift)
    pages = storage.pages
  }

  private func setOwned(_ page: Int, _ records: Page) {
    pages[page] = records
    storage.isOwned[page] = true
  }

  @inline(never)
  private mutating func takeOver(_ page: Int) {
    let records = pages[page] ?? load(page)
    let own = storage.makePage()
    own.update(from: records, count: Self.recordsPerPage)
    setOwned(page, own)
  }

  @inline(never)
  private func load(_ page: Int) -> Page {
    guard let section = storage.section else { preconditionFailure("a page that was never made") }
    let bytes = section.page(page, bytes: Self.pageBytes)
    let records = UnsafeMutableRawPointer(mutating: bytes).assumingMemoryBound(to: Record.self)
    pages[page] = records
    return records
  }

  @inline(never)
  private func outOfRange() -> Page {
    // Numbers that point nowhere can come from a snapshot alone.
    storage.section?.source.noteDamage()
    return UnsafeMutableRawPointer(mutating: SnapshotSource.zeros).assumingMemoryBound(to: Record.self)
  }
}
