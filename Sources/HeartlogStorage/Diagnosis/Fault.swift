/// Something about a store that a person should know: what it is, and where.
package struct Fault: Hashable, Sendable {
  /// The kinds of faults, grouped by cause. The names are those of docs/cli.md.
  package enum Kind: String, CaseIterable, Sendable {
    // Permissions
    case unreadable
    case unwritable
    case openToOthers
    case keyOpenToOthers
    // The clock
    case clockOutOfRange
    case clockBehind
    case clockWasSetBack
    case deviceClockAhead
    // The disk
    case diskFull
    case readOnlyFileSystem
    case networkFileSystem
    // Damage
    case notDownloaded
    case damagedIdentity
    case damagedSegment
    case lostCommits
    case tornTail
    case damagedEnd
    case damagedCheckpoint
    case damagedSnapshot
    case damagedKey
    case damagedTrust
    case partialStore
    case damagedLocalFields
    case suspectSegment
    // Forks
    case endedStream
    case ownStreamEnded
    // Devices
    case unseenDevice
    case unshippedCommits
    case unsignedCommits
    case provisionalVault
    case noOtherDevice
    // The keys of an encrypted vault
    case notAMember
    case voidRecoveryCode
    case damagedVaultKeys
    // The lock
    case heldLock
    case missingLock
    // Leftovers
    case unfinishedFiles
    case keptFiles
    case lostSnapshot
    case unusedSnapshot
    case unfinishedErasure
    // Identity
    case missingKey
    case foreignKey
    case copiedFolder
    // Versions
    case newerFormat
  }

  package let kind: Kind
  /// What was found, as a phrase; nil if the kind says it all.
  package let detail: String?
  /// A file or folder, or a replica.
  package let place: String

  package init(_ kind: Kind, _ detail: String? = nil, at place: String) {
    self.kind = kind
    self.detail = detail
    self.place = place
  }
}
