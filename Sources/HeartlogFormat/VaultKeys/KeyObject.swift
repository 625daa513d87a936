/// An object of the folder `keys` at a place: an epoch or an admission that keeps every rule which can be checked on it alone.
package enum KeyObject: Hashable, Sendable {
  case epoch(KeyEpoch)
  case admission(Admission)

  /// Reads and verifies an object.
  ///
  /// - Parameter verifiesAnnouncements: False for a hub. It wraps no key, and an epoch that anybody may send has up to 1,025 announcements.
  /// - Throws: `MalformedError`.
  package init(_ bytes: [UInt8], verifiesAnnouncements: Bool = true) throws(MalformedError) {
    self =
      bytes.starts(with: Admission.magic)
      ? .admission(try Admission(bytes))
      : .epoch(try KeyEpoch(bytes, verifiesAnnouncements: verifiesAnnouncements))
  }

  package var vault: VaultID {
    switch self {
    case .epoch(let epoch): epoch.vault
    case .admission(let admission): admission.vault
    }
  }

  /// The only name that it may have.
  package var name: String {
    switch self {
    case .epoch(let epoch): epoch.id.objectName
    case .admission(let admission): admission.objectName
    }
  }

  /// What two devices know it by: the first 16 bytes of SHA-256 of it.
  package var id: EpochID { EpochID(of: bytes) }

  package var bytes: [UInt8] {
    switch self {
    case .epoch(let epoch): epoch.bytes
    case .admission(let admission): admission.bytes
    }
  }

  /// The key that signed it.
  package var signer: PublicKey {
    switch self {
    case .epoch(let epoch): epoch.maker
    case .admission(let admission): admission.admitter
    }
  }
}
