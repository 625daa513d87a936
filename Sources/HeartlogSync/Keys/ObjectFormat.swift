import Heartlog
import HeartlogFormat

/// How the files of the folder layout become objects of a place.
enum ObjectFormat {
  /// As they are.
  case plain
  /// Encrypted: docs/encryption.md, "Objects".
  case encrypted(ObjectKeys)

  /// What an object turns out to be.
  enum Opened {
    /// The file, and the vault under whose keys it is.
    case content([UInt8], VaultID?)
    /// It is not what it should be.
    case damaged
    /// It is not encrypted, and the vault is.
    case plain
    /// It is of an epoch whose key is not known.
    case locked
  }

  var isEncrypted: Bool { if case .encrypted = self { true } else { false } }

  /// The object of a file, by name and bytes.
  func sealed(_ path: String, _ bytes: [UInt8]) throws(HeartlogError) -> (path: String, bytes: [UInt8]) {
    guard case .encrypted(let keys) = self else { return (path, bytes) }
    guard let head = keys.head, let vault = keys.vaults[head.epoch] else {
      throw HeartlogError(.noKey, "there is no key epoch to write under")
    }
    do throws(MalformedError) {
      let object = try SealedObject.seal(bytes, name: try ObjectName(path), vault: vault, key: head)
      return (object.name.text, object.bytes)
    } catch { throw HeartlogError(.invalid, "\(path) cannot be encrypted: \(error.description)") }
  }

  /// The file in an object.
  func opened(_ path: String, _ bytes: [UInt8]) -> Opened {
    guard case .encrypted(let keys) = self else { return .content(bytes, nil) }
    guard ObjectHeader.begins(bytes) else { return .plain }
    do throws(MalformedError) {
      let header = try ObjectHeader(bytes)
      guard let vault = keys.vaults[header.epoch], keys.keys[header.epoch] != nil else { return .locked }
      return .content(
        try SealedObject.open(bytes, name: try ObjectName(path), vault: vault, keys: keys.keys), vault)
    } catch { return .damaged }
  }

  /// The most bytes of the object of a file of so many.
  func bytesMax(_ bytes: Int) -> Int { isEncrypted ? ObjectLayout.objectByteCount(bytes) : bytes }
}

/// The keys with which a pass reads and writes objects.
struct ObjectKeys {
  let keys: [EpochID: EpochKey]
  /// By epoch: the vault's id in it.
  let vaults: [EpochID: VaultID]
  /// What is written under; `nil` before that is settled.
  let head: EpochKey?

  init(_ ring: VaultKeys) {
    keys = ring.keys
    vaults = ring.state.trusted.mapValues(\.vault)
    head = ring.current.flatMap { ring.keys[$0.id] }
  }
}
