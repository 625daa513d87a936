import HeartlogFiles
import HeartlogStorage
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A store of favorites: an append-only log of events, and the state that they make.
///
/// ```swift
/// let store = try FavoritesStore(at: url)
/// let papers = try store.favorites(of: Paper.self)
/// try papers.toggle(paper)
/// ```
///
/// Every call may come from any thread. Readers never wait for a disk; a write returns when its commit is acknowledged as the
/// options' durability says: in a task, await `async`'s instead. Several processes may open one store, and one process thousands.
/// <doc:GettingStarted> shows the way from an empty folder to a view.
public final class FavoritesStore: Sendable {
  /// The folder of the store, as it was given.
  public let path: String
  let options: StoreOptions
  let fileSystem: any FileSystem
  let snapshots: SnapshotKeeper
  let projection: Projection
  let log: CommitLog
  let asyncWrites = AsyncWriteQueue()
  /// How many `write { }` closures are under way, on any thread.
  let openTransactions = Atomic<Int>(0)

  /// Opens the store in a folder, and makes it where there is none: from its newest snapshot, and from the log what came later.
  ///
  /// - Throws: `HeartlogError`; `notAStore` where there is none and the options do not allow to make one, `newerFormat`,
  ///   `readOnly`, `inputOutput`. A damaged store opens for reading: see `findings`.
  public convenience init(at path: String, options: StoreOptions = StoreOptions()) throws(HeartlogError) {
    try self.init(at: path, on: POSIXFileSystem(), options: options)
  }

  /// Opens the store in the folder at a file URL, and makes it where there is none.
  ///
  /// - Throws: as the initializer that takes a path; `invalid` for a URL that is no file's.
  public convenience init(at url: URL, options: StoreOptions = StoreOptions()) throws(HeartlogError) {
    guard url.isFileURL else { throw HeartlogError(.invalid, "a store's place is a file URL, not \(url)") }
    try self.init(at: url.path, options: options)
  }

  /// A store that lives in memory: for tests, previews and trials. It has all the semantics, and no files.
  ///
  /// - Throws: `invalid` for a name in the options that no replica may have.
  public static func inMemory(options: StoreOptions = StoreOptions()) throws(HeartlogError) -> FavoritesStore
  {
    var options = options
    // What is in memory is never opened again.
    options.snapshots = .manual
    return try FavoritesStore(
      at: "/favorites.heartlog", on: MemoryFileSystem(recording: false), options: options)
  }

  init(
    at path: String, on fileSystem: any FileSystem, options: StoreOptions, progress: LogProgress? = nil
  ) throws(HeartlogError) {
    self.path = path
    self.options = options
    self.fileSystem = fileSystem
    snapshots = SnapshotKeeper(at: path, on: fileSystem, options: options)
    do {
      (projection, log) = try Self.openLog(
        at: path, on: fileSystem, options: options, snapshots, progress: progress)
    } catch {
      throw HeartlogError(error)
    }
    projection.hub.onPoll { [weak log] in
      guard let log, log.isBehind else { return }
      // What cannot be read now is read, and said, at the next write or refresh.
      WorkerPool.shared.run { try? log.refresh() }
    }
  }

  private static func openLog(
    at path: String, on fileSystem: any FileSystem, options: StoreOptions, _ snapshots: SnapshotKeeper,
    progress: LogProgress?
  ) throws(StorageError) -> (Projection, CommitLog) {
    let storage = options.storage
    var claims: [SnapshotClaim] = []
    func open(from found: SnapshotKeeper.Found?) throws(StorageError) -> (Projection, CommitLog) {
      let projection = Projection(snapshots, from: found)
      let log = try CommitLog(
        at: path, on: fileSystem, options: storage, sink: projection, from: found?.positions ?? [],
        snapshots: claims, progress: progress)
      projection.noteSnapshot(covering: found?.state.eventCount ?? 0)
      if let found { snapshots.note(log.movedPositions, of: found) }
      return (projection, log)
    }
    while let found = snapshots.newest() {
      claims.append(found.claim)
      do { return try open(from: found) } catch {
        try snapshots.passOver(found, because: error)
        if error.code == .otherLog { claims.removeLast() }
      }
    }
    do {
      return try open(from: nil)
    } catch {
      guard error.code == .notAStore, options.createsIfMissing, options.access == .readWrite else {
        throw error
      }
    }
    do {
      try CommitLog.create(at: path, on: fileSystem, name: options.name, options: storage)
    } catch {
      // Two made it at once; or something else is there, which opening it will name.
      guard error.code == .exists else { throw error }
    }
    return try open(from: nil)
  }

  /// Opens a store that is there, with a progress report for long logs.
  ///
  /// - Parameters:
  ///   - path: the folder of the store.
  ///   - options: as for the initializer, but that nothing is made.
  ///   - progress: told now and then how many bytes of how many were read, on the calling thread.
  /// - Throws: `notAStore` where there is none; else as the initializer.
  public static func open(
    at path: String, options: StoreOptions = StoreOptions(), progress: LogProgress?
  ) throws(HeartlogError) -> FavoritesStore {
    var options = options
    options.createsIfMissing = false
    return try FavoritesStore(at: path, on: POSIXFileSystem(), options: options, progress: progress)
  }

  /// Makes an empty store; the parent folder must exist.
  ///
  /// - Throws: `HeartlogError`; `exists` where something is there already.
  public static func create(at path: String, options: StoreOptions = StoreOptions()) throws(HeartlogError) {
    try heartlogErrors {
      try CommitLog.create(at: path, on: POSIXFileSystem(), name: options.name, options: options.storage)
    }
  }

  /// Who writes here. Changes when the folder turns out to be a copy, before the first write.
  public var replica: ReplicaID { log.ownIdentity.replica }

  /// What people call this replica.
  public var name: String { log.ownIdentity.name }

  /// Takes in what other processes wrote.
  ///
  /// Writes do so by themselves; plain reads never touch the disk. Where nothing was written, it costs one look into shared memory.
  ///
  /// - Throws: `misuse` inside of `write { }`; `corrupt`, `inputOutput` where the log cannot be read on.
  public func refresh() throws(HeartlogError) {
    try refuseInsideWrite("refresh")
    try heartlogErrors { try log.refresh() }
  }

  /// Makes every acknowledged commit durable: what a buffered store does within 100 ms by itself.
  ///
  /// - Throws: `misuse` inside of `write { }`; `outcomeUnknown` where the disk fails.
  public func flush() throws(HeartlogError) {
    try refuseInsideWrite("flush")
    try heartlogErrors { try log.flush() }
  }

  /// Flushes, writes a snapshot if one is due, and lets go of everything; later writes throw. A store that is let go closes by itself,
  /// without a snapshot.
  ///
  /// - Throws: as `flush()`, and then the store stays open.
  public func close() throws(HeartlogError) {
    try flush()
    log.close()
    projection.snapshotAtClose()
    snapshots.finish()
    projection.hub.finish()
  }

  deinit { projection.hub.finish() }

  /// Rewrites the own log, its tail included, as large compressed blocks. Commits, numbers and hashes stay.
  ///
  /// Full segments are sealed in the background anyway; this is for a store that is to be small now.
  ///
  /// - Parameter progress: told now and then how many bytes of how many were done, on the calling thread.
  /// - Throws: `misuse` inside of `write { }`; `readOnly`, `locked`, `diskFull`, `inputOutput`. The log is whole after each of them.
  @discardableResult
  public func seal(progress: LogProgress? = nil) throws(HeartlogError) -> SealReport {
    try refuseInsideWrite("seal")
    let report = SealReport(try heartlogErrors { try log.seal(progress: progress) })
    // A snapshot of what was sealed now would have to be compared with the log commit by commit.
    if report.sealedFiles > 0, projection.hasSnapshot { snapshots.makeIfPossible(anew: true) }
    return report
  }

  /// What is not as it was written, and what recovery did. What lies in front of the snapshot from which the store was opened was not
  /// looked at: see `verify(progress:)`.
  public var findings: [Finding] {
    let found = log.findings.map(Finding.init)
    let more = snapshots.findings.filter { finding in
      !found.contains { $0.error.file == finding.error.file && $0.error.offset == finding.error.offset }
    }
    return found + more
  }

  /// Why sealing in the background did not succeed the last time. Nothing is lost by that but space.
  public var sealingFailure: HeartlogError? { log.sealingFailure.map(HeartlogError.init) }

  /// Reads the state: what is acknowledged. `body` keeps writers waiting, and must not write itself.
  ///
  /// Inside `write { }` this is the state before the closure; items read through a library are seen with the closure's changes.
  public func read<R>(_ body: (FavoritesState) -> R) -> R { projection.read(body) }

  /// A digest of all that is visible: equal states have equal digests, on any machine. One pass over all items.
  ///
  /// SHA-256 over memberships, favorited dates and fields; no stamps, as docs/format.md has it.
  public var digest: Digest { read { $0.digest } }

  func refuseInsideWrite(_ call: String) throws(HeartlogError) {
    if WriteTransaction.joined(by: self) != nil {
      throw HeartlogError(.misuse, "\(call) was called inside of write { }")
    }
  }
}

/// Told how far reading is: bytes done, and bytes in all.
public typealias LogProgress = (_ doneBytes: UInt64, _ totalBytes: UInt64) -> Void

/// When a commit is acknowledged.
public enum Durability: Sendable {
  /// After fdatasync.
  case durable
  /// After the write; flushed within 100 ms, and when the store is closed.
  case buffered

  var ofLog: HeartlogStorage.Durability {
    switch self {
    case .durable: .durable
    case .buffered: .buffered
    }
  }
}

/// What one run of ``FavoritesStore/seal(progress:)`` did.
public struct SealReport: Sendable {
  /// Files that took the place of others.
  public let replacedFiles: Int
  /// Sealed files that were written.
  public let sealedFiles: Int
  /// Events in the sealed files.
  public let events: UInt64
  /// The size of the replaced files, in bytes.
  public let bytesBefore: UInt64
  /// The size of the sealed files, in bytes.
  public let bytesAfter: UInt64

  init(_ report: HeartlogStorage.SealReport) {
    replacedFiles = report.replacedFiles
    sealedFiles = report.sealedFiles
    events = report.events
    bytesBefore = report.bytesBefore
    bytesAfter = report.bytesAfter
  }
}
