import HeartlogFormat
import HeartlogFiles

/// The keys that a person has compared with their devices. Source: docs/format.md, "Device keys".
enum TrustedKeys {
  private static let bytesMax = 1 << 20

  private static func path(in directory: StoreDirectory) -> String { "\(directory.keysPath)/trusted" }

  /// The fingerprints, by replica.
  ///
  /// - Throws: `corrupt` for a damaged file, because nothing else tells which keys were compared.
  static func read(_ directory: StoreDirectory) throws(HeartlogError) -> [ReplicaID: Digest] {
    let path = path(in: directory)
    let bytes: [UInt8]
    do throws(FileError) { bytes = try directory.fileSystem.open(path, .read).bytes(bytesMax, at: 0) } catch {
      if error.isNotFound || error.isNotDirectory { return [:] }
      throw HeartlogError(error)
    }
    let damaged = HeartlogError(.corrupt, "the list of trusted keys is damaged", file: path, offset: 0)
    guard let text = ChecksummedText(bytes) else { throw damaged }
    try text.checkVersion(of: "a list of trusted keys", file: path)
    var trusted: [ReplicaID: Digest] = [:]
    for line in text.lines {
      guard let digits = ChecksummedText.value(of: "trusted", in: line), let fingerprint = Digest(digits),
        let replica = ReplicaID(bytes: fingerprint.bytes.prefix(16))
      else { throw damaged }
      trusted[replica] = fingerprint
    }
    return trusted
  }

  /// Adds a key. The caller holds the lock.
  static func add(_ key: PublicKey, in directory: StoreDirectory, _ options: StorageOptions)
    throws(HeartlogError)
  {
    var trusted = try read(directory)
    trusted[key.replica] = key.fingerprint
    try heartlogErrors { try directory.makeFolder(directory.keysPath) }
    let lines = trusted.sorted { $0.key < $1.key }.map { "trusted \($0.value)" }
    try directory.replaceFile(
      path(in: directory), with: ChecksummedText.encoded(lines), in: directory.keysPath,
      suffix: options.random())
  }
}

extension CommitLog {
  /// The fingerprints of the keys that a person has compared, by replica.
  package func trustedKeys() throws(HeartlogError) -> [ReplicaID: Digest] { try TrustedKeys.read(directory) }

  /// The fingerprints of the keys that a person has compared, in the store at `path`.
  package static func trustedKeys(
    at path: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> [ReplicaID: Digest] {
    try TrustedKeys.read(StoreDirectory(fileSystem: fileSystem, path: path))
  }

  /// Records that a person has compared a key with its device.
  package func trust(_ key: PublicKey) throws(HeartlogError) {
    try heartlogErrors { try withQuietLog { try TrustedKeys.add(key, in: directory, options) } }
  }
}
