#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The pages of a table: those of its snapshot, and those in memory, which go when the last copy of the table does.
///
/// Of a page of the snapshot that few records are written of, these alone lie in memory (`PagePatch`): after a snapshot a few writes go
/// here and there, and memory that is used for the first time costs more than all else about them.
final class PageStorage {
  /// Set in the word of a page whose records lie side by side.
  static let wholeBit: UInt = 1
  /// Set in the word of such a page that lies in memory, and may be written to by the only table that has it.
  static let ownedBit: UInt = 2
  static let bits = wholeBit | ownedBit

  /// By page: where it lies, and bits; without bits where its patch lies, or 0 for one of the snapshot that was not looked at yet.
  private(set) var pages: UnsafeMutablePointer<UInt>
  let section: SnapshotSection?
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
      FreshMemory.bring(UnsafeMutableRawBufferPointer(start: slab, count: roomBytes))
      slabs.append(slab)
      room = slab
      slabPages = min(slabPages * 2, Self.slabPagesMax)
    }
    guard let place = room else { preconditionFailure("a slab was made") }
    room = place + count
    roomBytes -= count
    return place
  }

  /// Looks at a page of the snapshot for the first time.
  @inline(never)
  func load(_ page: Int) -> UInt {
    guard let section else { preconditionFailure("a page that was never made") }
    let word = UInt(bitPattern: section.page(page, bytes: pageBytes)) | Self.wholeBit
    pages[page] = word
    return word
  }

  private static func address(_ word: UInt) -> UnsafeMutableRawPointer {
    guard let address = UnsafeMutableRawPointer(bitPattern: word & ~bits) else {
      preconditionFailure("a page lies somewhere")
    }
    return address
  }

  /// Where a record lies, on a page that may not have been looked at, or have a patch.
  @inline(never)
  func place(of record: Int, on page: Int) -> UnsafeRawPointer {
    let word = pages[page] == 0 ? load(page) : pages[page]
    guard word & Self.wholeBit == 0 else {
      return UnsafeRawPointer(Self.address(word)) + record * recordBytes
    }
    let patch = PagePatch(memory: Self.address(word))
    return patch.place(of: record, recordBytes).map { UnsafeRawPointer($0) }
      ?? patch.base + record * recordBytes
  }

  /// Takes a record of the snapshot over into memory, to be written to, unless it is there.
  @inline(never)
  func takeOver(_ record: Int, on page: Int) -> UnsafeMutableRawPointer {
    let word = pages[page] == 0 ? load(page) : pages[page]
    if word & Self.ownedBit != 0 { return Self.address(word) + record * recordBytes }
    guard pageBytes / recordBytes <= PagePatch.recordsMax else {
      return takeOverWhole(page) + record * recordBytes
    }
    let patch: PagePatch
    if word & Self.wholeBit != 0 {
      patch = makePatch(over: UnsafeRawPointer(Self.address(word)), room: PagePatch.roomMin)
    } else {
      let old = PagePatch(memory: Self.address(word))
      if let place = old.place(of: record, recordBytes) { return place }
      if old.count < old.room {
        patch = old
      } else {
        guard old.room < PagePatch.roomMax else { return takeOverWhole(page) + record * recordBytes }
        patch = makePatch(over: old.base, room: old.room * 2)
        patch.take(old, recordBytes)
      }
    }
    pages[page] = UInt(bitPattern: patch.memory)
    return patch.add(record, recordBytes)
  }

  private func makePatch(over base: UnsafeRawPointer, room: Int) -> PagePatch {
    PagePatch(allocate(PagePatch.byteCount(room: room, recordBytes)), over: base, room: room)
  }

  private func takeOverWhole(_ page: Int) -> UnsafeMutableRawPointer {
    let own = allocate(pageBytes)
    fill(own, with: pages[page])
    pages[page] = Self.word(own)
    return own
  }

  /// Copies the records of a page side by side.
  private func fill(_ target: UnsafeMutableRawPointer, with word: UInt) {
    let source = Self.address(word)
    guard word & Self.wholeBit == 0 else { return target.copyMemory(from: source, byteCount: pageBytes) }
    let patch = PagePatch(memory: source)
    target.copyMemory(from: patch.base, byteCount: pageBytes)
    patch.write(to: target, recordBytes)
  }

  func copy(pageCount: Int) -> PageStorage {
    let copy = PageStorage(
      pageBytes: pageBytes, recordBytes: recordBytes, capacity: capacity, section: section)
    for page in 0..<pageCount {
      let word = pages[page]
      guard word != 0, word & Self.bits != Self.wholeBit else {
        copy.pages[page] = word
        continue
      }
      let own = copy.allocate(pageBytes)
      fill(own, with: word)
      copy.pages[page] = Self.word(own)
    }
    return copy
  }
}
