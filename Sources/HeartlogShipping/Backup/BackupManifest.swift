import Heartlog
import HeartlogFormat

/// What a finished backup contains. The format is specified in "Backups" in docs/format.md.
package struct BackupManifest: Hashable {
  struct Stream: Hashable {
    let replica: ReplicaID
    let name: String
    /// The last commit; 0 for a stream that was forked at its start.
    let commit: UInt64
    let root: Digest
    let isEnded: Bool
    let checkpoint: SignedCheckpoint?
  }

  /// The replica that the store wrote as.
  let replica: ReplicaID
  let name: String
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
  var heads: [Head] {
    streams.map { Head(replica: $0.replica, commit: CommitNumber(rawValue: $0.commit)) }
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(Self.magic)
    writer.u8(Self.version)
    writer.replica(replica)
    writer.text(name)
    writer.vault(vault)
    writer.varint(0)
    writer.raw(digest)
    writer.varint(events)
    writer.varint(streams.count)
    for stream in streams {
      writer.replica(stream.replica)
      writer.text(stream.name)
      writer.varint(stream.commit)
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
    let content = Array(bytes.dropLast(32))
    guard bytes.count > Self.magic.count + 32, bytes.starts(with: Self.magic),
      SHA256Hasher.digest(of: content).bytes == Array(bytes.suffix(32))
    else { throw MalformedError("an incomplete manifest") }
    self = try content.withBytes { (bytes) throws(MalformedError) in try BackupManifest(content: bytes) }
  }

  private init(content: UnsafeRawBufferPointer) throws(MalformedError) {
    var reader = ByteReader(content)
    _ = try reader.take(Self.magic.count)
    let version = try reader.u8()
    guard version == Self.version else { throw MalformedError("a manifest of version \(version)") }
    replica = try reader.replica()
    name = try reader.text()
    try ShippedName.check(name)
    vault = try reader.vaultMembership()
    guard try reader.varint() == 0 else {
      throw MalformedError("a backup of a store that took only some libraries")
    }
    digest = try reader.digest()
    events = try reader.varint()
    var streams: [Stream] = []
    for _ in 0..<(try reader.count(atMost: min(Self.streamsMax, reader.remaining / 51), "streams")) {
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
    let name = try reader.text()
    try ShippedName.check(name)
    let commit = try reader.varint()
    guard commit <= Limits.numberMax else { throw MalformedError("a stream of \(commit) commits") }
    let root = try reader.digest()
    let flags = try reader.u8()
    guard flags <= 3 else { throw MalformedError("flags \(flags)") }
    var checkpoint: SignedCheckpoint?
    if flags & 2 != 0 {
      let key = try reader.publicKey()
      let signed = try SignedCheckpoint(try SignedNote(Array(try reader.lengthAndBytes())), key: key)
      guard signed.checkpoint.replica == replica, signed.checkpoint.size <= commit else {
        throw MalformedError("a checkpoint that does not belong to its stream")
      }
      checkpoint = signed
    }
    return Stream(
      replica: replica, name: name, commit: commit, root: root, isEnded: flags & 1 != 0,
      checkpoint: checkpoint)
  }
}
