import Heartlog

/// The first eight bytes of a root: enough to detect streams that diverged by accident.
struct RootPrefix: Hashable, Sendable {
  /// The bytes as a little-endian number, so that `u64` writes them in their order.
  let word: UInt64

  init(word: UInt64) { self.word = word }

  init(_ root: Digest) {
    word = UInt64(littleEndian: root.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) })
  }

  /// The bytes in order, as 16 hexadecimal digits.
  var text: String { Hexadecimal.text(withUnsafeBytes(of: word.littleEndian) { Array($0) }) }
}
