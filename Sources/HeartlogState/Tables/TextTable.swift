/// The bytes of texts, one after the other: those of a mapped snapshot, and in memory what was written since.
///
/// A text is named by one word, which tells where it lies. No text is ever overwritten; what is given back leaves a gap, and
/// `hasManyGaps` says when it is time to write those that are still needed to a new table.
struct TextTable: TextSource, @unchecked Sendable {
  private final class Chunk {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ count: Int) {
      bytes = .allocate(byteCount: count, alignment: 8)
      bytes.prefault()
    }

    deinit { bytes.deallocate() }
  }

  /// Set in the name of a text of the snapshot. Other names are the chunk, from 1, in the high half, and the offset in it in the low.
  private static let mappedBit: UInt64 = 1 << 63
  private static let chunkBytes = (least: 1 << 10, most: 1 << 20)
  private static let gapBytesMin = 1 << 20

  private let mapped: MappedTexts?
  /// The texts of the snapshot, for as long as the table lives.
  let mappedReader: MappedReader
  private var full: [Chunk] = []
  /// Texts are added here, by the only table that it belongs to.
  private var last: Chunk?
  private var used = 0
  private var byteCount = 0
  private var gapBytes = 0

  init(_ mapped: MappedTexts? = nil) {
    self.mapped = mapped
    mappedReader = MappedReader(texts: mapped.map { .passUnretained($0) }, byteCount: mapped?.byteCount ?? 0)
  }

  /// A look through it counts no references.
  struct MappedReader {
    fileprivate let texts: Unmanaged<MappedTexts>?
    fileprivate let byteCount: Int

    /// The bytes of a text of the snapshot, none where there is no such text; nil for the name of another one.
    @inline(__always)
    func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer? {
      guard TextTable.isMapped(name) else { return nil }
      return texts?._withUnsafeGuaranteedRef { $0.bytes(Int(name & ~mappedBit), count: count) }
        ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Has the texts at an offset of the snapshot's brought into the cache.
    @inline(__always)
    func seek(_ offset: Int) { texts?._withUnsafeGuaranteedRef { $0.seek(offset) } }
  }

  /// The name of the text at an offset of a snapshot's texts.
  static func mappedName(_ offset: Int) -> UInt64 { mappedBit | UInt64(offset) }

  /// Whether that is the name of a text of the snapshot.
  static func isMapped(_ name: UInt64) -> Bool { name & mappedBit != 0 }

  /// A table without any texts but those of the snapshot.
  var emptied: TextTable { TextTable(mapped) }

  /// Stores a text and names it.
  mutating func append(_ text: UnsafeRawBufferPointer) -> UInt64 {
    if !isKnownUniquelyReferenced(&last) || used + text.count > (last?.bytes.count ?? 0) {
      makeRoom(text.count)
    }
    guard let start = last?.bytes.baseAddress, let source = text.baseAddress else {
      preconditionFailure("an empty text has no name")
    }
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

  /// Gives back a text of `count` bytes.
  mutating func remove(_ name: UInt64, count: Int) {
    if !Self.isMapped(name) { gapBytes += count }
  }

  /// Whether most of its memory is gaps.
  var hasManyGaps: Bool { gapBytes > max(Self.gapBytesMin, byteCount / 2) }

  /// The bytes of a text, as long as the table lives; none where there is no such text, which only a snapshot can claim.
  @inline(__always)
  func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer {
    if let mapped = mappedReader.bytes(name, count: count) { return mapped }
    let chunk = Int(name >> 32) - 1
    let offset = Int(name & 0xFFFF_FFFF)
    // Of the last chunk what is used: what lies behind was never written.
    guard chunk >= 0, chunk <= full.count, let found = chunk < full.count ? full[chunk] : last,
      offset + count <= (chunk < full.count ? found.bytes.count : used)
    else {
      mapped?.noteDamage()
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(rebasing: found.bytes[offset..<offset + count])
  }

  /// How many bytes its texts can be.
  @inline(__always)
  var byteCountMax: Int { byteCount + mappedReader.byteCount }

  /// Whether the text of that name is this one.
  @inline(__always)
  func holds(_ name: UInt64, _ text: UnsafeRawBufferPointer) -> Bool {
    bytes(name, count: text.count).hasSameBytes(as: text)
  }

  /// Checks all texts of the snapshot, so that no later look can meet a damaged one.
  func loadAll() { mapped?.loadAll() }
}
