import HeartlogFormat
import HeartlogFiles

/// The file `checkpoint` in the folder of a stream: the newest checkpoint of its owner that the store has verified, and the owner's key.
/// Source: docs/format.md, "Checkpoints".
package enum CheckpointFile {
  static let name = "checkpoint"

  static func path(of replica: ReplicaID, in directory: StoreDirectory) -> String {
    "\(directory.streamPath(replica))/\(name)"
  }

  package static func encoded(_ checkpoint: SignedCheckpoint) -> [UInt8] {
    Array("heartlog \(ChecksummedText.formatVersion)\nkey \(checkpoint.key)\n".utf8) + checkpoint.note.bytes
  }

  /// Reads the checkpoint of a stream, without verifying its signature; nil if there is none.
  ///
  /// - Throws: `corrupt`, `newerFormat`.
  static func read(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError)
    -> SignedCheckpoint?
  {
    try bytes(of: replica, in: directory).map { bytes throws(HeartlogError) in
      try decode(bytes, of: replica, in: directory)
    }
  }

  /// The bytes of the file; nil if there is none.
  static func bytes(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError) -> [UInt8]? {
    do throws(FileError) {
      return try directory.fileSystem.open(path(of: replica, in: directory), .read).bytes(bytesMax, at: 0)
    } catch {
      if error.isNotFound { return nil }
      throw HeartlogError(error)
    }
  }

  /// Decodes the bytes of the file, without verifying the signature.
  ///
  /// - Throws: `corrupt`, `newerFormat`.
  static func decode(
    _ bytes: [UInt8], of replica: ReplicaID, in directory: StoreDirectory
  ) throws(HeartlogError) -> SignedCheckpoint {
    let path = path(of: replica, in: directory)
    do throws(MalformedError) {
      let checkpoint = try decode(bytes, file: path)
      guard checkpoint.checkpoint.replica == replica else { throw MalformedError("it is of another stream") }
      return checkpoint
    } catch {
      throw HeartlogError(
        .corrupt, "the checkpoint of a stream is damaged: \(error.reason)", file: path, offset: 0)
    }
  }

  /// Decodes a key and a note, without verifying the signature.
  package static func decode(_ bytes: [UInt8], file: String) throws(MalformedError) -> SignedCheckpoint {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count == 3, ChecksummedText.version(in: lines[0]) == ChecksummedText.formatVersion,
      let key = ChecksummedText.value(of: "key", in: lines[1]).flatMap(Hexadecimal.bytes)
        .flatMap({ PublicKey(bytes: $0) })
    else { throw MalformedError("it does not begin with its version and a key") }
    return try SignedCheckpoint(unverified: try SignedNote(Array(lines[2])), key: key)
  }

  /// Writes the checkpoint of a stream in place of the one before, durably. The caller holds the lock.
  static func write(
    _ signed: SignedCheckpoint, in directory: StoreDirectory, _ options: StorageOptions
  ) throws(HeartlogError) {
    let replica = signed.checkpoint.replica
    try directory.replaceFile(
      path(of: replica, in: directory), with: encoded(signed), in: directory.streamPath(replica),
      suffix: options.random())
  }

  static let bytesMax = SignedNote.bytesMax + 256
}
