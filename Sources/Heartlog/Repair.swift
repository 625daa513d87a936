import HeartlogFiles
import HeartlogFormat
import HeartlogEngine

extension FavoritesStore {
  /// Rebuilds damaged files: the file `store`, which holds the store's identity, the ends of forked streams, and segments of which
  /// everything can be read all the same. If an error's ``HeartlogError/isRepairable`` is true, this repairs it.
  ///
  /// Everything the streams contain is taken from them. Unless there is proof that the folder is not a copy, the store continues under a
  /// new identity, so that no number is used twice; nothing is lost. Every original is kept beside its replacement. Segments that lost
  /// commits are only reported: `HeartlogSync` repairs them from another copy. An undamaged store is left as it is.
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

  /// As `repair(at:name:isDryRun:progress:)`. Damaged streams are repaired with what another copy has of them.
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
    var report = try StoreRepair.run(
      at: path, on: fileSystem, options: options.storage, name: name, isDryRun: isDryRun,
      takesContent: fill != nil, progress: progress
    ) { try copyStreams(of: path, on: fileSystem, from: source, filling: fill) }
    // A dry run leaves a store that cannot be opened.
    if report.entries.allSatisfy({ $0.lost != nil || ($0.isRepaired && !isDryRun) }) {
      var options = options
      options.access = isDryRun ? .readOnly : .readWrite
      options.createsIfMissing = false
      options.snapshots = .manual
      options.showsLostCommits = false
      let store = try FavoritesStore(at: path, on: fileSystem, options: options)
      try store.writeSnapshotsAnew(filling: fill, into: &report)
      try store.close()
    }
    return report
  }

  /// Writes anew what snapshots have of commits that the log has lost, as events of this device: docs/format.md, "Lost commits".
  ///
  /// - Parameter fill: receives what another copy has, so that what came later there is here; nil if there is none.
  private func writeSnapshotsAnew(
    filling fill: ((FavoritesStore) throws(HeartlogError) -> [ReplicaID: String])?,
    into report: inout RepairReport
  ) throws(HeartlogError) {
    let found = try snapshots.snapshots(beyond: read(\.heads))
    guard !found.isEmpty else { return }
    let reasons = report.isDryRun ? [:] : try fill?(self) ?? [:]
    report.removeLosses(before: read { $0 })
    for (file, lost) in found {
      let items = read { $0.restoring(lost) }
      guard !items.isEmpty else { continue }
      let (outcome, isRepaired): (String, Bool)
      if lost.heads.count > 1, fill == nil {
        outcome = "left as it is: other devices may have them; sync, or repair from one of them"
        isRepaired = false
      } else if let reason = lost.heads.lazy.compactMap({ reasons[$0.replica] }).first {
        outcome = "left as it is: \(reason)"
        isRepaired = false
      } else {
        outcome = "written anew from the snapshot, as events of this device: \(items.count) items"
        isRepaired = true
        if !report.isDryRun {
          try writeBatch(items, origin: "repair") { (lost) throws(HeartlogError) in
            try perform(lost.operation, on: lost.item, in: LibraryKey(lost.library)).isChange
          }
          for head in lost.heads { try log.forgetLost(of: head.replica, upTo: head.commit) }
          report.replica = replica
        }
        report.removeLosses(before: lost)
      }
      report.entries.append(
        RepairReport.Entry(
          file: file, damage: "the log has lost commits that the snapshot was made from", outcome: outcome,
          isRepaired: isRepaired))
    }
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

extension RepairReport {
  /// Removes what names commits as lost that a state has.
  fileprivate mutating func removeLosses(before state: FavoritesState) {
    entries.removeAll { entry in
      entry.lost.map { state.head(of: $0.replica)?.rawValue ?? 0 >= $0.commit.rawValue } ?? false
    }
  }
}

/// What was salvaged of a store, and what is lost.
package struct SalvageReport: Sendable {
  /// The replica that writes the new store.
  package let replica: ReplicaID
  /// The number of events in the new store.
  package let events: UInt64
  /// By replica.
  package let streams: [SalvagedStream]

  /// Whether nothing is lost.
  package var isWhole: Bool { streams.allSatisfy(\.isWhole) }
}

extension FavoritesStore {
  /// The vault of a store that may be damaged; nil if it has none.
  package static func vault(
    at path: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> VaultMembership? {
    try Salvage.vault(at: path, on: fileSystem)
  }

  /// Copies to this store, which is new, everything that can be read of another one.
  ///
  /// - Parameter fill: receives commits from elsewhere into this store, between what is certain and what stands behind lost commits.
  package func salvage(
    _ path: String, on fileSystem: any FileSystem, filling fill: () throws(HeartlogError) -> Void
  ) throws(HeartlogError) -> SalvageReport {
    let salvage = try Salvage(of: path, on: fileSystem, to: log)
    try salvage.begin()
    try fill()
    let streams = try salvage.finish(branches: true)
    try salvage.settle()
    try applyErasures()
    return SalvageReport(replica: replica, events: read { $0.eventCount }, streams: streams)
  }
}
