/// The numbers of an encrypted object. Source: docs/encryption.md, "Objects".
package enum ObjectLayout {
  static let magic: [UInt8] = [0x89] + Array("HLOBJ\r\n".utf8)
  static let version: UInt8 = 1
  static let saltByteCount = 16
  /// The number of bytes before the chunks.
  package static let headerByteCount = magic.count + 1 + EpochID.byteCount + saltByteCount
  static let chunkByteCount = 65_536
  static let sealedChunkByteCount = chunkByteCount + ChaCha20Poly1305.tagByteCount
  static let lengthByteCount = 4
  static let paddedByteCountMin = 512
  /// The most bytes of content: those of a run file.
  package static let contentBytesMax = 134_217_728
  static let chunkCountMax = UInt64(chunkCount(contentBytesMax))

  /// The size class of a content: its bytes, the bytes of its length, and zeros.
  static func paddedByteCount(_ contentByteCount: Int) -> Int {
    let least = contentByteCount + lengthByteCount
    guard least <= chunkByteCount else {
      return (least + chunkByteCount - 1) / chunkByteCount * chunkByteCount
    }
    var padded = paddedByteCountMin
    while padded < least { padded *= 2 }
    return padded
  }

  private static func chunkCount(_ contentByteCount: Int) -> Int {
    (paddedByteCount(contentByteCount) + chunkByteCount - 1) / chunkByteCount
  }

  /// The number of bytes of an object.
  package static func objectByteCount(_ contentByteCount: Int) -> Int {
    headerByteCount + paddedByteCount(contentByteCount)
      + chunkCount(contentByteCount) * ChaCha20Poly1305.tagByteCount
  }
}

/// The beginning of an object, which says what key it needs.
package struct ObjectHeader: Hashable, Sendable {
  /// The epoch from whose key the object's is derived.
  package let epoch: EpochID
  let salt: [UInt8]

  init(epoch: EpochID, salt: [UInt8]) {
    precondition(salt.count == ObjectLayout.saltByteCount)
    self.epoch = epoch
    self.salt = salt
  }

  /// Whether bytes look like an encrypted object.
  package static func begins(_ bytes: [UInt8]) -> Bool { bytes.starts(with: ObjectLayout.magic) }

  /// Reads the first `ObjectLayout.headerByteCount` bytes of an object.
  ///
  /// - Throws: `EncryptionError`.
  package init(_ object: some Collection<UInt8>) throws(EncryptionError) {
    let bytes = Array(object.prefix(ObjectLayout.headerByteCount))
    guard bytes.starts(with: ObjectLayout.magic) else {
      throw .malformed("bytes that are no encrypted object")
    }
    guard bytes.count == ObjectLayout.headerByteCount else {
      throw .malformed("an encrypted object that ends in its header")
    }
    let versionOffset = ObjectLayout.magic.count
    guard bytes[versionOffset] == ObjectLayout.version else { throw .laterVersion(bytes[versionOffset]) }
    let epochOffset = versionOffset + 1
    guard let epoch = EpochID(bytes: bytes[epochOffset..<epochOffset + EpochID.byteCount]) else {
      throw .malformed("an encrypted object that ends in its header")
    }
    self.init(epoch: epoch, salt: Array(bytes[(epochOffset + EpochID.byteCount)...]))
  }

  /// The bytes at the beginning of the object, which every chunk authenticates.
  var bytes: [UInt8] { ObjectLayout.magic + [ObjectLayout.version] + epoch.bytes + salt }
}

/// What encrypts the chunks of one object.
struct ObjectKey: Sendable {
  private let bytes: [UInt8]
  private let header: [UInt8]

  init(_ key: EpochKey, header: ObjectHeader, vault: VaultID, name: ObjectName) {
    precondition(header.epoch == key.epoch, "an object is encrypted with the key of its epoch")
    bytes = KeyLabel.object.derive(from: key.bytes, salt: header.salt, vault.bytes + Array(name.text.utf8))
    self.header = header.bytes
  }

  /// The salt of a content. It follows from the content, so that a second try makes the same object, and no two contents have the same
  /// key.
  static func salt(_ key: EpochKey, content: Digest, vault: VaultID, name: ObjectName) -> [UInt8] {
    let name = name.replacingContent(by: [UInt8](repeating: 0, count: 8))
    return KeyLabel.salt.derive(
      ObjectLayout.saltByteCount, from: key.bytes, salt: content.bytes, vault.bytes + Array(name.text.utf8))
  }

  func seal(_ text: [UInt8], chunk: UInt64, isLast: Bool) -> [UInt8] {
    text.withUnsafeBytes {
      ChaCha20Poly1305.seal($0, key: bytes, nonce: Self.nonce(chunk, isLast), authenticating: header)
    }
  }

  func open(_ sealed: [UInt8], chunk: UInt64, isLast: Bool) -> [UInt8]? {
    sealed.withUnsafeBytes {
      ChaCha20Poly1305.open($0, key: bytes, nonce: Self.nonce(chunk, isLast), authenticating: header)
    }
  }

  private static func nonce(_ chunk: UInt64, _ isLast: Bool) -> [UInt8] {
    withUnsafeBytes(of: chunk.littleEndian) { Array($0) } + [0, 0, 0, isLast ? 1 : 0]
  }
}
