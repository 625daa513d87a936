/// An encrypted object. Source: docs/encryption.md, "Objects".
package enum SealedObject {
  /// Makes an object.
  ///
  /// - Parameter name: the name of the file, with any `content`.
  /// - Returns: the object, and its name, with its own `content`.
  /// - Throws: `MalformedError`: the content is too large.
  package static func seal(
    _ content: [UInt8], name: ObjectName, vault: VaultID, key epochKey: EpochKey
  ) throws(MalformedError) -> (name: ObjectName, bytes: [UInt8]) {
    try checkByteCount(content.count)
    let salt = ObjectKey.salt(
      epochKey, content: SHA256Hasher.digest(of: content), vault: vault, name: name)
    let header = ObjectHeader(epoch: epochKey.epoch, salt: salt)
    let name = name.replacingContent(by: Array(salt.prefix(8)))
    let key = ObjectKey(epochKey, header: header, vault: vault, name: name)
    let padded = ObjectLayout.paddedByteCount(content.count)
    var bytes = header.bytes
    bytes.reserveCapacity(ObjectLayout.objectByteCount(content.count))
    for start in stride(from: 0, to: padded, by: ObjectLayout.chunkByteCount) {
      let end = min(start + ObjectLayout.chunkByteCount, padded)
      // The length stands before the content, and zeros after it.
      var text = start == 0 ? UInt32(content.count).littleEndianBytes : []
      let first = min(start + text.count - ObjectLayout.lengthByteCount, content.count)
      text += content[first..<min(end - ObjectLayout.lengthByteCount, content.count)]
      text += repeatElement(0, count: end - start - text.count)
      bytes += key.seal(
        text, chunk: UInt64(start / ObjectLayout.chunkByteCount), isLast: end == padded)
    }
    assert(bytes.count == ObjectLayout.objectByteCount(content.count), "an object has its size")
    return (name, bytes)
  }

  /// The content of an object.
  ///
  /// - Parameters:
  ///   - name: the name under which the carrier has it.
  ///   - keys: those of all epochs that the reader knows.
  /// - Throws: `MalformedError`.
  package static func open(
    _ object: [UInt8], name: ObjectName, vault: VaultID, keys: [EpochID: EpochKey]
  ) throws(MalformedError) -> [UInt8] {
    let header = try ObjectHeader(object)
    guard let epochKey = keys[header.epoch] else {
      throw MalformedError("no key of epoch \(header.epoch) is known")
    }
    guard header.salt.starts(with: name.content) else {
      throw MalformedError("an object whose salt is not the one in its name")
    }
    let chunks = object[ObjectLayout.headerByteCount...]
    guard chunks.count <= ObjectLayout.chunkCountMax * ObjectLayout.sealedChunkByteCount else {
      throw MalformedError("an object of more than \(ObjectLayout.chunkCountMax) chunks")
    }
    let key = ObjectKey(epochKey, header: header, vault: vault, name: name)
    var text: [UInt8] = []
    text.reserveCapacity(object.count)
    var chunk: UInt64 = 0
    var rest = chunks
    repeat {
      let sealed = rest.prefix(ObjectLayout.sealedChunkByteCount)
      rest = rest.dropFirst(sealed.count)
      guard let opened = key.open(sealed, chunk: chunk, isLast: rest.isEmpty) else {
        throw MalformedError("chunk \(chunk) does not decrypt: it was changed, or it is of another object")
      }
      text += opened
      chunk += 1
    } while !rest.isEmpty
    guard text.count >= ObjectLayout.paddedByteCountMin else {
      throw MalformedError("an object that is not padded to a size class")
    }
    let length = text.prefix(ObjectLayout.lengthByteCount).reversed().reduce(0) { $0 << 8 | Int($1) }
    try checkByteCount(length)
    guard text.count == ObjectLayout.paddedByteCount(length) else {
      throw MalformedError("an object that is not padded to the size class of its content")
    }
    guard text[(ObjectLayout.lengthByteCount + length)...].allSatisfy({ $0 == 0 }) else {
      throw MalformedError("an object whose padding is not zeros")
    }
    text.removeLast(text.count - ObjectLayout.lengthByteCount - length)
    text.removeFirst(ObjectLayout.lengthByteCount)
    let salt = ObjectKey.salt(epochKey, content: SHA256Hasher.digest(of: text), vault: vault, name: name)
    guard salt == header.salt else { throw MalformedError("an object whose salt is not that of its content") }
    return text
  }

  private static func checkByteCount(_ count: Int) throws(MalformedError) {
    guard count <= ObjectLayout.contentBytesMax else {
      throw MalformedError("a content of \(count) bytes, the most is \(ObjectLayout.contentBytesMax)")
    }
  }
}

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
  static let chunkCountMax = chunkCount(contentBytesMax)

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
  /// - Throws: `MalformedError`.
  package init(_ object: some Collection<UInt8>) throws(MalformedError) {
    let bytes = Array(object.prefix(ObjectLayout.headerByteCount))
    try ByteReader.checkStart(
      of: bytes, magic: ObjectLayout.magic, version: ObjectLayout.version, what: "encrypted object")
    (epoch, salt) = try ByteReader.readAll(bytes, from: ObjectLayout.magic.count + 1) {
      (reader) throws(MalformedError) in
      (try reader.epochID(), try reader.array(ObjectLayout.saltByteCount))
    }
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

  func open(_ sealed: ArraySlice<UInt8>, chunk: UInt64, isLast: Bool) -> [UInt8]? {
    sealed.withUnsafeBytes {
      ChaCha20Poly1305.open($0, key: bytes, nonce: Self.nonce(chunk, isLast), authenticating: header)
    }
  }

  private static func nonce(_ chunk: UInt64, _ isLast: Bool) -> [UInt8] {
    chunk.littleEndianBytes + [0, 0, 0, isLast ? 1 : 0]
  }
}

/// The name of an object on a carrier. Its `content`, the 16 digits before the last point, is the beginning of the object's salt.
package struct ObjectName: Hashable, Sendable, CustomStringConvertible {
  /// The name.
  package let text: String

  package var description: String { text }

  static let bytesMax = 255
  private static let contentDigits = 16

  /// Accepts a name of docs/shipping.md with the folders before it.
  ///
  /// - Throws: `MalformedError`.
  package init(_ text: some StringProtocol) throws(MalformedError) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.bytesMax, bytes.allSatisfy({ (0x21...0x7E).contains($0) }),
      let point = bytes.lastIndex(of: UInt8(ascii: ".")), point >= Self.contentDigits,
      point + 1 < bytes.count,
      bytes[point - Self.contentDigits..<point].allSatisfy({
        Hexadecimal.value(of: $0) != nil && !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0)
      })
    else {
      throw MalformedError("an object's name without 16 hexadecimal digits of content before its ending")
    }
    self.text = String(text)
  }

  /// The first eight bytes of the salt.
  package var content: [UInt8] { Hexadecimal.bytes(text[contentRange]) ?? [] }

  /// The same name with another content.
  func replacingContent(by content: [UInt8]) -> ObjectName {
    precondition(content.count == Self.contentDigits / 2)
    var other = text
    other.replaceSubrange(contentRange, with: Hexadecimal.text(content))
    return ObjectName(checked: other)
  }

  private init(checked text: String) { self.text = text }

  private var contentRange: Range<String.Index> {
    // The ending is all behind the last point, and all characters are of one byte.
    let point = text.utf8.lastIndex(of: UInt8(ascii: ".")) ?? text.endIndex
    return text.utf8.index(point, offsetBy: -Self.contentDigits)..<point
  }
}

extension ByteReader {
  /// Reads bytes by the rules of the format, from an offset to their end.
  static func readAll<R>(
    _ bytes: [UInt8], from offset: Int = 0, _ body: (inout ByteReader) throws(MalformedError) -> R
  ) throws(MalformedError) -> R {
    try bytes.withBytes { (bytes) throws(MalformedError) in
      var reader = ByteReader(bytes)
      _ = try reader.take(offset)
      let result = try body(&reader)
      try reader.end()
      return result
    }
  }

  /// Throws unless bytes begin with these and with this version.
  static func checkStart(
    of bytes: [UInt8], magic: [UInt8], version: UInt8, what: StaticString
  ) throws(MalformedError) {
    guard bytes.starts(with: magic), bytes.count > magic.count else {
      throw MalformedError("bytes that are no \(what)")
    }
    guard bytes[magic.count] == version else { throw .laterVersion(bytes[magic.count]) }
  }
}

extension MalformedError {
  static func laterVersion(_ version: UInt8) -> MalformedError {
    MalformedError("version \(version), which a later Heartlog made; this one knows version 1")
  }
}
