#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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

  func noteDamage() { source.noteDamage() }

  func loadAll() {
    checksums.loadAll()
    for page in checked.pages.indices where checked.pages[page] == 0 { _ = check(page) }
  }
}
