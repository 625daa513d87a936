import HeartlogFormat
import HeartlogFiles
import HeartlogStorage

extension FavoritesStore {
  /// Rebuilds damaged files: the file `store`, which holds the store's identity, the ends of forked streams, and segments of which
  /// everything can be read all the same. If an error's ``HeartlogError/isRepairable`` is true, this repairs it.
  ///
  /// Everything the streams contain is taken from them. Unless there is proof that the folder is not a copy, the store continues under a
  /// new identity, so that no number is used twice; nothing is lost. Every original is kept beside its replacement. Segments that lost
  /// commits are only reported: `HeartlogShipping` mends them from another copy. An undamaged store is left as it is.
  ///
  /// - Parameters:
  ///   - path: the folder of the store. If this process has the store open, it picks up the repair with its next write or `refresh()`.
  ///   - name: the display name of this device, if `store` is rebuilt; nil to take it from the streams.
  ///   - isDryRun: only reports what would be done.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `HeartlogError`; `notAStore`, `newerFormat`, `readOnly`, `locked`, `diskFull`, `inputOutput`, `invalid` for an invalid
  ///   replica name. After any of these the store is unchanged or partly repaired.
  public static func repair(
    at path: String, name: String? = nil, isDryRun: Bool = false, progress: LogProgress? = nil
  ) throws(HeartlogError) -> RepairReport {
    try repair(at: path, on: POSIXFileSystem(), name: name, isDryRun: isDryRun, progress: progress)
  }

  /// As `repair(at:name:isDryRun:progress:)`. Damaged streams are mended with what another copy has of them.
  ///
  /// - Parameters:
  ///   - source: from where `fill` receives, as shown to people.
  ///   - fill: receives commits, as a sync does, into a store in memory, where the damaged streams end before their first bad byte. Returns
  ///     why commits of streams were not received, as phrases. Not called unless a stream is damaged.
  package static func repair(
    at path: String, on fileSystem: any FileSystem, name: String? = nil, isDryRun: Bool = false,
    options: StoreOptions = StoreOptions(), progress: LogProgress? = nil, from source: String? = nil,
    filling fill: ((FavoritesStore) throws(HeartlogError) -> [ReplicaID: String])? = nil
  ) throws(HeartlogError) -> RepairReport {
    try StoreRepair.run(
      at: path, on: fileSystem, options: options.storage, name: name, isDryRun: isDryRun,
      takesContent: fill != nil, progress: progress
    ) { try copyStreams(of: path, on: fileSystem, from: source, filling: fill) }
  }

  /// Copies what can be read of a store's streams to a store in memory, and completes it there.
  private static func copyStreams(
    of path: String, on fileSystem: any FileSystem, from source: String?,
    filling fill: ((FavoritesStore) throws(HeartlogError) -> [ReplicaID: String])?
  ) throws(HeartlogError) -> StreamCopies {
    var options = StoreOptions()
    // It signs nothing, and belongs to no vault.
    options.deviceKey = .none
    options.changeStorage = { $0.sealsInBackground = false }
    let copy = try inMemory(options: options)
    let salvage = try Salvage(of: path, on: fileSystem, to: copy.log)
    try salvage.begin()
    let reasons = try fill?(copy) ?? [:]
    let streams = try salvage.finish(branches: false)
    try copy.close()
    return StreamCopies(
      at: copy.path, on: copy.fileSystem, from: source, streams, reasons: reasons)
  }
}
