import Heartlog
import HeartlogHub
import HeartlogFormat

/// An object under `keys/` of an encrypted vault.
enum VaultObject {
  case epoch(SignedEpoch)
  case admission(SignedAdmission)

  /// - Throws: `MalformedError` if it is neither, or not of this vault.
  init(_ bytes: [UInt8], of vault: VaultID) throws(MalformedError) {
    guard bytes.count <= SignedEpoch.bytesMax else { throw MalformedError("an object that is too large") }
    if let epoch = try? SignedEpoch(bytes) {
      self = .epoch(epoch)
    } else {
      self = .admission(try SignedAdmission(bytes))
    }
    guard self.vault == vault else { throw MalformedError("an object of another vault") }
  }

  private var vault: VaultID {
    switch self {
    case .epoch(let epoch): epoch.vault
    case .admission(let admission): admission.vault
    }
  }

  /// The only name that it may have.
  var name: String {
    switch self {
    case .epoch(let epoch): "keys/\(Hexadecimal.text(epoch.id))"
    case .admission(let admission): "keys/\(Hexadecimal.text(admission.epoch))-\(admission.key.replica)"
    }
  }
}

extension VaultID {
  /// What the id of an encrypted vault begins with: "enc1".
  private static let encryptedPrefix: [UInt8] = [0x65, 0x6E, 0x63, 0x31]

  var hasRoot: Bool { bytes.starts(with: Self.encryptedPrefix) }

  /// The id of the vault that a root begins: "Roots" in docs/encryption.md.
  static func begun(by root: PublicKey) -> VaultID? {
    let digest = SHA256Hasher.digest(of: Array("heartlog vault 1".utf8) + [0] + root.bytes)
    return VaultID(bytes: encryptedPrefix + digest.bytes.prefix(12))
  }
}

extension AdmittedKeys {
  /// The keys of an encrypted vault with these objects: "The state of the keys" in docs/encryption.md.
  ///
  /// - Returns: `nil` if no epoch among them is of the root that the vault's id is derived from.
  init?(of vault: VaultID, objects: [VaultObject]) {
    var epochs: [SignedEpoch] = []
    var admissions: [SignedAdmission] = []
    for object in objects {
      switch object {
      case .epoch(let epoch): epochs.append(epoch)
      case .admission(let admission): admissions.append(admission)
      }
    }
    epochs.sort { $0.id.lexicographicallyPrecedes($1.id) }
    guard var anchor = epochs.first(where: { $0.number == 1 && VaultID.begun(by: $0.root) == vault }) else {
      return nil
    }
    var root = VaultRoot(key: anchor.root, previous: nil, generation: 0, anchor: anchor.id)
    var removed: Set<ReplicaID> = []
    while true {
      let next = epochs.filter { $0.generation == root.generation + 1 && $0.maker == root.key }
      for epoch in next { removed.formUnion(epoch.removals.keys) }
      guard let first = next.first else { break }
      anchor = first
      root = VaultRoot(
        key: anchor.root, previous: root.key, generation: anchor.generation, anchor: anchor.id)
    }
    // Those whom a member admits admit others.
    var members = Set(anchor.devices)
    var generation: Set<[UInt8]> = [anchor.id]
    var isGrowing = true
    while isGrowing {
      let before = (members.count, generation.count)
      for epoch in epochs
      where epoch.generation == root.generation && epoch.root == root.key && members.contains(epoch.maker)
        && !removed.contains(epoch.maker.replica)
      {
        generation.insert(epoch.id)
        members.formUnion(epoch.devices)
      }
      for admission in admissions
      where generation.contains(admission.epoch) && !removed.contains(admission.signer.replica)
        && (admission.signer == root.key || members.contains(admission.signer))
      {
        members.insert(admission.key)
      }
      isGrowing = before != (members.count, generation.count)
    }
    self.init(members.filter { !removed.contains($0.replica) }, root: root, removed: removed)
    guard keys.count <= HubLimits.keysMax, removed.count <= Self.removedMax else { return nil }
  }
}
