#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The pages of a table: those of its snapshot, and those in memory, which are freed with the last copy of the table.
///
/// Snapshot pages are checked in parts, each on first access. If few records of a page are written, only these are copied to memory
/// (`PagePatch`): the writes after a snapshot are scattered, and touching new memory costs more than everything else about them.
final class PageStorage {
  /// Set in the word of a page in memory that only one table has. That table may write to it.
  static let ownedBit: UInt = 1
  /// Set in the word of a page without patches if its first part may be read. The next higher bits say the same of its other parts. They
  /// lie above the address, which has 48 bits unless a process asks the system for more.
  static let readableBit: UInt = 1 << 48
  private static let allReadable = readableBit * (1 << UInt(SnapshotSection.parts) - 1)
  static let bits = ownedBit | allReadable

  /// One word per page: the address of the page with bits; or the address of its newest patch without bits; or 0 for a snapshot page that
  /// was not read yet.
  // Only one thread at a time changes it. Unchecked, because a dynamic exclusivity check for each page would be too slow.
  @exclusivity(unchecked) private(set) var pages: UnsafeMutablePointer<UInt>
  let section: SnapshotSection?
  let sectionPages: SnapshotSection.Pages?
  private let pageBytes: Int
  private let recordBytes: Int
  private var capacity: Int
  private var slabs: [UnsafeMutableRawPointer] = []
  private var room: UnsafeMutableRawPointer?
  private var roomBytes = 0
  private var slabPages = 1
  private static let slabPagesMax = 64

  init(pageBytes: Int, recordBytes: Int, capacity: Int, section: SnapshotSection?) {
    self.pageBytes = pageBytes
    self.recordBytes = recordBytes
    self.capacity = max(1, capacity)
    self.section = section
    sectionPages = section?.pages
    pages = Self.zeroed(self.capacity)
  }

  deinit {
    for slab in slabs { slab.deallocate() }
    Self.free(pages, capacity)
  }

  // Zeroed memory from the system costs nothing until it is touched. For small sizes the system call is not worth it.

  private static let mappedWordsMin = 4_096

  private static func zeroed(_ count: Int) -> UnsafeMutablePointer<UInt> {
    let bytes = count * MemoryLayout<UInt>.stride
    let memory =
      count < mappedWordsMin
      ? calloc(1, bytes) : mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { preconditionFailure("out of memory") }
    return memory.bindMemory(to: UInt.self, capacity: count)
  }

  private static func free(_ words: UnsafeMutablePointer<UInt>, _ count: Int) {
    if count < mappedWordsMin {
      words.deallocate()
    } else {
      munmap(words, count * MemoryLayout<UInt>.stride)
    }
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
    let memory = allocate(pageBytes)
    pages[page] = Self.word(memory)
    return UInt(bitPattern: memory)
  }

  private static func word(_ page: UnsafeMutableRawPointer) -> UInt { UInt(bitPattern: page) | bits }

  private func grow(to wanted: Int) {
    let larger = max(wanted, capacity * 2)
    let new = Self.zeroed(larger)
    new.update(from: pages, count: capacity)
    Self.free(pages, capacity)
    pages = new
    capacity = larger
  }

  /// - Parameter count: a multiple of 64, at most a page.
  private func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    if roomBytes < count {
      roomBytes = pageBytes * slabPages
      let slab = UnsafeMutableRawPointer.allocate(byteCount: roomBytes, alignment: 64)
      UnsafeMutableRawBufferPointer(start: slab, count: roomBytes).prefault()
      slabs.append(slab)
      room = slab
      slabPages = min(slabPages * 2, Self.slabPagesMax)
    }
    guard let start = room else { preconditionFailure("a slab was made") }
    room = start + count
    roomBytes -= count
    return start
  }

  /// Checks a part of a snapshot page. Returns the page's word with the part marked as readable, or that of a page of zeros if the part is
  /// damaged.
  ///
  /// - Parameter word: the current word of the page; 0 if it was not read yet.
  private func readable(_ word: UInt, _ page: Int, part: Int) -> UInt {
    guard let sectionPages else { preconditionFailure("a page that was never made") }
    let bit = Self.readableBit << UInt(part)
    if word & bit != 0 { return word }
    guard sectionPages.holds(page, part: part, pageBytes: pageBytes) else {
      return UInt(bitPattern: SnapshotSource.zeros) | Self.allReadable
    }
    return (word == 0 ? UInt(bitPattern: sectionPages.page(page, bytes: pageBytes)) : word) | bit
  }

  private func allReadable(_ word: UInt, _ page: Int) -> UInt {
    (0..<SnapshotSection.parts).reduce(word) { readable($0, page, part: $1) }
  }

  private func part(of record: Int) -> Int { record * recordBytes * SnapshotSection.parts / pageBytes }

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

  /// Returns the address of a record on a page that has patches or parts not yet checked.
  @inline(never)
  func address(of record: Int, on page: Int) -> UnsafeRawPointer {
    if let patch = patch(of: record, on: page) { return UnsafeRawPointer(patch.memory) }
    let pointer = wordPointer(of: page)
    let word = readable(pointer.pointee, page, part: part(of: record))
    // Write only on a change: fully checked pages may be read by several threads at once.
    if word != pointer.pointee { pointer.pointee = word }
    return UnsafeRawPointer(Self.address(word)) + record * recordBytes
  }

  /// Makes a record writable: copies it from the snapshot to memory unless that was done before.
  @inline(never)
  func makeWritable(_ record: Int, on page: Int) -> UnsafeMutableRawPointer {
    if let patch = patch(of: record, on: page) { return patch.memory }
    let count = Self.patch(pages[page])?.count(recordBytes) ?? 0
    guard pages[page] & Self.ownedBit == 0, count < PagePatch.countMax,
      PagePatch.isWorthwhile(recordBytes, pageBytes: pageBytes)
    else {
      return makeWholeWritable(page) + record * recordBytes
    }
    let source = address(of: record, on: page)
    let patch = PagePatch(
      allocate(PagePatch.byteCount(recordBytes)), of: record, recordBytes, from: source,
      count: count + 1, next: pages[page])
    pages[page] = UInt(bitPattern: patch.memory)
    return patch.memory
  }

  private func makeWholeWritable(_ page: Int) -> UnsafeMutableRawPointer {
    if pages[page] & Self.ownedBit != 0 { return Self.address(pages[page]) }
    let own = allocate(pageBytes)
    own.copyMemory(from: Self.address(allReadable(wordPointer(of: page).pointee, page)), byteCount: pageBytes)
    var next = Self.patch(pages[page])
    while let patch = next {
      (own + patch.record(recordBytes) * recordBytes).copyMemory(from: patch.memory, byteCount: recordBytes)
      next = Self.patch(patch.next(recordBytes))
    }
    pages[page] = Self.word(own)
    return own
  }

  /// Checks all parts of a page.
  func loadAll(_ page: Int) {
    let pointer = wordPointer(of: page)
    if pointer.pointee & Self.ownedBit == 0 { pointer.pointee = allReadable(pointer.pointee, page) }
  }

  func copy(pageCount: Int) -> PageStorage {
    let copy = PageStorage(
      pageBytes: pageBytes, recordBytes: recordBytes, capacity: capacity, section: section)
    let words = copy.pages
    words.update(from: pages, count: pageCount)
    for page in 0..<pageCount where Self.isInMemory(words[page]) { copy.copyOwn(words + page) }
    return copy
  }

  /// Whether a word points to memory rather than to a snapshot page.
  private static func isInMemory(_ word: UInt) -> Bool {
    word & ownedBit != 0 || word != 0 && word & bits == 0
  }

  /// Copies the page and patches that a word points to.
  private func copyOwn(_ word: UnsafeMutablePointer<UInt>) {
    var pointer = word
    while let patch = Self.patch(pointer.pointee) {
      let own = allocate(PagePatch.byteCount(recordBytes))
      own.copyMemory(from: patch.memory, byteCount: PagePatch.byteCount(recordBytes))
      pointer.pointee = UInt(bitPattern: own)
      pointer = PagePatch(memory: own).nextPointer(recordBytes)
    }
    guard pointer.pointee & Self.ownedBit != 0 else { return }
    let own = allocate(pageBytes)
    own.copyMemory(from: Self.address(pointer.pointee), byteCount: pageBytes)
    pointer.pointee = Self.word(own)
  }
}
