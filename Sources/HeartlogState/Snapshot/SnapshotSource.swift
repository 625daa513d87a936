import CXXHash
import Synchronization

/// The bytes of a mapped snapshot, handed out once their checksums were found to hold.
///
/// Who meets damage is given zeros, and finds `isDamaged` when he has finished: then all that was read must be thrown away.
final class SnapshotSource: Sendable {
  nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
  /// Keeps `bytes` mapped.
  private let owner: any AnyObject & Sendable
  /// What the checksums are made with, so that pages of another snapshot never pass.
  let seed: UInt64
  private let damage = Atomic<Bool>(false)

  init(_ bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable, seed: UInt64) {
    self.bytes = bytes
    self.owner = owner
    self.seed = seed
  }

  /// Whether anything that was asked for is not as it was written.
  var isDamaged: Bool { damage.load(ordering: .relaxed) }

  func noteDamage() { damage.store(true, ordering: .relaxed) }

  /// `count` bytes, and whether their checksum is `checksum`.
  func holds(_ offset: Int, _ count: Int, checksum: UInt64) -> Bool {
    checksum
      == Self.checksum(
        UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]), seed: seed, offset: offset)
  }

  /// XXH3-64 of bytes that stand at an offset of a snapshot, xor seed and offset: a seed of XXH3 itself would cost as much as the bytes of
  /// a part of a page.
  static func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt64, offset: Int) -> UInt64 {
    XXH3_64bits(bytes.baseAddress, bytes.count) ^ (seed &+ UInt64(offset))
  }

  /// What stands for a damaged page.
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
