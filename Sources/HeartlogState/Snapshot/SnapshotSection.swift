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
