import HeartlogFiles
import HeartlogFormat

/// Looks for faults of a store's folder and of the files beside the streams. Changes nothing, and takes the lock for one attempt at most.
package struct StoreExamination {
  private let directory: StoreDirectory
  private let options: StorageOptions
  private var fileSystem: any FileSystem { directory.fileSystem }
  /// In the order of the examination.
  package private(set) var faults: [Fault] = []
  /// Whether the log can be read without creating a file.
  package private(set) var isReadable = true

  /// Examines the store at `path`.
  ///
  /// - Throws: `notAStore`, `inputOutput`.
  package init(
    at path: String, on fileSystem: any FileSystem, options: StorageOptions
  ) throws(HeartlogError) {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    self.options = options
    let identity = try examineIdentity()
    try examineDisk()
    try examinePermissions()
    let isHeld = try examineLock()
    if let identity { try examine(identity, isHeld: isHeld) }
    try examineNames(isHeld: isHeld)
  }

  private mutating func note(_ kind: Fault.Kind, _ detail: String? = nil, at place: String) {
    faults.append(Fault(kind, detail, at: place))
  }

  private mutating func examineIdentity() throws(HeartlogError) -> StoreIdentity? {
    do { return try StoreIdentity.read(directory) } catch {
      isReadable = false
      switch error.code {
      case .corrupt where error.isNotDownloaded: note(.notDownloaded, at: error.file ?? directory.path)
      case .corrupt: note(.damagedIdentity, error.message, at: directory.identityPath)
      case .newerFormat: note(.newerFormat, error.message, at: error.file ?? directory.identityPath)
      case .readOnly: note(.unreadable, error.message, at: error.file ?? directory.path)
      default: throw error
      }
      return nil
    }
  }

  /// Less is not enough for a segment, its sealed copy, and a small snapshot.
  private static let freeBytesMin: UInt64 = 16 << 20

  private mutating func examineDisk() throws(HeartlogError) {
    if try fileSystem.isOnNetwork(directory.path) { note(.networkFileSystem, at: directory.path) }
    if let free = fileSystem.freeBytes(at: directory.path), free < Self.freeBytesMin {
      note(.diskFull, "\(free) bytes are free", at: directory.path)
    }
  }

  private mutating func examinePermissions() throws(HeartlogError) {
    if let refusal = [directory.path, directory.identityPath, directory.lockPath, directory.replicasPath]
      .compactMap({ directory.fileSystem.writeRefusal(at: $0) }).first(where: { !$0.isNotFound })
    {
      note(
        refusal.isReadOnlyFileSystem ? .readOnlyFileSystem : .unwritable, refusal.description,
        at: refusal.file ?? directory.path)
    }
    do throws(HeartlogError) {
      if try directory.isOpenToOthers() { note(.openToOthers, at: directory.path) }
      for path in [directory.keysPath, directory.keyPath] {
        let info = try fileSystem.info(path)
        guard info?.isOpenToOthers == true else { continue }
        note(.keyOpenToOthers, at: path)
        break
      }
    } catch {
      guard error.code == .readOnly else { throw error }
    }
    guard isReadable else { return }
    do throws(HeartlogError) {
      for file in try directory.storeFiles() where try fileSystem.info(file)?.kind == .file {
        _ = try fileSystem.open(file, .read)
      }
    } catch {
      // A file may have been replaced in the meantime.
      if error.isNotFound { return }
      isReadable = false
      note(.unreadable, error.description, at: error.file ?? directory.path)
    }
  }

  /// Returns whether another process holds the lock.
  private mutating func examineLock() throws(HeartlogError) -> Bool {
    let path = directory.lockPath
    guard let info = try? fileSystem.info(path), info.size >= UInt64(lockPageBytes) else {
      // Opening the log would create or extend it.
      if isReadable { note(.missingLock, at: path) }
      isReadable = false
      return false
    }
    guard isReadable else { return false }
    let lock = try StoreLock(directory)
    // Whoever may not write cannot try, either.
    guard (try? lock.isHeldByOthers()) == true else { return false }
    note(
      .heldLock,
      fileSystem.lockHolder(of: path).map { "\($0) holds it\($0.isStopped ? ", and is stopped" : "")" },
      at: path)
    return true
  }

  private mutating func examine(_ identity: StoreIdentity, isHeld: Bool) throws(HeartlogError) {
    if try !identity.location.isSame(as: .of(directory)) { note(.copiedFolder, at: directory.path) }
    do throws(HeartlogError) {
      if let fault = try DeviceKeys(directory, options).fault(of: identity.replica, in: directory) {
        note(fault, at: directory.keyPath)
      }
      _ = try TrustedKeys.read(directory)
      // A process that holds the lock may be changing content.
      if !isHeld, try ErasedList.read(directory).isPending {
        note(.unfinishedErasure, at: ErasedList.path(in: directory))
      }
    } catch {
      switch error.code {
      case .corrupt: note(.damagedTrust, error.message, at: error.file ?? directory.keysPath)
      case .newerFormat: note(.newerFormat, error.message, at: error.file ?? directory.keysPath)
      // `examinePermissions` reported it.
      case .readOnly: break
      default: throw error
      }
    }
    if let damage = try LocalFieldsFile.damage(of: identity.replica, in: directory) {
      note(.damagedLocalFields, damage.reason, at: damage.path)
    }
    if let vault = identity.vault, !vault.isEstablished {
      // A device signs when it syncs.
      let hasSynced = (try? CheckpointFile.read(of: identity.replica, in: directory)) != nil
      note(hasSynced ? .noOtherDevice : .provisionalVault, at: directory.identityPath)
    }
  }

  /// Reports files by their names.
  private mutating func examineNames(isHeld: Bool) throws(HeartlogError) {
    guard let files = try? directory.storeFiles() else { return }
    // A segment is reported with its commits, by whoever reads the streams.
    report(.notDownloaded) {
      StoreDirectory.evictedName($0).map { SegmentFile(name: String($0)) == nil } ?? false
    }
    func report(_ kind: Fault.Kind, where isWanted: (String) -> Bool) {
      let found = files.filter {
        isWanted(String($0[$0.index(after: $0.lastIndex(of: "/") ?? $0.startIndex)...]))
      }
      guard let first = found.first else { return }
      note(kind, found.count == 1 ? nil : "\(found.count) files", at: first)
    }
    // A process that holds the lock may be writing them.
    if !isHeld { report(.unfinishedFiles) { $0.contains(".tmp-") } }
    report(.keptFiles) { $0.contains(".cut-") || $0.contains(".damaged-") }
    report(.suspectSegment) { SegmentFile(name: $0)?.state == .suspect }
    report(.lostSnapshot) { $0.hasSuffix(SnapshotFile.ending + SnapshotFile.lostEnding) }
  }
}

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
    case damagedLocalFields
    case suspectSegment
    // Forks
    case endedStream
    case ownStreamEnded
    case droppedStream
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
