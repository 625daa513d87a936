import HeartlogFiles
import HeartlogFormat

/// Files of the folder `keys` that the layers above read and write. Source: docs/format.md, "Vault keys".
extension CommitLog {
  private static let keyFileBytesMax = 2 << 20

  /// The bytes of a file of the folder `keys`; nil if there is none.
  package func keyFile(_ name: String) throws(HeartlogError) -> [UInt8]? {
    try ifPresent(directory.fileSystem.open("\(directory.keysPath)/\(name)", .read))
      .map { (file) throws(HeartlogError) in
        try file.bytes(min(Int(clamping: try file.size()), Self.keyFileBytesMax), at: 0)
      }
  }

  /// The names in a folder of the folder `keys`, unfinished files left out.
  package func keyFileNames(in folder: String) throws(HeartlogError) -> [String] {
    (try ifPresent(directory.fileSystem.entries(of: "\(directory.keysPath)/\(folder)")) ?? [])
      .filter { !$0.contains(".tmp-") }
  }

  /// Writes a file of the folder `keys`, durably.
  package func replaceKeyFile(_ name: String, with bytes: [UInt8]) throws(HeartlogError) {
    try exclusively { _ in
      let path = "\(directory.keysPath)/\(name)"
      try directory.fileSystem.makeFolder(directory.keysPath)
      try directory.fileSystem.makeFolder(PathParts.parent(of: path))
      try directory.replaceFile(path, with: bytes, suffix: options.random())
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

/// Where the device key of a store is kept.
public enum DeviceKeyPlace: Sendable {
  /// In the store's folder, in the file `keys/device`, which only its owner can read.
  case folder
  /// Where the app keeps it, for example in a keychain.
  case app(any DeviceKeyStore)
  /// There is no key: the store signs nothing, and shows to others as unsigned.
  case none
}

/// The key with which a store signs its own stream. Source: docs/format.md, "Device keys".
package struct DeviceKeys: Sendable {
  private let store: (any DeviceKeyStore)?

  package init(_ directory: StoreDirectory, _ options: StorageOptions) {
    store =
      switch options.keys {
      case .none: nil
      case .folder: FolderKeyStore(directory: directory, options: options)
      case .app(let store): store
      }
  }

  /// Whether the store signs its stream.
  var isSigning: Bool { store != nil }

  /// Returns the key of a replica; nil if the store does not have it.
  package func key(of replica: ReplicaID) throws(HeartlogError) -> (any DeviceKey)? {
    let key = try withKeys { try store?.key() }
    return key?.publicKey.replica == replica ? key : nil
  }

  /// Returns the replica whose key the store has; nil if it has none.
  func replica() throws(HeartlogError) -> ReplicaID? { try withKeys { try store?.key()?.publicKey.replica } }

  /// What is wrong with the key of a replica; nil if it is usable, or the store signs nothing.
  func fault(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError) -> Fault.Kind? {
    guard isSigning else { return nil }
    if let key = try withKeys({ try store?.key() }) {
      return key.publicKey.replica == replica ? nil : .foreignKey
    }
    return try directory.fileSystem.info(directory.keyPath) == nil ? .missingKey : .damagedKey
  }

  /// Makes a new key; nil if the store signs nothing.
  func makeKey() throws(HeartlogError) -> (any DeviceKey)? { try withKeys { try store?.makeKey() } }

  private func withKeys<R>(_ body: () throws -> R) throws(HeartlogError) -> R {
    do { return try body() } catch let error as HeartlogError { throw error } catch {
      throw HeartlogError(.inputOutput, "the device key cannot be used: \(error)")
    }
  }
}

/// Keeps the key in the file `keys/device` of the store's folder.
private struct FolderKeyStore: DeviceKeyStore {
  let directory: StoreDirectory
  let options: StorageOptions

  func key() throws -> (any DeviceKey)? {
    let bytes = try ifPresent(directory.fileSystem.open(directory.keyPath, .read).bytes(4_096, at: 0))
    // A damaged key signs nothing. It is lost: the store writes as a new replica.
    guard let text = bytes.flatMap(ChecksummedText.init), text.lines.count >= 2 else { return nil }
    try text.checkVersion(of: "a device key", file: directory.keyPath)
    guard let seed = ChecksummedText.value(of: "seed", in: text.lines[0]).flatMap(Hexadecimal.bytes),
      seed.count == SigningKey.seedByteCount,
      let publicKey = ChecksummedText.value(of: "public", in: text.lines[1]).flatMap(Hexadecimal.bytes)
        .flatMap({ PublicKey(bytes: $0) })
    else { return nil }
    return SigningKey(seed: seed, publicKey: publicKey)
  }

  func makeKey() throws -> any DeviceKey {
    var generator = options.generator
    let key = SigningKey(using: &generator)
    try directory.fileSystem.makeFolder(directory.keysPath)
    let text = ChecksummedText.encoded(["seed \(Hexadecimal.text(key.seed))", "public \(key.publicKey)"])
    try directory.replaceFile(directory.keyPath, with: text, suffix: options.random())
    return key
  }
}

/// The keys that a person has compared with their devices. Source: docs/format.md, "Device keys".
enum TrustedKeys {
  private static let bytesMax = 1 << 20

  private static func path(in directory: StoreDirectory) -> String { "\(directory.keysPath)/trusted" }

  /// The fingerprints, by replica.
  ///
  /// - Throws: `corrupt` for a damaged file, because nothing else tells which keys were compared.
  static func read(_ directory: StoreDirectory) throws(HeartlogError) -> [ReplicaID: Digest] {
    let path = path(in: directory)
    guard let bytes = try ifPresent(directory.fileSystem.open(path, .read).bytes(bytesMax, at: 0)) else {
      return [:]
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
    try directory.fileSystem.makeFolder(directory.keysPath)
    let lines = trusted.sorted { $0.key < $1.key }.map { "trusted \($0.value)" }
    try directory.replaceFile(
      path(in: directory), with: ChecksummedText.encoded(lines),
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
    try exclusively { _ in try TrustedKeys.add(key, in: directory, options) }
  }
}

/// The vault that a store belongs to, as its file `store` says. Source: docs/format.md, "Vaults".
package struct VaultMembership: Hashable, Sendable {
  /// The vault.
  package var id: VaultID
  /// Whether the store has synced with another store of the vault. Until then it may join any other vault.
  package var isEstablished: Bool
  /// The vaults that it, or a store that it met, belonged to before, the last one first.
  package var former: [VaultID]

  package init(_ id: VaultID, isEstablished: Bool = false, former: [VaultID] = []) {
    self.id = id
    self.isEstablished = isEstablished
    self.former = former
  }

  /// The most former vaults that are remembered.
  package static let formerMax = 16

  /// The store's membership after it agreed on a vault with another store. Both remember the other's vaults: devices that are still in one
  /// of them follow either of the two.
  package func joined(
    _ vault: VaultID, with other: VaultMembership? = nil, isEstablished: Bool
  ) -> VaultMembership {
    var former: [VaultID] = []
    for id in [id] + self.former + (other.map { [$0.id] + $0.former } ?? [])
    where id != vault && !former.contains(id) {
      former.append(id)
    }
    return VaultMembership(
      vault, isEstablished: isEstablished || (vault == id && self.isEstablished),
      former: Array(former.prefix(Self.formerMax)))
  }

  var lines: [String] {
    ["vault \(id) \(isEstablished ? "established" : "provisional")"] + former.map { "former \($0)" }
  }

  /// Takes the lines of a vault from the front of others; nil if there are none.
  ///
  /// - Throws: `MalformedError` for lines that break a rule.
  init?(_ lines: inout ArraySlice<ArraySlice<UInt8>>) throws(MalformedError) {
    guard let value = lines.first.flatMap({ ChecksummedText.value(of: "vault", in: $0) }) else { return nil }
    let words = value.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, let id = VaultID(words[0]), ["established", "provisional"].contains(words[1])
    else {
      throw MalformedError("a vault that is not an id and its state")
    }
    self.init(id, isEstablished: words[1] == "established")
    lines.removeFirst()
    while let former = lines.first.flatMap({ ChecksummedText.value(of: "former", in: $0) }) {
      guard let id = VaultID(former), self.former.count < Self.formerMax else {
        throw MalformedError("a former vault that is not an id")
      }
      self.former.append(id)
      lines.removeFirst()
    }
  }
}
