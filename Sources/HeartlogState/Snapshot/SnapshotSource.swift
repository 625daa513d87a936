import HeartlogFormat
import Synchronization

/// The bytes of a mapped snapshot, read only after their checksums were verified.
///
/// Damaged bytes read as zeros and set `isDamaged`. Check it after reading; if it is set, discard everything that was read.
final class SnapshotSource: Sendable {
  nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
  /// Keeps `bytes` mapped.
  private let owner: any AnyObject & Sendable
  /// Part of every checksum, so that a page of another snapshot never passes.
  let seed: UInt64
  private let damage = Atomic<Bool>(false)

  init(_ bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable, seed: UInt64) {
    self.bytes = bytes
    self.owner = owner
    self.seed = seed
  }

  /// Whether any bytes that were read were damaged.
  var isDamaged: Bool { damage.load(ordering: .relaxed) }

  func noteDamage() { damage.store(true, ordering: .relaxed) }

  /// Returns whether the checksum of `count` bytes is `checksum`.
  func holds(_ offset: Int, _ count: Int, checksum: UInt64) -> Bool {
    checksum
      == Self.checksum(
        UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]), seed: seed, offset: offset)
  }

  /// Returns XXH3-64 of bytes at an offset of a snapshot, xor the sum of seed and offset. Seeding XXH3 itself would cost as much as hashing
  /// a part of a page.
  static func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt64, offset: Int) -> UInt64 {
    XXH3.hash(bytes, seed: 0) ^ (seed &+ UInt64(offset))
  }

  /// Read in place of a damaged page.
  nonisolated(unsafe) static let zeros = UnsafeRawPointer(
    UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 64).zeroed)
}

extension UnsafeMutableRawBufferPointer {
  fileprivate var zeroed: UnsafeMutableRawPointer {
    initializeMemory(as: UInt8.self, repeating: 0)
    guard let start = baseAddress else { preconditionFailure("it has bytes") }
    return start
  }
}
