/// The location of a table's pages in a snapshot. Each page is followed by the checksums of its parts.
struct SnapshotSection: Sendable {
  /// A page is checked in this many parts of equal size, so that reading one record checks only one part.
  static let parts = 1 << partsShift
  static let partsShift = 3
  /// The size of the checksums after a page.
  static let checksumBytes = parts * 8

  let source: SnapshotSource
  let offset: Int
  /// The number of records.
  let count: Int

  /// Its pages, without reference counting. Valid while the section lives.
  var pages: Pages { Pages(source: .passUnretained(source), offset: offset) }

  /// Unchecked, because the source is sendable.
  struct Pages: @unchecked Sendable {
    fileprivate let source: Unmanaged<SnapshotSource>
    fileprivate let offset: Int

    private func start(of page: Int, _ pageBytes: Int) -> Int {
      offset + page * (pageBytes + SnapshotSection.checksumBytes)
    }

    /// Returns the address of a page.
    func page(_ number: Int, bytes count: Int) -> UnsafeRawPointer {
      let start = start(of: number, count)
      let page = source._withUnsafeGuaranteedRef {
        UnsafeRawBufferPointer(rebasing: $0.bytes[start..<start + count])
      }
      guard let base = page.baseAddress else { preconditionFailure("a page has bytes") }
      return base
    }

    /// Prefetches a part of a page and its checksum.
    func seek(_ number: Int, part: Int, pageBytes: Int) {
      let page = page(number, bytes: pageBytes)
      let partBytes = pageBytes / SnapshotSection.parts
      Prefetch.lines(partBytes / Prefetch.lineBytes, at: page + part * partBytes)
      Prefetch.lines(1, at: page + pageBytes)
    }

    /// Returns whether the checksum of a part of a page matches. Records the damage if not.
    func holds(_ number: Int, part: Int, pageBytes: Int) -> Bool {
      let start = start(of: number, pageBytes)
      let partBytes = pageBytes / SnapshotSection.parts
      return source._withUnsafeGuaranteedRef { source in
        let checksum = source.bytes.load(fromByteOffset: start + pageBytes + part * 8, as: UInt64.self)
        if source.holds(start + part * partBytes, partBytes, checksum: checksum) { return true }
        source.noteDamage()
        return false
      }
    }
  }

  /// Returns the size of a section in bytes.
  static func byteCount<Record: BitwiseCopyable>(_ count: Int, of type: Record.Type) -> Int {
    let table = PagedTable<Record>.self
    return (count + table.recordsPerPage - 1) / table.recordsPerPage * (table.pageBytes + checksumBytes)
  }
}
