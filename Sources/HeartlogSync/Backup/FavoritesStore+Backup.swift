import Heartlog
import HeartlogFiles

/// What a backup contains.
public struct BackupReport: Hashable, Sendable {
  /// The number of streams.
  package let streams: Int
  /// The number of commits.
  public let commits: UInt64
  /// The number of events.
  public let events: UInt64
  /// The digest of the state of these commits: see `FavoritesStore.digest`.
  package let digest: HeartlogDigest
  /// The commits that were not in the backup before; 0 unless it was just written.
  public internal(set) var newCommits: UInt64 = 0
  /// The bytes that were written to the backup.
  public internal(set) var writtenBytes: UInt64 = 0

  init(_ manifest: BackupManifest) {
    streams = manifest.streams.count
    commits = manifest.commits
    events = manifest.events
    digest = manifest.digest
  }
}

extension FavoritesStore {
  /// Copies everything that is durable in the store to a folder or a file, without stopping writers.
  ///
  /// If there already is a backup of this store, what it lacks is added. The copy is then read, and its roots and digest are compared with
  /// those of the store: only after that does it count as finished. A backup that was interrupted is continued by the next one, and until
  /// then the one before it can be restored. The device key is not part of a backup.
  ///
  /// - Parameter path: a folder; a file if its name ends in `.backup`. Missing folders above it are created.
  /// - Throws: `invalid` if there is something else than a backup of this store, or the path is inside a store or another backup; `corrupt` if the store or the backup is damaged;
  ///   `locked` if another process writes the backup; `diskFull`, `readOnly`, `inputOutput`; `misuse` inside `write { }`.
  public func backup(to path: String) throws(HeartlogError) -> BackupReport {
    try backup(to: path, on: POSIXFileSystem())
  }

  package func backup(to path: String, on fileSystem: any FileSystem) throws(HeartlogError) -> BackupReport {
    var target = try BackupTarget(self, to: PathParts.withoutSlashes(path), on: fileSystem)
    return try target.backup()
  }

  /// Reads a backup, and checks that it is what was written.
  ///
  /// - Throws: `notFound` if there is no finished backup; `invalid` if there is something else; `corrupt` if it is damaged; `inputOutput`.
  public static func checkBackup(at path: String) throws(HeartlogError) -> BackupReport {
    try checkBackup(at: path, on: POSIXFileSystem())
  }

  static func checkBackup(
    at path: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> BackupReport {
    let archive = try BackupArchive(at: PathParts.withoutSlashes(path), on: fileSystem)
    try archive.check()
    return BackupReport(archive.manifest)
  }

  /// Makes a store of a backup, as a new replica with a key of its own, in the same vault. What the device of the backup wrote is in it as
  /// a received stream.
  ///
  /// - Parameters:
  ///   - path: the backup.
  ///   - folder: where the store is made; nothing or an empty folder. Missing folders above it are created.
  ///   - options: the name of the new replica, and where its key is kept.
  /// - Throws: `exists` if there is something in the folder; `invalid` if it is inside a store or a backup; `notFound`, `invalid` and `corrupt` as for ``checkBackup(at:)``, and then
  ///   nothing was made; `diskFull`, `readOnly`, `inputOutput`.
  public static func restoreBackup(
    at path: String, to folder: String, options: StoreOptions = StoreOptions()
  ) throws(HeartlogError) -> BackupReport {
    try restoreBackup(at: path, to: folder, on: POSIXFileSystem(), options: options)
  }

  package static func restoreBackup(
    at path: String, to folder: String, on fileSystem: any FileSystem, options: StoreOptions
  ) throws(HeartlogError) -> BackupReport {
    try checkIsFree(folder, on: fileSystem)
    let archive = try BackupArchive(at: PathParts.withoutSlashes(path), on: fileSystem)
    // A damaged backup makes no store.
    try archive.check()
    let manifest = archive.manifest
    return try make(at: folder, on: fileSystem, in: manifest.vault, options: options) {
      (store) throws(HeartlogError) in
      try archive.check { (run) throws(HeartlogError) in
        guard case .appended = try store.log.restore(run) else {
          throw archive.damaged("commit \(run.firstCommit) of replica \(run.replica) is not taken")
        }
      }
      for stream in manifest.streams {
        if stream.isEnded {
          try store.endStream(stream.replica, after: CommitNumber(rawValue: stream.commit))
        }
        if let checkpoint = stream.checkpoint, try !store.log.restore(checkpoint) {
          throw archive.damaged("the commits of replica \(stream.replica) are not what it signed")
        }
      }
      guard store.digest == manifest.digest else {
        throw archive.damaged("its commits lead to another state")
      }
      try store.applyErasures()
      return BackupReport(manifest)
    }
  }

  /// Makes a store, which has its name only when it has everything.
  ///
  /// - Parameters:
  ///   - folder: nothing or an empty folder.
  ///   - fill: puts everything into the new store.
  /// - Throws: `exists` if there is something in the folder; `invalid` if it is inside a store or a backup.
  static func make<R>(
    at folder: String, on fileSystem: any FileSystem, in vault: VaultMembership?, options: StoreOptions,
    _ fill: (FavoritesStore) throws(HeartlogError) -> R
  ) throws(HeartlogError) -> R {
    try checkIsFree(folder, on: fileSystem)
    let folder = PathParts.withoutSlashes(folder)
    try fileSystem.refuseNested(folder)
    let parent = PathParts.parent(of: folder)
    try fileSystem.removeUnfinished("\(folder).tmp-")
    let unfinished = fileSystem.unfinishedPath("\(folder).tmp-")
    do throws(HeartlogError) {
      let store = try create(at: unfinished, on: fileSystem, in: vault, options: options)
      let filled = Result { () throws(HeartlogError) in try fill(store) }
      let closed = Result { () throws(HeartlogError) in try store.close() }
      let result = try filled.get()
      try closed.get()
      try fileSystem.rename(unfinished, to: folder)
      try fileSystem.synchronizeDirectory(parent)
      return result
    } catch {
      // What was read from a backup is not left in a folder that nobody looks for. Otherwise the next call removes it.
      try? fileSystem.removeTree(unfinished)
      throw error
    }
  }

  private static func checkIsFree(_ folder: String, on fileSystem: any FileSystem) throws(HeartlogError) {
    let folder = PathParts.withoutSlashes(folder)
    guard let found = try fileSystem.info(folder) else { return }
    guard found.kind == .directory, try fileSystem.entries(of: folder).isEmpty else {
      throw HeartlogError(.exists, "there already is something at \(folder)", file: folder)
    }
  }
}
