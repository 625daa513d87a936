#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The pages of a table: those of its snapshot, and those in memory, which go when the last copy of the table does.
final class PageStorage {
  /// Set in the word of a page that lies in memory, and may be written to by the only table that has it.
  static let ownedBit: UInt = 1

  /// By page: where it lies, and `ownedBit`; 0 for one of the snapshot that was not looked at yet.
  private(set) var pages: UnsafeMutablePointer<UInt>
  let section: SnapshotSection?
  private let pageBytes: Int
  private var capacity: Int
  private var slabs: [UnsafeMutableRawPointer] = []
  private var room: UnsafeMutableRawPointer?
  private var roomBytes = 0
  private var slabPages = 1
  private static let slabPagesMax = 64

  init(pageBytes: Int, capacity: Int, section: SnapshotSection?) {
    self.pageBytes = pageBytes
    self.capacity = max(1, capacity)
    self.section = section
    pages = Self.zeroed(self.capacity)
  }

  deinit {
    for slab in slabs { slab.deallocate() }
    Self.free(pages, capacity)
  }

  // Zeros that the system gives cost nothing until they are looked at; for a few of them it is not worth asking.

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

  /// Makes a page of zeros.
  func makePage(_ page: Int) {
    UnsafeMutableRawPointer(bitPattern: addPage(page))?
      .initializeMemory(as: UInt8.self, repeating: 0, count: pageBytes)
  }

  /// Makes a page, all of which is to be written before it is read.
  @discardableResult
  func addPage(_ page: Int) -> UInt {
    if page >= capacity { grow(to: page + 1) }
    let memory = allocate()
    pages[page] = UInt(bitPattern: memory) | Self.ownedBit
    return UInt(bitPattern: memory)
  }

  private func grow(to wanted: Int) {
    let larger = max(wanted, capacity * 2)
    let new = Self.zeroed(larger)
    new.update(from: pages, count: capacity)
    Self.free(pages, capacity)
    pages = new
    capacity = larger
  }

  private func allocate() -> UnsafeMutableRawPointer {
    if roomBytes < pageBytes {
      roomBytes = pageBytes * slabPages
      let slab = UnsafeMutableRawPointer.allocate(byteCount: roomBytes, alignment: 64)
      FreshMemory.bring(UnsafeMutableRawBufferPointer(start: slab, count: roomBytes))
      slabs.append(slab)
      room = slab
      slabPages = min(slabPages * 2, Self.slabPagesMax)
    }
    guard let place = room else { preconditionFailure("a slab was made") }
    room = place + pageBytes
    roomBytes -= pageBytes
    return place
  }

  /// Looks at a page of the snapshot for the first time.
  @inline(never)
  func load(_ page: Int) -> UInt {
    guard let section else { preconditionFailure("a page that was never made") }
    let word = UInt(bitPattern: section.page(page, bytes: pageBytes))
    pages[page] = word
    return word
  }

  /// Copies a page of the snapshot, to be written to.
  @inline(never)
  func takeOver(_ page: Int) -> UInt {
    let word = pages[page] == 0 ? load(page) : pages[page]
    guard let source = UnsafeRawPointer(bitPattern: word) else {
      preconditionFailure("a page lies somewhere")
    }
    let own = allocate()
    own.copyMemory(from: source, byteCount: pageBytes)
    pages[page] = UInt(bitPattern: own) | Self.ownedBit
    return pages[page]
  }

  func copy(pageCount: Int) -> PageStorage {
    let copy = PageStorage(pageBytes: pageBytes, capacity: capacity, section: section)
    for page in 0..<pageCount {
      let word = pages[page]
      guard word & Self.ownedBit != 0, let source = UnsafeRawPointer(bitPattern: word & ~Self.ownedBit) else {
        copy.pages[page] = word
        continue
      }
      let own = copy.allocate()
      own.copyMemory(from: source, byteCount: pageBytes)
      copy.pages[page] = UInt(bitPattern: own) | Self.ownedBit
    }
    return copy
  }
}
