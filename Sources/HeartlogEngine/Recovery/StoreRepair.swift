import HeartlogFiles
import HeartlogFormat

/// Rebuilds damaged files: the file `store`, the ends of forked streams, and segments whose commits another copy has.
///
/// Every original is kept beside its replacement. If the process is killed, the store is either as before or repaired. What counts as
/// certain is defined in docs/format.md, "Repair".
package struct StoreRepair {
  let directory: StoreDirectory
  let options: StorageOptions
  let lock: StoreLock
  /// The user-visible name to write if the file `store` is rebuilt; nil for the name in the streams.
  private let name: String?
  /// Whether content that was not erased is taken from the copy.
  let takesContent: Bool
  let erased: WithheldEvents
  var report: RepairReport

  /// Repairs the store at `path`; a sound one is left unchanged.
  ///
  /// - Parameters:
  ///   - name: The user-visible name of the store if its file `store` is rebuilt; nil for the name in the streams.
  ///   - isDryRun: Only reports what would be done. Takes no lock.
  ///   - takesContent: Whether the copy may have content that is missing here although it was not erased.
  ///   - copy: Makes a copy of the damaged streams that has more of them. Called with the lock held, unless no stream is damaged.
  /// - Throws: `notAStore` if there is nothing from which a store could be repaired, `newerFormat`, `readOnly`, `locked`,
  ///   `inputOutput`, `malformed` for an invalid name.
  package static func run(
    at path: String, on fileSystem: any FileSystem, options: StorageOptions = StorageOptions(),
    name: String? = nil, isDryRun: Bool = false, takesContent: Bool = false, progress: LogProgress? = nil,
    copying copy: (() throws -> StreamCopies)? = nil
  ) throws(HeartlogError) -> RepairReport {
    if let name { try StoreIdentity.checkName(name) }
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    // `StoreLock` creates a missing lock file, which must not happen in a folder that is not a store.
    do { _ = try StoreIdentity.read(directory) } catch { guard error.isRepairable else { throw error } }
    try directory.checkIsDownloaded()
    let lock = try StoreLock(directory, options)
    if !isDryRun {
      guard lock.hasPage else { throw HeartlogError(.readOnly, LogAccess.networkReason, file: path) }
      try lock.acquire(waitingAtMost: options.lockMillisecondsMax)
    }
    var repair = StoreRepair(
      directory: directory, options: options, lock: lock, name: name, takesContent: takesContent,
      erased: WithheldEvents(try ErasedList.read(directory).events), report: RepairReport(isDryRun: isDryRun))
    try repair.repairFiles(copy)
    try repair.nameOthers(progress)
    return repair.report
  }

  /// Performs the repairs, with the lock held. Everything else only reads.
  private mutating func repairFiles(_ copy: (() throws -> StreamCopies)?) throws(HeartlogError) {
    defer { if !report.isDryRun { lock.release() } }
    try repairEnds(own: try repairIdentity())
    if let copy { try heartlogErrors { try repairStreams(from: copy) } }
  }

  // MARK: - The file `store`

  /// Repairs the file `store` if it is damaged.
  ///
  /// - Returns: The identity of the store; nil if a dry run would draw a new one.
  private mutating func repairIdentity() throws(HeartlogError) -> StoreIdentity? {
    let damage: HeartlogError
    do {
      let identity = try StoreIdentity.read(directory)
      report.replica = identity.replica
      report.name = identity.name
      return identity
    } catch {
      guard error.isRepairable else { throw error }
      damage = error
    }
    let bytes = try directory.fileSystem.contents(of: directory.identityPath)
    if let bytes { try refuseLaterVersion(bytes) }
    let evidence = try IdentityEvidence(directory, bytes: bytes, page: lock.page())
    let location = try StoreIdentity.Location.of(directory)
    let kept = try evidence.provenReplica(at: location)
    report.name = name ?? evidence.name ?? ""
    report.formerReplica = kept == nil ? evidence.formerReplica : nil
    let outcome =
      kept == nil
      ? "rebuilt with a new identity: nothing proves that this folder is not a copy"
      : "rebuilt: the location and the stream of the store prove its identity"
    guard let replica = kept ?? newReplica() else {
      note(directory.identityPath, damage, outcome)
      return nil
    }
    var generator = options.generator
    let signer = kept == nil ? try DeviceKeys(directory, options).replica() : nil
    // The own checkpoint says which vault the store was in. Without one it had not synced, and may be in any.
    let signed = try? CheckpointFile.read(of: signer ?? replica, in: directory)?.checkpoint.vault
    let hasKey = try directory.fileSystem.info(directory.keyPath) != nil
    let vault =
      signed.map { VaultMembership($0, isEstablished: true) }
      ?? (hasKey ? VaultMembership(.random(using: &generator)) : nil)
    let identity = StoreIdentity(
      replica: replica, name: report.name, location: location, vault: vault)
    report.replica = replica
    if let signer, !report.isDryRun { try heartlogErrors { try signStream(of: signer, in: vault) } }
    try replace(
      directory.identityPath, bytes, by: identity.encoded(), in: directory.path, damage, outcome,
      synchronizesTails: kept == nil)
    return identity
  }

  /// Refuses a first line that names a later version. It is believed although the checksum does not match.
  private func refuseLaterVersion(_ bytes: [UInt8]) throws(HeartlogError) {
    let first = bytes.prefix { $0 != UInt8(ascii: "\n") }
    guard let version = ChecksummedText.version(in: first), version > ChecksummedText.formatVersion else {
      return
    }
    throw HeartlogError(
      .newerFormat,
      "the store's identity is damaged, and names format version \(version): if no newer Heartlog ever wrote it, move the file away and repair again",
      file: directory.identityPath)
  }

  private func newReplica() -> ReplicaID? {
    guard !report.isDryRun else { return nil }
    var generator = options.generator
    return .random(using: &generator)
  }

  /// Signs the stream of the replica whose key is in the folder, before the next writer makes another key.
  private func signStream(of replica: ReplicaID, in vault: VaultMembership?) throws {
    guard try !directory.listing(of: replica).hasEnd else { return }
    try synchronizeTails()
    let reader = StreamReader(directory, replica: replica)
    guard try reader.forEachFrame(page: lock.page())?.isCorrupt != true else { return }
    let former = StoreIdentity(
      replica: replica, name: "", location: try StoreIdentity.Location.of(directory), vault: vault)
    try sign(former, upTo: reader.tail.head)
  }

  /// The first commit of the new stream will name the last commits of all other streams, so those must not be lost after it.
  private func synchronizeTails() throws(HeartlogError) {
    for replica in try directory.replicas() {
      guard let tail = try directory.segments(of: replica).last, tail.state == .open else { continue }
      try directory.fileSystem.open(directory.path(of: tail, in: replica), .readWrite).synchronizeData()
      try directory.fileSystem.synchronizeDirectory(directory.streamPath(replica))
    }
    try directory.fileSystem.synchronizeDirectory(directory.replicasPath)
    try directory.fileSystem.synchronizeDirectory(directory.path)
  }

  // MARK: - The ends of streams

  private mutating func repairEnds(own: StoreIdentity?) throws(HeartlogError) {
    for replica in try directory.replicas() {
      do { _ = try StreamEnd.read(of: replica, in: directory) } catch {
        guard error.isRepairable else { throw error }
        try repairEnd(of: replica, error, own: own)
      }
    }
  }

  private mutating func repairEnd(of replica: ReplicaID, _ damage: HeartlogError, own: StoreIdentity?)
    throws(HeartlogError)
  {
    let path = StreamEnd.path(of: replica, in: directory)
    let bytes = try directory.fileSystem.contents(of: path) ?? []
    let verdict = try heartlogErrors {
      let streams = try Set(directory.replicas().filter { try !directory.segments(of: $0).isEmpty })
      return try StreamEndEvidence.verdict(of: replica, bytes: bytes, streams: streams, in: directory)
    }
    if verdict != .unknown, let own, own.replica == replica {
      try leaveStream(own, because: "the stream that it names has ended")
    }
    switch verdict {
    case .ended(let end):
      let folder = directory.streamPath(replica)
      try replace(
        path, bytes, by: end.encoded(), in: folder, damage,
        "rebuilt: the stream ends after commit \(end.commit)")
    case .isAllCommon:
      try setAside(path, bytes, in: directory.streamPath(replica), damage)
    case .unknown:
      report.entries.append(
        RepairReport.Entry(
          file: path, damage: damage.message,
          outcome: "left unchanged: the stream is damaged too, and its remains do not show where it ends",
          isRepaired: false))
    }
  }

  /// Gives the store a new identity because numbers after the end of its own stream may be used elsewhere.
  mutating func leaveStream(_ own: StoreIdentity, because reason: String) throws(HeartlogError) {
    var changed = own
    changed.location = try StoreIdentity.Location.of(directory)
    let path = directory.identityPath
    let bytes = try directory.fileSystem.contents(of: path)
    let damage = HeartlogError(.corrupt, reason, file: path)
    let outcome = "rebuilt with a new identity"
    report.formerReplica = own.replica
    report.replica = newReplica()
    guard let replica = report.replica else { return note(path, damage, outcome) }
    changed.replica = replica
    try replace(
      path, bytes, by: changed.encoded(), in: directory.path, damage, outcome, synchronizesTails: true)
  }

  // MARK: - Other damage

  private mutating func nameOthers(_ progress: LogProgress?) throws(HeartlogError) {
    for stream in try Verification.run(
      directory, own: report.replica ?? IdentityEvidence.noReplica, snapshots: [], progress: progress)
    {
      guard let finding = stream.finding, finding.verdict != .torn, !finding.error.isRepairable,
        !report.entries.contains(where: { $0.file == finding.error.file })
      else { continue }
      report.entries.append(
        RepairReport.Entry(
          file: finding.error.file ?? directory.streamPath(stream.replica), damage: finding.error.message,
          outcome: finding.verdict == .lost
            ? "left unchanged: only other devices can have the lost commits"
            : "left unchanged: what is missing can only be in another copy; everything before the damage can be read",
          isRepaired: false,
          lost: finding.verdict == .lost
            ? finding.error.commits.map { Head(replica: stream.replica, commit: $0.upperBound) } : nil)
      )
    }
  }

  // MARK: - Files

  mutating func note(
    _ path: String, _ damage: HeartlogError, _ outcome: String, keptAt: String? = nil
  ) {
    report.entries.append(
      RepairReport.Entry(
        file: path, damage: damage.message, outcome: outcome, isRepaired: true, keptAt: keptAt))
  }

  /// Keeps what is left of a damaged file, and replaces the file.
  ///
  /// - Parameters:
  ///   - bytes: What is left of the file; nil if it does not exist.
  ///   - synchronizesTails: Whether the replacement is a new identity.
  mutating func replace(
    _ path: String, _ bytes: [UInt8]?, by new: [UInt8], in folder: String, _ damage: HeartlogError,
    _ outcome: String, synchronizesTails: Bool = false
  ) throws(HeartlogError) {
    var keptAt: String?
    if !report.isDryRun {
      lock.update { $0.structure &+= 1 }
      try removeUnfinished(in: folder)
      if synchronizesTails { try synchronizeTails() }
      if let bytes { keptAt = try keepAside(path, bytes) }
      try directory.replaceFile(path, with: new, suffix: options.random())
      lock.update { $0.structure &+= 1 }
    }
    note(path, damage, outcome, keptAt: keptAt)
  }

  /// Keeps a copy of a file, durably.
  ///
  /// - Returns: The path of the copy.
  func keepAside(_ path: String, _ bytes: [UInt8]) throws(HeartlogError) -> String {
    let (name, isThere) = try asideName(of: path, bytes)
    if !isThere { try directory.replaceFile(name, with: bytes, suffix: options.random()) }
    return name
  }

  /// Moves a damaged `ended` file aside, so that it no longer has an effect.
  private mutating func setAside(
    _ path: String, _ bytes: [UInt8], in folder: String, _ damage: HeartlogError
  ) throws(HeartlogError) {
    var keptAt: String?
    if !report.isDryRun {
      let (name, isThere) = try asideName(of: path, bytes)
      lock.update { $0.structure &+= 1 }
      if isThere {
        try directory.fileSystem.remove(path)
      } else {
        try directory.fileSystem.rename(path, to: name)
      }
      try directory.fileSystem.synchronizeDirectory(folder)
      lock.update { $0.structure &+= 1 }
      keptAt = name
    }
    note(
      path, damage,
      "set aside: this store has nothing after the end of the stream, and a device that knows the end sends it at the next sync",
      keptAt: keptAt)
  }

  /// Returns the name under which an original is kept: the first free name, or one with the same bytes from a repair that was killed.
  func asideName(of path: String, _ bytes: [UInt8]) throws(HeartlogError) -> (name: String, isThere: Bool) {
    var number = 1
    while true {
      let name = "\(path).damaged-\(number)"
      guard let found = try directory.fileSystem.contents(of: name) else { return (name, false) }
      if found == bytes { return (name, true) }
      number += 1
    }
  }

  /// Removes the unfinished files of a repair that was killed.
  func removeUnfinished(in folder: String) throws(HeartlogError) {
    for name in try directory.fileSystem.entries(of: folder) where name.contains(".tmp-") {
      try directory.fileSystem.remove("\(folder)/\(name)")
    }
  }
}
