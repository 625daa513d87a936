/// The texts of a snapshot: one run of bytes, with a checksum per page.
final class MappedTexts: @unchecked Sendable {
  static let pageBytes = 4_096

  private let source: SnapshotSource
  private let offset: Int
  let byteCount: Int
  private let checksums: PagedTable<UInt64>
  /// One bit per page: whether its checksum was verified. Bits rather than bytes, because all are cleared on opening.
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

  /// Returns a text whose pages match their checksums; empty if they do not.
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

  /// Prefetches the texts at an offset. Ignores an offset out of range.
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
