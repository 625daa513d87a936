/// The texts of a snapshot: one run of bytes, and the checksums of its pages.
final class MappedTexts: @unchecked Sendable {
  static let pageBytes = 4_096

  private let source: SnapshotSource
  private let offset: Int
  private let byteCount: Int
  private let checksums: PagedTable<UInt64>
  /// Which pages were found to be as they were written.
  private let checked: UnsafeMutableBufferPointer<Bool>

  init(_ source: SnapshotSource, offset: Int, byteCount: Int, checksums: PagedTable<UInt64>) {
    self.source = source
    self.offset = offset
    self.byteCount = byteCount
    self.checksums = checksums
    checked = .allocate(capacity: (byteCount + Self.pageBytes - 1) / Self.pageBytes)
    checked.initialize(repeating: false)
  }

  deinit { checked.deallocate() }

  /// A text whose pages are as they were written; none where they are not.
  func bytes(_ start: Int, count: Int) -> UnsafeRawBufferPointer {
    guard start >= 0, count > 0, count <= byteCount, start <= byteCount - count else {
      if count != 0 { source.noteDamage() }
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    for page in start / Self.pageBytes...(start + count - 1) / Self.pageBytes where !checked[page] {
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
    checked[page] = true
    return true
  }

  func noteDamage() { source.noteDamage() }

  func loadAll() {
    checksums.loadAll()
    for page in checked.indices where !checked[page] { _ = check(page) }
  }
}
