import CXXHash
import HeartlogEvents
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The bytes of a mapped snapshot, handed out once their checksums were found to hold.
///
/// Who meets damage is given zeros, and finds `isDamaged` when he has finished: then all that was read must be thrown away.
final class SnapshotSource: Sendable {
  nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
  /// Keeps `bytes` mapped.
  private let owner: any AnyObject & Sendable
  /// What the checksums are seeded with, so that pages of another snapshot never pass.
  let seed: UInt64
  private let damage = Atomic<Bool>(false)

  init(_ bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable, seed: UInt64) {
    self.bytes = bytes
    self.owner = owner
    self.seed = seed
  }

  /// Whether anything that was asked for is not as it was written.
  var isDamaged: Bool { damage.load(ordering: .relaxed) }

  func noteDamage() { damage.store(true, ordering: .relaxed) }

  /// `count` bytes, and whether their checksum is `checksum`.
  func holds(_ offset: Int, _ count: Int, checksum: UInt64) -> Bool {
    checksum
      == Self.checksum(
        UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]), seed: seed, offset: offset)
  }

  /// XXH3-64 of bytes that stand at an offset of a snapshot.
  static func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt64, offset: Int) -> UInt64 {
    XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed &+ UInt64(offset))
  }

  /// What stands for a damaged page.
  nonisolated(unsafe) static let zeros = UnsafeRawPointer(
    UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 64).zeroed)
}

extension UnsafeMutableRawBufferPointer {
  fileprivate var zeroed: UnsafeMutableRawPointer {
    initializeMemory(as: UInt8.self, repeating: 0)
    guard let start = baseAddress else { preconditionFailure("it has bytes") }
    return start
  }
}

/// Where the pages of a table stand in a snapshot: each is followed by its checksum.
struct SnapshotSection: Sendable {
  /// Behind a page: its checksum, and zeros, so that pages keep to cache lines.
  static let checksumBytes = 64

  let source: SnapshotSource
  let offset: Int
  /// Of the records.
  let count: Int

  /// A page whose checksum holds; zeros where it does not.
  func page(_ number: Int, bytes count: Int) -> UnsafeRawPointer {
    let start = offset + number * (count + Self.checksumBytes)
    let page = UnsafeRawBufferPointer(rebasing: source.bytes[start..<start + count + Self.checksumBytes])
    let checksum = page.load(fromByteOffset: count, as: UInt64.self)
    guard let base = page.baseAddress, source.holds(start, count, checksum: checksum) else {
      source.noteDamage()
      return SnapshotSource.zeros
    }
    return base
  }

  /// How many bytes a section takes.
  static func byteCount<Record: BitwiseCopyable>(_ count: Int, of type: Record.Type) -> Int {
    let table = PagedTable<Record>.self
    return (count + table.recordsPerPage - 1) / table.recordsPerPage * (table.pageBytes + checksumBytes)
  }
}

/// The texts of a snapshot: one run of bytes, and the checksums of its pages.
struct MappedTexts: @unchecked Sendable {
  /// Which pages were found to be as they were written.
  private final class Checked {
    let pages: UnsafeMutableBufferPointer<UInt8>

    init(_ count: Int) {
      // Zeros, which cost nothing until they are looked at where there are many.
      let memory = calloc(max(1, count), 1)
      pages = UnsafeMutableBufferPointer(
        start: memory?.bindMemory(to: UInt8.self, capacity: count), count: count)
    }

    deinit { free(pages.baseAddress) }
  }

  static let pageBytes = 4_096

  private let source: SnapshotSource
  private let offset: Int
  private let byteCount: Int
  private let checksums: PagedTable<UInt64>
  private let checked: Checked

  init(_ source: SnapshotSource, offset: Int, byteCount: Int, checksums: PagedTable<UInt64>) {
    self.source = source
    self.offset = offset
    self.byteCount = byteCount
    self.checksums = checksums
    checked = Checked((byteCount + Self.pageBytes - 1) / Self.pageBytes)
  }

  /// A text whose pages are as they were written; none where they are not.
  func bytes(_ start: Int, count: Int) -> UnsafeRawBufferPointer {
    guard start >= 0, count > 0, count <= byteCount, start <= byteCount - count else {
      if count != 0 { source.noteDamage() }
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    for page in start / Self.pageBytes...(start + count - 1) / Self.pageBytes where checked.pages[page] == 0 {
      guard check(page) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    }
    return UnsafeRawBufferPointer(rebasing: source.bytes[offset + start..<offset + start + count])
  }

  private func check(_ page: Int) -> Bool {
    let start = page * Self.pageBytes
    let count = min(Self.pageBytes, byteCount - start)
    guard source.holds(offset + start, count, checksum: checksums[page]) else {
      source.noteDamage()
      return false
    }
    checked.pages[page] = 1
    return true
  }

  func loadAll() {
    checksums.loadAll()
    for page in checked.pages.indices where checked.pages[page] == 0 { _ = check(page) }
  }
}
