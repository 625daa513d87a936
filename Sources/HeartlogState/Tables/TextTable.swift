/// The bytes of texts, one after the other: those of a mapped snapshot, and in memory what was written since.
///
/// A text is named by one word, which tells where it lies. No text is ever overwritten; what is given back leaves a gap, and
/// `hasManyGaps` says when it is time to write those that are still needed to a new table.
struct TextTable: @unchecked Sendable {
  private final class Chunk {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ count: Int) { bytes = .allocate(byteCount: count, alignment: 8) }

    deinit { bytes.deallocate() }
  }

  /// Set in the name of a text of the snapshot.
  static let mappedBit: UInt64 = 1 << 63
  private static let chunkBytes = (least: 1 << 10, most: 1 << 20)
  private static let gapBytesMin = 1 << 20

  private let mapped: MappedTexts?
  private var full: [Chunk] = []
  /// Where texts are added, by the only table that it belongs to.
  private var current: Chunk?
  private var used = 0
  private var byteCount = 0
  private var gapBytes = 0

  init(_ mapped: MappedTexts? = nil) { self.mapped = mapped }

  /// Stores a text and names it.
  mutating func append(_ text: UnsafeRawBufferPointer) -> UInt64 {
    let place: UnsafeMutableRawPointer
    if isKnownUniquelyReferenced(&current), let current, used + text.count <= current.bytes.count,
      let start = current.bytes.baseAddress
    {
      place = start + used
    } else {
      place = makeRoom(text.count)
    }
    if let source = text.baseAddress { place.copyMemory(from: source, byteCount: text.count) }
    used += text.count
    byteCount += text.count
    return UInt64(UInt(bitPattern: place))
  }

  private mutating func makeRoom(_ count: Int) -> UnsafeMutableRawPointer {
    if let current { full.append(current) }
    let next = min(max(Self.chunkBytes.least, byteCount), Self.chunkBytes.most)
    let chunk = Chunk(max(next, count))
    guard let start = chunk.bytes.baseAddress else { preconditionFailure("a chunk has bytes") }
    current = chunk
    used = 0
    return start
  }

  /// Gives back a text of `count` bytes.
  mutating func remove(_ name: UInt64, count: Int) {
    if name & Self.mappedBit == 0 { gapBytes += count }
  }

  /// Whether most of its memory is gaps.
  var hasManyGaps: Bool { gapBytes > max(Self.gapBytesMin, byteCount / 2) }

  /// The bytes of a text, as long as the table lives; none where the snapshot has no such text.
  @inline(__always)
  func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer {
    guard name & Self.mappedBit == 0 else {
      return mapped?.bytes(Int(name & ~Self.mappedBit), count: count)
        ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: UInt(name)), count: count)
  }

  /// Checks all texts of the snapshot, so that no later look can meet a damaged one.
  func loadAll() { mapped?.loadAll() }
}
