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
    buffer = UInt32(byteCount).littleEndianBytes
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

/// Reads an encrypted object, a chunk at a time. It holds one chunk and what it was just given.
package struct ObjectOpener: ~Copyable {
  private let header: ObjectHeader
  private let name: ObjectName
  private let vault: VaultID
  private let epochKey: EpochKey
  private let key: ObjectKey
  private var hasher = SHA256Hasher()
  private var chunk: UInt64 = 0
  /// What is decrypted next: at most a chunk, which is not decrypted before it is known whether another follows.
  private var buffer: [UInt8] = []
  /// The number of bytes of content; nil before the first chunk.
  private var contentByteCount: Int?
  /// The number of bytes that were decrypted, with those of the length and the padding.
  private var decrypted = 0

  /// Begins an object behind its header.
  ///
  /// - Parameters:
  ///   - name: the name under which the carrier has it.
  ///   - key: that of the epoch in the header.
  /// - Throws: `EncryptionError`: the header is not that of this name, or the key is not that of its epoch.
  package init(
    _ header: ObjectHeader, name: ObjectName, vault: VaultID, key: EpochKey
  ) throws(EncryptionError) {
    guard header.epoch == key.epoch else {
      throw .wrongKey("an object of epoch \(header.epoch) does not open with the key of epoch \(key.epoch)")
    }
    guard header.salt.starts(with: name.content) else {
      throw .malformed("an object whose salt is not the one in its name")
    }
    self.header = header
    self.name = name
    self.vault = vault
    epochKey = key
    self.key = ObjectKey(key, header: header, vault: vault, name: name)
  }

  /// Takes the next bytes of the object, and returns the next bytes of the content.
  ///
  /// They were authenticated, but may be used only after `finish`: until then, nothing tells whether this is all.
  ///
  /// - Throws: `EncryptionError`.
  package mutating func open(_ bytes: UnsafeRawBufferPointer) throws(EncryptionError) -> [UInt8] {
    var content: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      if buffer.count == ObjectLayout.sealedChunkByteCount { content += try decrypt(isLast: false) }
      let part = rest.prefix(ObjectLayout.sealedChunkByteCount - buffer.count)
      buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: part))
      rest = rest.dropFirst(part.count)
    }
    return content
  }

  /// Returns the last bytes of the content. The whole of it may be used now.
  ///
  /// - Throws: `EncryptionError`.
  package consuming func finish() throws(EncryptionError) -> [UInt8] {
    let content = try decrypt(isLast: true)
    guard let contentByteCount, decrypted == ObjectLayout.paddedByteCount(contentByteCount) else {
      throw .malformed("an object that is not padded to the size class of its content")
    }
    let salt = ObjectKey.salt(epochKey, content: hasher.finish(), vault: vault, name: name)
    guard salt == header.salt else { throw .malformed("an object whose salt is not that of its content") }
    return content
  }

  private mutating func decrypt(isLast: Bool) throws(EncryptionError) -> [UInt8] {
    guard chunk < ObjectLayout.chunkCountMax else {
      throw .malformed("an object of more than \(ObjectLayout.chunkCountMax) chunks")
    }
    guard var text = key.open(buffer, chunk: chunk, isLast: isLast) else {
      throw .doesNotDecrypt(chunk: chunk)
    }
    buffer.removeAll(keepingCapacity: true)
    if chunk == 0 {
      guard text.count >= ObjectLayout.paddedByteCountMin else {
        throw .malformed("an object that is not padded to a size class")
      }
      let length = text.prefix(ObjectLayout.lengthByteCount).reversed().reduce(0) { $0 << 8 | Int($1) }
      guard length <= ObjectLayout.contentBytesMax else {
        throw .malformed("a content of \(length) bytes, the most is \(ObjectLayout.contentBytesMax)")
      }
      contentByteCount = length
    }
    let begin = decrypted
    decrypted += text.count
    chunk += 1
    // What lies between the length and the padding.
    let end = ObjectLayout.lengthByteCount + (contentByteCount ?? 0)
    let used = min(max(end - begin, 0), text.count)
    guard text[used...].allSatisfy({ $0 == 0 }) else {
      throw .malformed("an object whose padding is not zeros")
    }
    text.removeLast(text.count - used)
    if begin == 0 { text.removeFirst(min(ObjectLayout.lengthByteCount, text.count)) }
    hasher.update(text)
    return text
  }

  /// Reads an object in memory.
  ///
  /// - Parameter keys: those of all epochs that the reader knows.
  /// - Throws: `EncryptionError`.
  package static func content(
    of object: [UInt8], name: ObjectName, vault: VaultID, keys: [EpochID: EpochKey]
  ) throws(EncryptionError) -> [UInt8] {
    let header = try ObjectHeader(object)
    guard let key = keys[header.epoch] else { throw .wrongKey("no key of epoch \(header.epoch) is known") }
    var opener = try ObjectOpener(header, name: name, vault: vault, key: key)
    var content = try object.withBytes { (object) throws(EncryptionError) in
      try opener.open(UnsafeRawBufferPointer(rebasing: object[ObjectLayout.headerByteCount...]))
    }
    content += try opener.finish()
    return content
  }
}
