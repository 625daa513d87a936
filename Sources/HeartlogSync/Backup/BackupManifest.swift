import Heartlog
import HeartlogFormat

/// What a finished backup contains. The format is specified in "Backups" in docs/format.md.
package struct BackupManifest: Hashable {
  struct Stream: Hashable {
    let replica: ReplicaID
    /// The run files with its commits, in order.
    let files: [RunFileName]
    let root: Digest
    let isEnded: Bool
    let checkpoint: SignedCheckpoint?

    /// The last commit; 0 for a stream that was forked at its start.
    var commit: UInt64 { files.last?.last ?? 0 }
  }

  let vault: VaultMembership?
  /// The digest of the state of all commits.
  let digest: Digest
  let events: UInt64
  /// Sorted by replica.
  let streams: [Stream]

  static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x42, 0x41, 0x4B, 0x0D, 0x0A]
  static let version: UInt8 = 1
  static let bytesMax = 320 << 20
  /// A store takes half as many, and may have more that branched.
  private static let streamsMax = 2 * Limits.streamsMax

  var commits: UInt64 { streams.reduce(0) { $0 + $1.commit } }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(Self.magic)
    writer.u8(Self.version)
    writer.vault(vault)
    writer.raw(digest)
    writer.varint(events)
    writer.varint(streams.count)
    for stream in streams {
      writer.replica(stream.replica)
      writer.varint(stream.files.count)
      for file in stream.files { writer.text(file.text) }
      writer.raw(stream.root)
      writer.u8((stream.isEnded ? 1 : 0) | (stream.checkpoint == nil ? 0 : 2))
      if let checkpoint = stream.checkpoint {
        writer.raw(checkpoint.key.bytes)
        writer.lengthAndBytes(checkpoint.note.bytes)
      }
    }
    writer.raw(SHA256Hasher.digest(of: writer.bytes))
    return writer.bytes
  }
}

extension BackupManifest {
  /// Decodes a manifest. The signatures are verified.
  ///
  /// - Throws: `MalformedError` if the bytes are not whole, or not a manifest.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    guard RunFile.contentHash(bytes, magic: Self.magic) != nil else {
      throw MalformedError("an incomplete manifest")
    }
    self = try Array(bytes.dropLast(Digest.byteCount)).withBytes { (bytes) throws(MalformedError) in
      try BackupManifest(content: bytes)
    }
  }

  private init(content: UnsafeRawBufferPointer) throws(MalformedError) {
    var reader = ByteReader(content)
    _ = try reader.take(Self.magic.count)
    let version = try reader.u8()
    guard version == Self.version else { throw MalformedError("a manifest of version \(version)") }
    vault = try reader.vaultMembership()
    digest = try reader.digest()
    events = try reader.varint()
    var streams: [Stream] = []
    for _ in 0..<(try reader.count(atMost: min(Self.streamsMax, reader.remaining / 50), "streams")) {
      let stream = try Self.stream(&reader)
      guard streams.last.map({ $0.replica < stream.replica }) ?? true else {
        throw MalformedError("streams that are not in order")
      }
      streams.append(stream)
    }
    self.streams = streams
    try reader.end()
  }

  private static func stream(_ reader: inout ByteReader) throws(MalformedError) -> Stream {
    let replica = try reader.replica()
    var files: [RunFileName] = []
    for _ in 0..<(try reader.count(atMost: reader.remaining / 72, "run files")) {
      guard let file = RunFileName(try reader.text()), !file.isEnd, file.first == (files.last?.last ?? 0) + 1
      else { throw MalformedError("run files that do not continue their stream") }
      files.append(file)
    }
    let root = try reader.digest()
    let flags = try reader.u8()
    guard flags <= 3 else { throw MalformedError("flags \(flags)") }
    var checkpoint: SignedCheckpoint?
    if flags & 2 != 0 {
      let key = try reader.publicKey()
      let signed = try SignedCheckpoint(try SignedNote(Array(try reader.lengthAndBytes())), key: key)
      guard signed.checkpoint.replica == replica, signed.checkpoint.size <= files.last?.last ?? 0 else {
        throw MalformedError("a checkpoint that does not belong to its stream")
      }
      checkpoint = signed
    }
    return Stream(
      replica: replica, files: files, root: root, isEnded: flags & 1 != 0, checkpoint: checkpoint)
  }
}
