/// Where the pages of a table stand in a snapshot: each is followed by the checksums of its parts.
struct SnapshotSection: Sendable {
  /// A page is checked in as many parts, of as many records each: who wants one record waits for a part alone.
  static let parts = 1 << partsShift
  static let partsShift = 3
  /// Behind a page: the checksums of its parts.
  static let checksumBytes = parts * 8

  let source: SnapshotSource
  let offset: Int
  /// Of the records.
  let count: Int

  /// Its pages, for as long as the section is there: to look at them counts no references.
  var pages: Pages { Pages(source: .passUnretained(source), offset: offset) }

  /// Unchecked: the source can be sent.
  struct Pages: @unchecked Sendable {
    fileprivate let source: Unmanaged<SnapshotSource>
    fileprivate let offset: Int

    private func start(of page: Int, _ pageBytes: Int) -> Int {
      offset + page * (pageBytes + SnapshotSection.checksumBytes)
    }

    /// Where a page lies.
    func page(_ number: Int, bytes count: Int) -> UnsafeRawPointer {
      let start = start(of: number, count)
      let page = source._withUnsafeGuaranteedRef {
        UnsafeRawBufferPointer(rebasing: $0.bytes[start..<start + count])
      }
      guard let base = page.baseAddress else { preconditionFailure("a page has bytes") }
      return base
    }

    /// Has a part of a page and its checksum brought into the cache.
    func seek(_ number: Int, part: Int, pageBytes: Int) {
      let page = page(number, bytes: pageBytes)
      let partBytes = pageBytes / SnapshotSection.parts
      Prefetch.lines(partBytes / Prefetch.lineBytes, at: page + part * partBytes)
      Prefetch.lines(1, at: page + pageBytes)
    }

    /// Whether the checksum of a part of a page holds; where it does not, that is noted.
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

  /// How many bytes a section takes.
  static func byteCount<Record: BitwiseCopyable>(_ count: Int, of type: Record.Type) -> Int {
    let table = PagedTable<Record>.self
    return (count + table.recordsPerPage - 1) / table.recordsPerPage * (table.pageBytes + checksumBytes)
  }
}
