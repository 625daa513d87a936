/// The id of a key epoch: the first 16 bytes of SHA-256 of its object.
package struct EpochID: Hashable, Sendable, Comparable, CustomStringConvertible {
  package static let byteCount = 16
  /// The 16 bytes.
  package let bytes: [UInt8]

  /// Reads 16 bytes; nil for any other count.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = Array(bytes)
  }

  /// The id of an object.
  package init(of object: [UInt8]) {
    bytes = Array(SHA256Hasher.digest(of: object).bytes.prefix(Self.byteCount))
  }

  package static func < (a: EpochID, b: EpochID) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }

  /// 32 lower-case hexadecimal digits.
  package var description: String { Hexadecimal.text(bytes) }

  /// The name of the epoch's object on a carrier.
  package var objectName: String { "keys/\(self)" }
}

/// The secret of a key epoch, from which the keys of objects are derived.
package struct EpochKey: Hashable, Sendable {
  /// The epoch.
  package let epoch: EpochID
  let bytes: [UInt8]

  /// What an epoch's object says of its key, so that all members know that they have the same one.
  static func commitment(to bytes: [UInt8], in vault: VaultID) -> [UInt8] {
    KeyLabel.commitment.derive(from: bytes, vault.bytes)
  }

  /// The key that wraps the key of an epoch before the one of `bytes`.
  static func wrappingKey(of bytes: [UInt8], for previous: EpochID, in vault: VaultID) -> WrappingKey {
    WrappingKey(bytes: KeyLabel.previous.derive(from: bytes, salt: previous.bytes, vault.bytes))
  }
}

extension EpochKey: CustomStringConvertible, CustomReflectable {
  /// Not the key: secrets do not get into messages.
  package var description: String { "key of epoch \(epoch)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
