import HeartlogEngine

extension FavoritesStore {
  /// Erases everything that was ever written of an item, on this device now and on every other at its next sync.
  ///
  /// The events keep their places, numbers and hashes, so that all roots, checkpoints and proofs stay valid; what they said is gone. What
  /// a device writes of the item without knowing of the erasure stays. An erasure cannot be undone.
  ///
  /// - Parameters:
  ///   - id: the item.
  ///   - library: the library of the item.
  ///   - isDryRun: whether to erase nothing, and only count.
  /// - Returns: what was erased here.
  /// - Complexity: reads the whole log, and writes the segments anew that contain an erased event.
  /// - Throws: `notFound` if there is nothing of the item; `invalid` if the store has no key; `misuse` inside `write { }`; `corrupt` if the
  ///   log is damaged; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func erase(
    _ id: String, in library: String, isDryRun: Bool = false
  ) throws(HeartlogError) -> ErasureReport {
    let finished = try finishErasing(isDryRun: isDryRun)
    let named = try events(in: .item(id, library: library))
    guard !named.isEmpty else {
      // An earlier call wrote the erasure and was interrupted.
      if finished.contains(where: { $0.item.hasSameBytes(as: id) && $0.library.hasSameBytes(as: library) }) {
        try localStore.erase(id, in: library)
        return report(of: finished)
      }
      throw HeartlogError(
        .notFound, "nothing was ever written of \(id) in \(library), or it is erased already")
    }
    let report = try erase(named, after: finished, isDryRun: isDryRun)
    if !isDryRun { try localStore.erase(id, in: library) }
    return report
  }

  /// Erases what events said, as `erase(_:in:isDryRun:)` does. An earlier write of the same register shows again.
  ///
  /// - Parameters:
  ///   - events: the events.
  ///   - isDryRun: whether to erase nothing, and only count.
  /// - Returns: what was erased here.
  /// - Throws: like `erase(_:in:isDryRun:)`; `notFound` for an event that the store does not have, or that has no content.
  @discardableResult
  public func erase(_ events: [EventID], isDryRun: Bool = false) throws(HeartlogError) -> ErasureReport {
    let finished = try finishErasing(isDryRun: isDryRun)
    let named = try self.events(in: .events(Set(events)))
    let found = Set(named.map(\.id))
    if let missing = events.first(where: { !found.contains($0) }) {
      // An earlier call wrote the erasure and was interrupted.
      if !finished.isEmpty, named.isEmpty,
        read({ state in events.allSatisfy { state.commit(of: $0) != nil } })
      {
        return report(of: finished)
      }
      throw HeartlogError(.notFound, "there is no event \(missing), or it is erased already")
    }
    return try erase(named, after: finished, isDryRun: isDryRun)
  }

  /// Makes the store as small as it gets: looks in every file for content that was erased, and seals and joins segments. A snapshot that
  /// the store has is written anew.
  ///
  /// - Parameter progress: called from time to time on the calling thread, with the bytes done so far and in total.
  /// - Returns: what was found of erased content, and what was sealed.
  /// - Throws: like `seal(progress:)`; `corrupt` if the log is damaged.
  @discardableResult
  public func compact(
    progress: LogProgress? = nil
  ) throws(HeartlogError) -> (erased: ErasureReport, sealed: SealReport) {
    try refuseInsideWrite("compact")
    return (report(of: try apply(anew: true)), try seal(progress: progress))
  }

  // MARK: - Naming

  private typealias NamedEvent = (id: EventID, event: ErasedEvent)

  /// Finishes an erasure that was interrupted: what it left is not found by name.
  ///
  /// - Returns: The content that was erased by that.
  private func finishErasing(isDryRun: Bool) throws(HeartlogError) -> [Event] {
    try refuseInsideWrite("erase")
    guard log.isSigning else {
      throw HeartlogError(.invalid, "this store has no key, and devices erase only what a device has signed")
    }
    return isDryRun ? [] : try apply(anew: false)
  }

  private func events(in scope: ErasureScope) throws(HeartlogError) -> [NamedEvent] {
    try log.events(in: scope)
  }

  private func erase(
    _ named: [NamedEvent], after finished: [Event], isDryRun: Bool
  ) throws(HeartlogError) -> ErasureReport {
    guard !isDryRun else {
      var report = ErasureReport()
      report.eventCount = named.count
      return report
    }
    let events = named.map(\.event)
    try log.checkRoom(toErase: events)
    try writeErasures(naming: events)
    do throws(HeartlogError) { return report(of: finished + (try apply(anew: false))) } catch {
      throw HeartlogError(
        error.code,
        "the erasure is written, but its content is still in this store, until \"erase\" or \"compact\" runs again: \(error.message)",
        file: error.file, offset: error.offset, commits: error.commits)
    }
  }

  private func writeErasures(naming events: [ErasedEvent]) throws(HeartlogError) {
    let erasures = Erasure.naming(events)
    for start in stride(from: 0, to: erasures.count, by: Self.erasuresPerCommit) {
      let part = erasures[start..<min(start + Self.erasuresPerCommit, erasures.count)]
      try heartlogErrors {
        let staged = try log.stage(.durable) {
          (CommitDraft(wallTime: options.clock(), origin: options.origin, records: part.map(\.record)), ())
        }
        if let pending = staged.pending { _ = try log.finish(pending) }
      }
    }
  }

  private static let erasuresPerCommit =
    Limits.commitBytesMax / (Erasure.eventsMax * ErasedEvent.byteCountMax)

  // MARK: - Applying

  /// Erases what erasing commits name that any device wrote and signed. Continues an erasure that was interrupted.
  ///
  /// - Returns: what was erased here by this call.
  @discardableResult
  package func applyErasures() throws(HeartlogError) -> ErasureReport { report(of: try apply(anew: false)) }

  /// - Parameter anew: whether to look for content again if all of it should be gone.
  /// - Returns: The content that was erased here by this call.
  private func apply(anew: Bool) throws(HeartlogError) -> [Event] {
    try refuseInsideWrite("applyErasures")
    let hadSnapshot = projection.hasSnapshot
    let commits = read(\.erasingCommits)
    let own = replica
    let isUnsigned = try heartlogErrors {
      try commits.contains { try $0.source.replica == own && !log.isSigned($0.source) }
    }
    if isUnsigned { _ = try makeCheckpoint() }
    let erased = try log.erase(commits, anew: anew)
    try reissueErasures(of: commits)
    guard let erased else { return [] }
    for item in items(of: erased) where !isLeft(item) { try localStore.erase(item.id, in: item.library) }
    // The erasure has removed all snapshots.
    if hadSnapshot { snapshots.makeIfPossible(anew: true) }
    return erased
  }

  private func items(of erased: [Event]) -> Set<ErasureReport.Item> {
    Set(erased.map { ErasureReport.Item(library: $0.library, id: $0.item) })
  }

  private func isLeft(_ item: ErasureReport.Item) -> Bool {
    projection.item(item.id, in: LibraryKey(item.library)) != nil
  }

  private func report(of erased: [Event]) -> ErasureReport {
    var report = ErasureReport()
    report.eventCount = erased.count
    report.remainingItems = items(of: erased).filter(isLeft)
      .sorted {
        $0.library == $1.library
          ? $0.id.bytesPrecede($1.id)
          : $0.library.bytesPrecede($1.library)
      }
    return report
  }

  /// Names again, in the own stream, what was erased here and what no signature covers any more: the stream that named it was forked since,
  /// and others who had not heard of it would keep it.
  private func reissueErasures(of commits: [ErasingCommit]) throws(HeartlogError) {
    let own = replica
    let unsigned = try heartlogErrors {
      try commits.filter { try $0.source.replica != own && !log.isSigned($0.source) }
    }
    guard !unsigned.isEmpty, log.isSigning else { return }
    let signed = Set(commits.filter { !unsigned.contains($0) }.flatMap(\.events))
    let orphaned = log.erased(of: unsigned.flatMap(\.events)).filter { !signed.contains($0) }
    if !orphaned.isEmpty { try writeErasures(naming: orphaned) }
  }

  // MARK: - Runs

  /// The generation of the content in the files of the store; nil while it is changing.
  package func contentGeneration() throws(HeartlogError) -> UInt64? {
    try SnapshotFolder(at: path, on: fileSystem).erasedGeneration()
  }

  /// Whether events of a stream were erased here.
  package func hasErased(in replica: ReplicaID) throws(HeartlogError) -> Bool { log.hasErased(in: replica) }

  /// A run, as another store wrote it or this one did earlier, without what was erased here; nil if it contains none of it.
  ///
  /// - Throws: `peer` if its bytes are not a run.
  package func redacted(_ run: StreamRun) throws(HeartlogError) -> StreamRun? {
    try peerErrors { () throws(HeartlogError) in try log.redacted(run) }
  }
}

/// What an erasure did to a store.
public struct ErasureReport: Hashable, Sendable {
  /// An item by its library and its id.
  public struct Item: Hashable, Sendable {
    /// The item's library.
    public let library: String
    /// The item's id.
    public let id: String
  }

  /// The number of events whose content was erased from this store, or would be in a dry run.
  public internal(set) var eventCount = 0
  /// The items of erased events of which something is left: a device wrote it that did not know of the erasure, or it was not to be
  /// erased. Sorted by the bytes of library and id.
  package internal(set) var remainingItems: [Item] = []

  /// The report of an erasure that did nothing.
  package init() {}
}
