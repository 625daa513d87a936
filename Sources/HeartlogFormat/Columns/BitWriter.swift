/// Appends bits to bytes, starting at the lowest bit of each byte.
struct BitWriter {
  private var bytes: [UInt8] = []
  /// Fewer than 8 bits that do not fill a byte yet.
  private var pending: UInt64 = 0
  private var pendingCount = 0

  init(bitCount: Int) { bytes.reserveCapacity(bitCount / 8 + 1) }

  /// Appends the `width` lowest bits of `value`, 0 to 64.
  mutating func write(_ value: UInt64, width: Int) {
    // 7 pending bits and 56 new ones fit into a word.
    if width > 56 {
      writeNarrow(value & 0xFFFF_FFFF, width: 32)
      writeNarrow(value >> 32 & ~(~0 << UInt64(width - 32)), width: width - 32)
    } else {
      writeNarrow(value & ~(~0 << UInt64(width)), width: width)
    }
  }

  private mutating func writeNarrow(_ value: UInt64, width: Int) {
    pending |= value << UInt64(pendingCount)
    pendingCount += width
    while pendingCount >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: pending))
      pending >>= 8
      pendingCount -= 8
    }
  }

  /// Returns all bytes, the last one padded with zeros.
  consuming func finish() -> [UInt8] {
    if pendingCount > 0 { bytes.append(UInt8(truncatingIfNeeded: pending)) }
    return bytes
  }
}
