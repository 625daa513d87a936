import Heartlog
import HeartlogFiles

/// All that a directory engine knows of its log, but for the bytes of objects.
struct DirectoryIndex {
  /// A file of the log.
  struct File {
    var file: any OpenFile
    /// Bytes of objects, those that were deleted included.
    var objectBytes = 0
    var liveBytes = 0
  }

  var vaults: [VaultID: VaultIndex] = [:]
  /// The words that were used, and the vaults that they are for.
  var invitations: [Digest: VaultID] = [:]
  var files: [UInt32: File] = [:]

  /// What is known of a vault that has a member.
  ///
  /// - Throws: `notAdmitted` if it has not, or if there is no such vault.
  func vault(of member: VaultMember) throws(HeartlogError) -> VaultIndex {
    guard let vault = vaults[member.vault], vault.isAdmitted(member.key) else {
      throw VaultMember.notAdmitted
    }
    return vault
  }

  /// Takes in a record, whose object is at a place. Returns false if it cannot follow those before it.
  mutating func apply(_ record: LogRecord, file: UInt32, offset: UInt32) -> Bool {
    switch record {
    case .object(let vault, let number, let owner, let name, let byteCount):
      let place = ObjectPlace(file: file, offset: offset, byteCount: UInt32(byteCount))
      guard vaults[vault]?.add(name, number: number, at: place, of: owner) ?? false else { return false }
      files[file]?.objectBytes += byteCount
      files[file]?.liveBytes += byteCount
    case .deletion(let vault, let number, let name):
      guard vaults[vault] != nil else { return false }
      // A file that was written anew has the deletion and no longer the object.
      vaults[vault]?.note(number: number)
      if vaults[vault]?.number(of: name) == number, let place = vaults[vault]?.remove(name) {
        files[place.file]?.liveBytes -= Int(place.byteCount)
      }
    case .vault(let vault, let generation):
      guard vaults[vault] == nil else { return false }
      vaults[vault] = VaultIndex(generation: generation)
    case .keys(let vault, let admitted):
      guard vaults[vault] != nil else { return false }
      vaults[vault]?.change(admitted)
    case .invitation(let vault, let word):
      guard invitations[word] == nil || invitations[word] == vault else { return false }
      invitations[word] = vault
    case .removal(let vault):
      guard let removed = vaults.removeValue(forKey: vault) else { return false }
      for place in removed.places { files[place.file]?.liveBytes -= Int(place.byteCount) }
    }
    return true
  }
}
