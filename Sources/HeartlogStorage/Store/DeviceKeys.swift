import HeartlogFormat
import HeartlogFiles

/// The key with which a store signs its own stream. Source: docs/format.md, "Device keys".
package struct DeviceKeys: Sendable {
  /// Where the key is kept.
  package enum Place: Sendable {
    /// The store has no key and signs nothing.
    case none
    /// In the store's folder.
    case folder
    /// Where the app keeps it.
    case app(any DeviceKeyStore)
  }

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
    return try heartlogErrors {
      try directory.fileSystem.info(directory.keyPath) == nil ? .missingKey : .damagedKey
    }
  }

  /// Makes a new key; nil if the store signs nothing.
  func makeKey() throws(HeartlogError) -> (any DeviceKey)? { try withKeys { try store?.makeKey() } }

  private func withKeys<R>(_ body: () throws -> R) throws(HeartlogError) -> R {
    do { return try body() } catch let error as HeartlogError { throw error } catch let error as FileError {
      throw HeartlogError(error)
    } catch {
      throw HeartlogError(.inputOutput, "the device key cannot be used: \(error)")
    }
  }
}

/// Keeps the key in the file `keys/device` of the store's folder.
private struct FolderKeyStore: DeviceKeyStore {
  let directory: StoreDirectory
  let options: StorageOptions

  func key() throws -> (any DeviceKey)? {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try directory.fileSystem.open(directory.keyPath, .read).bytes(4_096, at: 0)
    } catch {
      guard error.isNotFound || error.isNotDirectory else { throw error }
      return nil
    }
    // A damaged key signs nothing. It is lost: the store writes as a new replica.
    guard let text = ChecksummedText(bytes), text.lines.count >= 2 else { return nil }
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
    try heartlogErrors { try directory.makeFolder(directory.keysPath) }
    let text = ChecksummedText.encoded(["seed \(Hexadecimal.text(key.seed))", "public \(key.publicKey)"])
    try directory.replaceFile(
      directory.keyPath, with: text, in: directory.keysPath, suffix: options.random())
    return key
  }
}
