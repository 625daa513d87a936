import HeartlogFiles
import HeartlogEngine
import HeartlogFormat
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A store of favorites: an append-only log of events, and the state built from them.
///
/// ```swift
/// let store = try FavoritesStore(at: url)
/// let papers = try store.favorites(of: Paper.self)
/// try papers.toggle(paper)
/// ```
///
/// All methods are thread-safe. A read looks into memory; only if another process has written since, it reads that first. A write returns
/// once its commit is acknowledged, as set by the options' `durability`; in a task, and on the main actor, await it:
/// without `await`, a write waits for the disk, and up to `StoreOptions.lockTimeout` for another process that holds the lock. Several
/// processes can open the same store, and one process can open thousands of stores. <doc:GettingStarted> leads from an empty folder to a view.
public final class FavoritesStore: Sendable {
  /// The folder of the store, as passed when it was opened.
  public let path: String
  package let options: StoreOptions
  let fileSystem: any FileSystem
  let engine: Engine
  package var log: CommitLog { engine.log }
  var projection: Projection { engine.projection }
  var snapshots: SnapshotKeeper { engine.snapshots }
  /// What reads compare to learn that another process has written.
  let seen: SeenGeneration
  let localStore: LocalStore
  package let coalesced: CoalescedWrites
  let asyncWrites = AsyncWriteQueue()
  /// The number of running `write { }` closures, on any thread.
  let openTransactions = Atomic<Int>(0)

  /// Opens the store in a folder, and creates it, with the folders above it, if there is none. Loads the newest snapshot, then replays the log from there.
  ///
  /// - Parameters:
  ///   - path: the folder of the store.
  ///   - options: how the store is opened.
  ///   - progress: called from time to time on the calling thread while a long log is read, with the bytes read so far and in total.
  /// - Throws: `HeartlogError`; `exists` if there is a file, or a folder with something else in it; `notAStore` if there is no store and the
  ///   options do not allow creating one; `newerFormat`, `readOnly`, `inputOutput`. A damaged store can still be opened for reading: see `findings`.
  public convenience init(
    at path: String, options: StoreOptions = StoreOptions(), progress: LogProgress? = nil
  ) throws(HeartlogError) {
    try self.init(at: path, on: POSIXFileSystem(), options: options, progress: progress)
  }

  /// Opens the store in the folder at a file URL, and creates it if there is none.
  ///
  /// - Parameters:
  ///   - url: the file URL of the folder.
  ///   - options: how the store is opened.
  /// - Throws: like the initializer that takes a path; `invalid` if the URL is not a file URL.
  public convenience init(at url: URL, options: StoreOptions = StoreOptions()) throws(HeartlogError) {
    try self.init(at: try url.filePath(of: "a store"), options: options)
  }

  /// Creates a store in memory, for tests, previews and experiments. It behaves like any other store but writes no files.
  ///
  /// - Throws: `invalid` if the name in the options is not a valid replica name.
  public static func inMemory(options: StoreOptions = StoreOptions()) throws(HeartlogError) -> FavoritesStore
  {
    var options = options
    // A store in memory is never opened again.
    options.snapshots = .manual
    // Nobody else can open it.
    options.refreshesAutomatically = false
    return try FavoritesStore(
      at: "/favorites.heartlog", on: MemoryFileSystem(), options: options)
  }

  /// Creates a store in memory with some favorites, for a preview.
  ///
  /// - Parameter items: the favorites, the newest last.
  /// - Throws: `invalid` or `invalidItem` if one cannot be stored.
  public static func inMemory<Item: FavoriteItem>(
    containing items: some Sequence<Item>
  ) throws(HeartlogError) -> FavoritesStore {
    let store = try inMemory()
    try store.favorites(of: Item.self).add(contentsOf: items)
    return store
  }

  package init(
    at path: String, on fileSystem: any FileSystem, options: StoreOptions, progress: LogProgress? = nil
  ) throws(HeartlogError) {
    self.path = path
    self.options = options
    self.fileSystem = fileSystem
    engine = try Engine(
      at: path, on: fileSystem, options: options.storage, policy: options.snapshots,
      creatingNamed: options.createsIfMissing ? options.name : nil,
      showsLostCommits: options.showsLostCommits,
      progress: progress)
    let log = engine.log
    seen = options.refreshesAutomatically ? log.seen : SeenGeneration()
    localStore = LocalStore(beside: log, at: path, on: fileSystem, options: options)
    coalesced = CoalescedWrites(options)
  }

  /// Creates an empty store, and the missing folders above it.
  ///
  /// - Throws: `HeartlogError`; `exists` if there already is something at the path.
  package static func create(at path: String, options: StoreOptions = StoreOptions()) throws(HeartlogError) {
    try heartlogErrors {
      try CommitLog.create(at: path, on: POSIXFileSystem(), name: options.name, options: options.storage)
    }
  }

  /// Where the store reports its work.
  package var trace: StoreTrace { options.trace }

  /// The replica that this store writes as. It changes before the first write if the folder turns out to be a copy.
  public var replica: ReplicaID { log.ownIdentity.replica }

  /// The display name of this replica.
  public var name: String { log.ownIdentity.name }

  /// Whether the store was opened for reading only.
  package var isReadOnly: Bool { options.access == .readOnly }

  /// Reads what other processes wrote.
  ///
  /// Reads and writes do this themselves, unless the options say otherwise; this call reports an error. If nothing was written, it costs
  /// one look into shared memory.
  ///
  /// - Throws: `misuse` inside `write { }`; `corrupt` or `inputOutput` if the rest of the log cannot be read.
  public func refresh() throws(HeartlogError) {
    try refuseInsideWrite("refresh")
    projection.hub.wake()
    localStore.hub.wake()
    try log.refresh()
    try localStore.refresh()
  }

  /// Makes every acknowledged commit durable, and writes what waits of `update(_:coalescing:_:)`. A buffered store makes commits durable
  /// itself within 100 ms.
  ///
  /// - Throws: `misuse` inside `write { }`; `outcomeUnknown` if the disk fails.
  public func flush() throws(HeartlogError) {
    try refuseInsideWrite("flush")
    try coalesced.flush()
    try log.flush()
    try localStore.flush()
  }

  /// Releases everything that must not be held while the process is suspended: call it before an app or its extension is.
  ///
  /// When it returns, what waited of `update(_:coalescing:_:)` is written, acknowledged commits are durable, no lock is held and no file of the store is open, and nothing is watched. Snapshots and
  /// sealing in the background are abandoned; they are due again later. Writes in progress are waited for.
  ///
  /// The store stays usable: any later call wakes it by itself. Streams of changes go on, and tell what was missed, from the next read, write or
  /// `refresh()` on. See <doc:FollowingChanges>.
  ///
  /// - Throws: `misuse` inside `write { }` and after `close()`; `outcomeUnknown` if the disk fails. The lock is released also then.
  public func suspend() throws(HeartlogError) {
    try refuseInsideWrite("rest")
    try coalesced.flush()
    try engine.suspend()
    try localStore.suspend()
  }

  /// Flushes, writes a snapshot if one is due, and releases all resources; later writes throw. A store that is deallocated closes itself,
  /// but without a snapshot.
  ///
  /// - Throws: like `flush()`; then the store stays open.
  public func close() throws(HeartlogError) {
    try flush()
    try localStore.close()
    engine.close()
  }

  deinit { projection.hub.finish() }

  /// Rewrites the store's own log, including its tail, as large compressed blocks. Commits, numbers and hashes stay the same.
  ///
  /// Full segments are sealed in the background anyway. Call this to make a store small now.
  ///
  /// - Parameter progress: called from time to time on the calling thread, with the bytes done so far and in total.
  /// - Throws: `misuse` inside `write { }`; `readOnly`, `locked`, `diskFull`, `inputOutput`. The log stays intact after any of these.
  @discardableResult
  public func seal(progress: LogProgress? = nil) throws(HeartlogError) -> SealReport {
    try refuseInsideWrite("seal")
    return try engine.seal(progress: progress)
  }

  /// The damage that was found, and what recovery did about it. The part of the log before the snapshot that the store was opened from is
  /// not checked: see `verify(progress:)`.
  public var findings: [Finding] { engine.findings }

  /// Why the last attempt to seal in the background failed; nil if it succeeded. A failure costs only disk space.
  package var sealingFailure: HeartlogError? { log.sealingFailure }

  /// Reads what other processes wrote, if they wrote anything. Called before each read outside of `write { }`.
  @inline(__always) func refreshForReading() { if !seen.isCurrent { refreshNow() } }

  @inline(never) private func refreshNow() {
    // What a closure sees does not change while it runs.
    guard WriteTransaction.joined(by: self) == nil else { return }
    projection.hub.wake()
    localStore.hub.wake()
    log.refreshForReading()
  }

  /// Reads the state of all acknowledged commits. Writers wait for `body`, which must not write itself.
  ///
  /// Inside `write { }` this is the published state, without the closure's changes; commits that were queued before it may be published
  /// while it runs. To see the closure's changes, read items through a library.
  public func read<R>(_ body: (FavoritesState) -> R) -> R {
    refreshForReading()
    return projection.read(body)
  }

  /// A digest of all visible data: equal states have equal digests, on any machine. One pass over all items.
  ///
  /// SHA-256 over memberships, favorited dates and fields, without stamps, as docs/format.md defines it.
  public var digest: HeartlogDigest { read { $0.digest } }

  func refuseInsideWrite(_ call: String) throws(HeartlogError) {
    if WriteTransaction.joined(by: self) != nil {
      throw HeartlogError(.misuse, "\(call) was called inside write { }")
    }
  }
}

/// Reports progress: the bytes done so far, and the total.
public typealias LogProgress = (_ doneBytes: UInt64, _ totalBytes: UInt64) -> Void

extension URL {
  /// The path of a file URL.
  ///
  /// - Throws: `invalid` for any other URL.
  package func filePath(of what: String) throws(HeartlogError) -> String {
    guard isFileURL else {
      throw HeartlogError(.invalid, "the location of \(what) must be a file URL, not \(self)")
    }
    return path
  }
}
