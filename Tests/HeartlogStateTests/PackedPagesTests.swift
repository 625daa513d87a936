import HeartlogFormat
import TestSupport
import Testing

@testable import HeartlogState

@Suite("Packed pages")
struct PackedPagesTests {
  private let columns = [
    PackedColumn(offset: 0, byteCount: 8), PackedColumn(offset: 8, byteCount: 4),
    PackedColumn(offset: 12, byteCount: 1),
  ]

  private func packed(_ records: [UInt8], _ count: Int) -> [UInt8] {
    records.withUnsafeBytes { PagePacking.pack($0, count: count, stride: 16, columns) }
  }

  private func unpacked(_ packed: [UInt8], _ count: Int, _ wanted: Range<Int>? = nil) -> [UInt8]? {
    let wanted = wanted ?? 0..<count
    var records = [UInt8](repeating: 0, count: wanted.count * 16)
    let isWhole = records.withUnsafeMutableBytes { records in
      columns.withUnsafeBufferPointer { columns in
        // As much may be read after them.
        (packed + [UInt8](repeating: 0xEE, count: 8)).withUnsafeBytes {
          PagePacking.unpack(
            UnsafeRawBufferPointer(rebasing: $0[..<packed.count]), count: count, wanted, stride: 16, columns,
            into: records.baseAddress!)
        }
      }
    }
    return isWhole ? records : nil
  }

  private func records(_ values: [(UInt64, UInt32, UInt8)]) -> [UInt8] {
    values.flatMap { value in
      withUnsafeBytes(of: value.0.littleEndian) { Array($0) }
        + withUnsafeBytes(of: value.1.littleEndian) { Array($0) }
        + [value.2, 0, 0, 0]
    }
  }

  @Test(
    "records come back as they were, few and many, near each other and far apart",
    arguments: 1...60 as ClosedRange<UInt64>)
  func roundTrip(seed: UInt64) throws {
    print("packed page: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let count = Int.random(in: 1...128, using: &generator)
    func column() -> () -> UInt64 {
      let top = UInt64.random(in: 0...64, using: &generator)
      let (base, step) = (generator.next() >> UInt64.random(in: 0...63, using: &generator), top)
      var copy = SeededGenerator(seed: generator.next())
      let kind = Int.random(in: 0...3, using: &generator)
      var value = base
      return {
        switch kind {
        case 0: return 0
        case 1: return base
        case 2: return copy.next() >> (64 - min(top, 63))
        default:
          value = value &+ UInt64.random(in: 0...step + 1, using: &copy) &- 3
          return value
        }
      }
    }
    let (first, second, third) = (column(), column(), column())
    let records = records(
      (0..<count).map { _ in
        (first(), UInt32(truncatingIfNeeded: second()), UInt8(truncatingIfNeeded: third()))
      })
    let packed = packed(records, count)
    #expect(packed.count <= 4 + (1 + count) * 13)
    #expect(unpacked(packed, count) == records)
    let start = Int.random(in: 0..<count, using: &generator)
    let some = start..<Int.random(in: start...count, using: &generator)
    #expect(unpacked(packed, count, some) == Array(records[some.lowerBound * 16..<some.upperBound * 16]))
    for cut in 0..<packed.count { #expect(unpacked(Array(packed[..<cut]), count) == nil) }
    #expect(unpacked(packed + [0], count) == nil)
  }

  @Test("the bytes are those of the format")
  func bytes() {
    let records = records([(1_000, 7, 0), (1_001, 7, 1), (999, 7, 0), (66_534, 7, 0)])
    #expect(
      packed(records, 4) == [3, 0x82, 0x80, 1]
        + [0xE7, 3, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]
        + [1, 0, 0, 2, 0, 1, 0, 0, 0, 0xFF, 0xFF, 0])
    // Differences of whole multiples of 2^16, and a page of zeros.
    let apart = self.records((0..<3).map { (5 + $0 << 16, UInt32($0) << 24, 0) })
    #expect(
      packed(apart, 3) == [2, 0xA1, 0x31, 0] + [5, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 1, 1, 2, 2])
    #expect(packed([UInt8](repeating: 0, count: 32), 2) == [0, 0, 0, 0])
  }

  @Test("what no page begins with is refused")
  func malformed() {
    #expect(unpacked([0, 0, 0, 0], 3) == [UInt8](repeating: 0, count: 48))
    // A row is longer or shorter than its integers, an integer has nine bytes, and a base is missing.
    for page: [UInt8] in [
      [1, 0, 0, 0, 7, 7, 7], [1, 2, 0, 0, 7, 7, 7], [9, 9, 0, 0] + [UInt8](repeating: 1, count: 27),
      [0, 0x80, 0, 0], [0, 0, 0x80, 0, 1, 2, 3], [1, 1, 0, 0, 7, 7], [0, 0, 0],
    ] { #expect(unpacked(page, 3) == nil) }
  }
}
