/// The concatenated bytes of texts: those of a mapped snapshot, and in memory those written since.
///
/// A text is identified by a name, a word that gives its location. Texts are never overwritten. Removing one leaves a gap, and
/// `hasManyGaps` says when to copy the remaining texts to a new table.
struct TextTable: TextSource, @unchecked Sendable {
  private final class Chunk {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ count: Int) {
      bytes = .allocate(byteCount: count, alignment: 8)
      bytes.prefault()
    }

    deinit { bytes.deallocate() }
  }

  /// Set in the name of a snapshot text. Other names contain the chunk number, from 1, in the high half and the offset in the chunk in the
  /// low half.
  private static let mappedBit: UInt64 = 1 << 63
  private static let chunkBytes = (least: 1 << 10, most: 1 << 20)
  private static let gapBytesMin = 1 << 20

  private let mapped: MappedTexts?
  /// Reads the texts of the snapshot. Valid while the table lives.
  let mappedReader: MappedReader
  private var full: [Chunk] = []
  /// The chunk that texts are appended to, by the only table that owns it.
  private var last: Chunk?
  private var used = 0
  private var byteCount = 0
  private var gapBytes = 0

  init(_ mapped: MappedTexts? = nil) {
    self.mapped = mapped
    mappedReader = MappedReader(texts: mapped.map { .passUnretained($0) }, byteCount: mapped?.byteCount ?? 0)
  }

  /// Reads the texts of the snapshot without reference counting.
  struct MappedReader {
    fileprivate let texts: Unmanaged<MappedTexts>?
    fileprivate let byteCount: Int

    /// Returns the bytes of a snapshot text, empty if there is no such text; nil for the name of a text in memory.
    @inline(__always)
    func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer? {
      guard TextTable.isMapped(name) else { return nil }
      return texts?._withUnsafeGuaranteedRef { $0.bytes(Int(name & ~mappedBit), count: count) }
        ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Prefetches the texts at an offset of the snapshot's texts.
    @inline(__always)
    func seek(_ offset: Int) { texts?._withUnsafeGuaranteedRef { $0.seek(offset) } }
  }

  /// Returns the name of the text at an offset of a snapshot's texts.
  static func mappedName(_ offset: Int) -> UInt64 { mappedBit | UInt64(offset) }

  /// Returns whether a name is that of a snapshot text.
  static func isMapped(_ name: UInt64) -> Bool { name & mappedBit != 0 }

  /// A table with only the texts of the snapshot.
  var emptied: TextTable { TextTable(mapped) }

  /// Appends a text and returns its name.
  mutating func append(_ text: UnsafeRawBufferPointer) -> UInt64 {
    if !isKnownUniquelyReferenced(&last) || used + text.count > (last?.bytes.count ?? 0) {
      makeRoom(text.count)
    }
    guard let start = last?.bytes.baseAddress, let source = text.baseAddress else {
      preconditionFailure("an empty text has no name")
    }
    assert(used + text.count <= last?.bytes.count ?? 0, "the chunk has room for the text")
    (start + used).copyMemory(from: source, byteCount: text.count)
    defer { used += text.count }
    byteCount += text.count
    return UInt64(full.count + 1) << 32 | UInt64(used)
  }

  @inline(never)
  private mutating func makeRoom(_ count: Int) {
    if let last { full.append(last) }
    let next = min(max(Self.chunkBytes.least, byteCount), Self.chunkBytes.most)
    last = Chunk(max(next, count))
    used = 0
  }

  /// Releases a text of `count` bytes.
  mutating func remove(_ name: UInt64, count: Int) {
    if !Self.isMapped(name) { gapBytes += count }
  }

  /// Whether most of its memory consists of gaps.
  var hasManyGaps: Bool { gapBytes > max(Self.gapBytesMin, byteCount / 2) }

  /// Returns the bytes of a text, valid while the table lives. Empty if there is no such text; only a malformed snapshot contains such
  /// names.
  @inline(__always)
  func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer {
    if let mapped = mappedReader.bytes(name, count: count) { return mapped }
    let chunk = Int(name >> 32) - 1
    let offset = Int(name & 0xFFFF_FFFF)
    // In the last chunk, only the used part was written.
    guard chunk >= 0, chunk <= full.count, let found = chunk < full.count ? full[chunk] : last,
      offset + count <= (chunk < full.count ? found.bytes.count : used)
    else {
      mapped?.noteDamage()
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(rebasing: found.bytes[offset..<offset + count])
  }

  /// The maximum total length of its texts.
  @inline(__always)
  var byteCountMax: Int { byteCount + mappedReader.byteCount }

  /// Returns whether the text with that name equals `text`.
  @inline(__always)
  func holds(_ name: UInt64, _ text: UnsafeRawBufferPointer) -> Bool {
    bytes(name, count: text.count).hasSameBytes(as: text)
  }

  /// Checks all texts of the snapshot, so that later reads cannot encounter damage.
  func loadAll() { mapped?.loadAll() }
}
