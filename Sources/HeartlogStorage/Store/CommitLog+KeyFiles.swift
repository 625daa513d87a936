import HeartlogFormat
import HeartlogFiles

/// Files of the folder `keys` that the layers above read and write. Source: docs/format.md, "Vault keys".
extension CommitLog {
  private static let keyFileBytesMax = 2 << 20

  /// The bytes of a file of the folder `keys`; nil if there is none.
  package func keyFile(_ name: String) throws(HeartlogError) -> [UInt8]? {
    do throws(FileError) {
      return try directory.fileSystem.open("\(directory.keysPath)/\(name)", .read)
        .bytes(Self.keyFileBytesMax, at: 0)
    } catch {
      if error.isNotFound || error.isNotDirectory { return nil }
      throw HeartlogError(error)
    }
  }

  /// The names in a folder of the folder `keys`, unfinished files left out.
  package func keyFileNames(in folder: String) throws(HeartlogError) -> [String] {
    do throws(FileError) {
      return try directory.fileSystem.entries(of: "\(directory.keysPath)/\(folder)")
        .filter { !$0.contains(".tmp-") }
    } catch {
      if error.isNotFound || error.isNotDirectory { return [] }
      throw HeartlogError(error)
    }
  }

  /// Writes a file of the folder `keys`, durably.
  package func replaceKeyFile(_ name: String, with bytes: [UInt8]) throws(HeartlogError) {
    try heartlogErrors {
      try withQuietLog {
        let path = "\(directory.keysPath)/\(name)"
        let folder = PathParts.parent(of: path)
        try heartlogErrors {
          try directory.makeFolder(directory.keysPath)
          if folder != directory.keysPath, try directory.fileSystem.info(folder) == nil {
            try directory.fileSystem.createDirectory(folder)
            try directory.fileSystem.synchronizeDirectory(directory.keysPath)
          }
        }
        try directory.replaceFile(path, with: bytes, in: folder, suffix: options.random())
      }
    }
  }

  /// The revoked replicas, with the last commit of each that counts.
  ///
  /// - Throws: `corrupt` for a damaged file: it would let in what does not count.
  package func revokedReplicas() throws(HeartlogError) -> [ReplicaID: UInt64] {
    guard let bytes = try keyFile(Self.revokedName) else { return [:] }
    let damaged = HeartlogError(
      .corrupt, "the list of revoked replicas is damaged", file: "\(directory.keysPath)/\(Self.revokedName)",
      offset: 0)
    guard let text = ChecksummedText(bytes) else { throw damaged }
    try text.checkVersion(of: "a list of revoked replicas", file: "\(directory.keysPath)/\(Self.revokedName)")
    var revoked: [ReplicaID: UInt64] = [:]
    for line in text.lines {
      let words = ChecksummedText.value(of: "revoked", in: line)?.split(separator: " ") ?? []
      guard words.count == 2, let replica = ReplicaID(String(words[0])), let size = UInt64(words[1]) else {
        throw damaged
      }
      revoked[replica] = size
    }
    return revoked
  }

  /// Records which replicas are revoked, in place of what was recorded before.
  package func revoke(_ revoked: [ReplicaID: UInt64]) throws(HeartlogError) {
    let lines = revoked.sorted { $0.key < $1.key }.map { "revoked \($0.key) \($0.value)" }
    try replaceKeyFile(Self.revokedName, with: ChecksummedText.encoded(lines))
  }

  private static let revokedName = "revoked"

  /// Keeps room for the streams of members, and of those that were, until the log is closed.
  package func vouch(for members: Set<ReplicaID>, removed: Set<ReplicaID>) {
    withStreams { (streamSet.members, streamSet.removed) = (members, removed) }
  }
}
