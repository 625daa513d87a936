/// The texts of a snapshot: one run of bytes, and the checksums of its pages.
final class MappedTexts: @unchecked Sendable {
  static let pageBytes = 4_096

  private let source: SnapshotSource
  private let offset: Int
  let byteCount: Int
  private let checksums: PagedTable<UInt64>
  /// Which pages were found to be as they were written: a bit each, since all of them are cleared on opening.
  private let checked: UnsafeMutableBufferPointer<UInt64>

  init(_ source: SnapshotSource, offset: Int, byteCount: Int, checksums: PagedTable<UInt64>) {
    self.source = source
    self.offset = offset
    self.byteCount = byteCount
    self.checksums = checksums
    checked = .allocate(capacity: byteCount / Self.pageBytes / UInt64.bitWidth + 1)
    checked.initialize(repeating: 0)
  }

  deinit { checked.deallocate() }

  @inline(__always)
  private func isChecked(_ page: Int) -> Bool {
    checked[page / UInt64.bitWidth] >> UInt64(page % UInt64.bitWidth) & 1 != 0
  }

  /// A text whose pages are as they were written; none where they are not.
  func bytes(_ start: Int, count: Int) -> UnsafeRawBufferPointer {
    guard start >= 0, count > 0, count <= byteCount, start <= byteCount - count else {
      if count != 0 { source.noteDamage() }
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    let last = (start + count - 1) / Self.pageBytes
    var page = start / Self.pageBytes
    while page <= last {
      guard isChecked(page) || check(page) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
      page += 1
    }
    return UnsafeRawBufferPointer(rebasing: source.bytes[offset + start..<offset + start + count])
  }

  /// Has the texts at an offset brought into the cache; nothing comes of an offset that is none.
  func seek(_ start: Int) {
    guard start >= 0, start < byteCount, let base = source.bytes.baseAddress else { return }
    Prefetch.lines(3, at: base + offset + start)
  }

  @inline(never)
  private func check(_ page: Int) -> Bool {
    let start = page * Self.pageBytes
    let count = min(Self.pageBytes, byteCount - start)
    guard source.holds(offset + start, count, checksum: checksums[page]) else {
      source.noteDamage()
      return false
    }
    checked[page / UInt64.bitWidth] |= 1 << UInt64(page % UInt64.bitWidth)
    return true
  }

  func noteDamage() { source.noteDamage() }

  func loadAll() {
    checksums.loadAll()
    for page in 0..<(byteCount + Self.pageBytes - 1) / Self.pageBytes where !isChecked(page) {
      _ = check(page)
    }
  }
}
