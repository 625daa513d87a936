import AppleBranches
import HeartlogFormat
import TestSupport
import Testing

@Suite("XXH3-64 in Swift, compared with libxxhash")
struct XXH3Tests {
  @Test("every length from 0 to 4,096", arguments: [0, 1, 0x9E37_79B1_85EB_CA87, .max] as [UInt64])
  func everyLength(seed: UInt64) {
    var random = SeededGenerator(seed: 1)
    random.bytes(4_103).withUnsafeBytes { bytes in
      let different = (0...4_096).filter { count in
        // Aligned and not.
        let part = UnsafeRawBufferPointer(rebasing: bytes[count % 8..<count % 8 + count])
        return AppleBranches.XXH3.hash(part, seed: seed) != HeartlogFormat.XXH3.hash(part, seed: seed)
      }
      #expect(different == [])
    }
  }

  @Test("random data of any size up to 2 MB")
  func randomData() {
    var random = SeededGenerator(seed: 2)
    random.bytes(2_000_000).withUnsafeBytes { bytes in
      for bits in 12...20 {
        let count = (1 << bits) + Int.random(in: -1...(1 << bits - 1), using: &random)
        let start = Int.random(in: 0...bytes.count - count, using: &random)
        let part = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
        for seed in [0, random.next()] {
          #expect(
            AppleBranches.XXH3.hash(part, seed: seed) == HeartlogFormat.XXH3.hash(part, seed: seed),
            "\(count) bytes, seed \(seed)")
        }
      }
    }
  }

  @Test("no bytes at no address")
  func nothing() {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    #expect(AppleBranches.XXH3.hash(nothing, seed: 0) == 0x2D06_8005_38D3_94C2)
    #expect(HeartlogFormat.XXH3.hash(nothing, seed: 0) == 0x2D06_8005_38D3_94C2)
  }
}
