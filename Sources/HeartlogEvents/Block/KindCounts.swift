/// How many events of a block have which parts.
struct KindCounts {
  private(set) var items = 0
  private(set) var dates = 0
  private(set) var fields = 0
  private(set) var members = 0
  private(set) var withheld = 0

  init(_ kinds: [EventHeader]) {
    kinds.withUnsafeBytes { bytes in
      var offset = 0
      while offset + 8 <= bytes.count {
        add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), count: 8)
        offset += 8
      }
      while offset < bytes.count {
        add(UInt64(bytes[offset]), count: 1)
        offset += 1
      }
    }
  }

  /// Adds up to eight events, one byte each; the bytes above them are zero.
  @inline(__always)
  private mutating func add(_ heads: UInt64, count: Int) {
    // Actions 5 and 6 are not events, and 5 is a withheld record: 7 has been rejected.
    let others = heads >> 2 & (heads >> 1 | heads)
    items &+= count &- Self.sum(others)
    withheld &+= Self.sum(others & heads)
    dates &+= Self.sum(heads >> 3)
    fields &+= Self.sum(heads >> 4)
    members &+= Self.sum(heads >> 5)
  }

  /// The number of bytes with the lowest bit set: the highest byte of the product is the sum of all bytes.
  @inline(__always)
  private static func sum(_ word: UInt64) -> Int {
    Int(truncatingIfNeeded: ((word & 0x0101_0101_0101_0101) &* 0x0101_0101_0101_0101) >> 56)
  }
}
