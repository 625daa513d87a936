/// Makes an encrypted object, a chunk at a time. It holds one chunk and what it was just given.
package struct ObjectSealer: ~Copyable {
  /// The name of the object, with its own `content`.
  package let name: ObjectName
  private let key: ObjectKey
  private let content: Digest
  private let contentByteCount: Int
  private var hasher = SHA256Hasher()
  private var taken = 0
  private var chunk: UInt64 = 0
  /// What is encrypted next; at most a chunk.
  private var buffer: [UInt8]
  /// The header, until it is passed on.
  private var output: [UInt8]

  /// Begins an object.
  ///
  /// - Parameters:
  ///   - name: the name of the file, with any `content`.
  ///   - content: SHA-256 of all bytes of the file.
  ///   - byteCount: their number.
  /// - Throws: `EncryptionError`: the content is too large.
  package init(
    _ name: ObjectName, content: Digest, byteCount: Int, vault: VaultID, key: EpochKey
  ) throws(EncryptionError) {
    guard (0...ObjectLayout.contentBytesMax).contains(byteCount) else {
      throw .malformed("a content of \(byteCount) bytes, the most is \(ObjectLayout.contentBytesMax)")
    }
    let salt = ObjectKey.salt(key, content: content, vault: vault, name: name)
    let header = ObjectHeader(epoch: key.epoch, salt: salt)
    self.name = name.replacingContent(by: Array(salt.prefix(8)))
    self.key = ObjectKey(key, header: header, vault: vault, name: self.name)
    self.content = content
    contentByteCount = byteCount
    output = header.bytes
    buffer = withUnsafeBytes(of: UInt32(byteCount).littleEndian) { Array($0) }
    buffer.reserveCapacity(ObjectLayout.chunkByteCount)
  }

  /// Takes the next bytes of the content, and returns the next bytes of the object.
  ///
  /// - Throws: `EncryptionError`: there are more bytes than were announced.
  package mutating func seal(_ bytes: UnsafeRawBufferPointer) throws(EncryptionError) -> [UInt8] {
    guard bytes.count <= contentByteCount - taken else { throw Self.anotherContent }
    taken += bytes.count
    hasher.update(bytes)
    fill(with: bytes)
    defer { output = [] }
    return output
  }

  /// Returns the last bytes of the object.
  ///
  /// - Throws: `EncryptionError`: the content was not the announced one. What was returned before must not be stored under any name,
  ///   because another content may have the same key.
  package consuming func finish() throws(EncryptionError) -> [UInt8] {
    guard taken == contentByteCount, hasher.finish() == content else { throw Self.anotherContent }
    let padding =
      ObjectLayout.paddedByteCount(contentByteCount) - ObjectLayout.lengthByteCount - contentByteCount
    // Less than a chunk and what is left of the buffer.
    [UInt8](repeating: 0, count: padding).withUnsafeBytes { fill(with: $0) }
    return output + key.seal(buffer, chunk: chunk, isLast: true)
  }

  private mutating func fill(with bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      // A full chunk is encrypted when more follows, because only then it is not the last.
      if buffer.count == ObjectLayout.chunkByteCount {
        output += key.seal(buffer, chunk: chunk, isLast: false)
        chunk += 1
        buffer.removeAll(keepingCapacity: true)
      }
      let part = rest.prefix(ObjectLayout.chunkByteCount - buffer.count)
      buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: part))
      rest = rest.dropFirst(part.count)
    }
  }

  private static let anotherContent = EncryptionError.malformed(
    "the content changed while it was being encrypted")
}

extension ObjectSealer {
  /// Makes an object of a content in memory.
  package static func object(
    _ name: ObjectName, content: [UInt8], vault: VaultID, key: EpochKey
  ) throws(EncryptionError) -> (name: ObjectName, bytes: [UInt8]) {
    var sealer = try ObjectSealer(
      name, content: SHA256Hasher.digest(of: content), byteCount: content.count, vault: vault, key: key)
    let name = sealer.name
    var bytes = try content.withBytes { (content) throws(EncryptionError) in try sealer.seal(content) }
    bytes += try sealer.finish()
    return (name, bytes)
  }
}
