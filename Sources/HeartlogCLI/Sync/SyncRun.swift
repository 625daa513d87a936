import CHeartlogPlatform
import Heartlog
import HeartlogHub
import HeartlogShipping

/// Syncs with one peer, once or repeatedly.
struct SyncRun {
  let context: CommandContext
  let peer: PeerAddress
  /// The peer as it was given on the command line.
  let peerText: String
  let options: SyncOptions

  /// Syncs once.
  func once() throws -> ExitCode {
    try warn([peer.warning].compactMap(\.self))
    let store = try open(endsSoon: true)
    let page: SyncPage
    do {
      page = try round(store, try peer.carrier(context, endsSoon: true), isCancelled: { false })
    } catch {
      throw (error as? HeartlogError).map(Self.shown) ?? error
    }
    try tell(page, store)
    try warn(page.warnings)
    let findings = store.findings
    try store.close()
    let exitCode = try context.report(findings, includesTorn: true)
    if page.report.skipped.contains(where: { $0.cause == .damaged })
      || findings.contains(where: { $0.verdict == .corrupt })
    {
      context.output.errorLine(
        "\(context.errorStyle(.failure, "heartlog:")) this store is damaged; it sent only what it can read. "
          + "Run \"heartlog verify\" to find all damage, then \"heartlog repair --from PEER\".")
    }
    guard exitCode == .success, !page.report.isComplete else { return exitCode }
    return page.report.hasFaults ? .badInput : .tryAgain
  }

  /// Syncs until a signal comes: whenever this store's log changes, and at regular intervals.
  func watch() throws -> ExitCode {
    StopSignal.listen()
    heartlog_prefer_little_memory()
    try warn([peer.warning].compactMap(\.self))
    let store = try open(endsSoon: false)
    // The carrier of a folder remembers what it has read; the directory of a store is opened again for each round.
    let kept: (any Carrier)? =
      if case .store = peer { nil } else { try peer.carrier(context, endsSoon: false) }
    var isTold = false
    /// The incomplete parts of the last round, which are reported once.
    var told: [String] = []
    var warned: Set<ReplicaID?> = []
    var pauses = HubPauses()
    while !StopSignal.isRaised {
      // What is written while the round runs may not be in it.
      let start = try heads(store)
      do {
        let page = try round(
          store, try kept ?? peer.carrier(context, endsSoon: false), isCancelled: { StopSignal.isRaised })
        let incomplete = page.report.skipped.map(\.reason) + [page.report.peerDamage].compactMap(\.self)
        if page.hasNews || incomplete != told { try tell(page, store) }
        told = incomplete
        // Each clock is reported once.
        let clocks = Set(page.report.clocksAhead.map(\.replica))
        if !clocks.isSubset(of: warned) { try warn(page.warnings) }
        warned.formUnion(clocks)
        isTold = false
      } catch let error as HeartlogError where Self.passes(error) {
        guard !StopSignal.isRaised else { break }
        if !isTold {
          try context.output.flush()
          context.output.errorLine(
            "\(context.errorStyle(.failure, "heartlog:")) \(Self.shown(error).sentence) Retrying until it works."
          )
          isTold = true
        }
      }
      try context.output.flush()
      context.untold.clear()
      // Otherwise the process keeps what its largest round needed, once for each thread that took part in one.
      heartlog_release_memory()
      if let hub = kept as? HubCarrier {
        if !isTold { pauses.reset() }
        try watch(store, hub, isAway: isTold, since: start, &pauses)
      } else {
        try pause(store, since: start)
      }
    }
    try store.close()
    return .success
  }

  private func open(endsSoon: Bool) throws -> FavoritesStore {
    try options.isDryRun ? context.openForReading() : context.openForWriting(endsSoon: endsSoon)
  }

  private func round(
    _ store: FavoritesStore, _ carrier: any Carrier, isCancelled: @escaping @Sendable () -> Bool
  ) throws -> SyncPage {
    var options = options
    options.isCancelled = isCancelled
    let bar = context.progress("syncing")
    defer { bar.finish() }
    options.progress = { progress in
      bar.update(Int(clamping: progress.receivedCommits + progress.sentCommits))
    }
    let report: SyncReport
    do { report = try carrier.sync(store, options: options) } catch {
      // The error of the sync is the one to report.
      try? context.opened.closePeers(of: store)
      throw error
    }
    try context.opened.closePeers(of: store)
    let page = SyncPage(
      report: report, peer: peerText, isPull: options.isPull, conflicts: store.conflicts.count,
      withoutContent: store.read { $0.eventsWithoutContent }, place: peer.place)
    if !options.isDryRun, report.received.commits > 0 || report.sent.commits > 0 {
      context.untold.set(page.amounts)
    }
    return page
  }

  private func tell(_ page: SyncPage, _ store: FavoritesStore) throws {
    do {
      if context.isJSON {
        try context.jsonLine { page.write(to: &$0) }
      } else {
        for line in page.lines { try context.output.line(line) }
        if let code = page.report.recoveryCode {
          try context.output.line(
            "The vault is encrypted. Whoever has this code can read it. Write it down, and keep it apart: it will not be shown again."
          )
          try context.output.line(code)
        }
      }
      try context.output.flush()
    } catch {
      guard let code = page.report.recoveryCode else { throw error }
      try VaultKeys.keepUnshown(code, in: store)
      throw CommandError(
        .inputOutput, "the recovery code could not be printed (\(error))",
        hint: "The vault is encrypted. The next sync prints the code.")
    }
    for failure in page.failures {
      context.output.errorLine("\(context.errorStyle(.failure, "heartlog:")) \(failure)")
    }
  }

  private func warn(_ sentences: [String]) throws {
    guard !sentences.isEmpty else { return }
    try context.output.flush()
    for sentence in sentences {
      context.output.errorLine("\(context.errorStyle(.failure, "heartlog:")) \(sentence)")
    }
  }

  /// Waits until this store's log is another one than that of `start`, the pause is over, or a signal comes.
  private func pause(_ store: FavoritesStore, since start: [Head]) throws {
    for _ in 0..<(peer.pauseMilliseconds / Self.lookMilliseconds) {
      guard !StopSignal.isRaised else { return }
      Terminal.pause(milliseconds: Self.lookMilliseconds)
      if try heads(store) != start { return }
    }
  }

  /// Waits until the hub tells of something new, this store's log is another one, the pause is over, or a signal comes.
  ///
  /// - Parameters:
  ///   - isAway: Whether the hub could not be reached just now, or does not take this device.
  ///   - start: What the log was when the last round began.
  ///   - pauses: How long to stay away from such a hub.
  private func watch(
    _ store: FavoritesStore, _ hub: HubCarrier, isAway: Bool, since start: [Head], _ pauses: inout HubPauses
  ) throws {
    if !isAway {
      do throws(HeartlogError) {
        _ = try hub.watch(store, milliseconds: Int(peer.pauseMilliseconds)) {
          // What is wrong with the store, the next round says.
          StopSignal.isRaised || (try? Self.heads(store)) != start
        }
        return
      } catch {
        // The next round says what it is.
        guard Self.passes(error) else { throw error }
      }
    }
    HubTime.system.pause(pauses.next(HubTime.system.random)) { StopSignal.isRaised }
  }

  private func heads(_ store: FavoritesStore) throws -> [Head] { try Self.heads(store) }

  private static func heads(_ store: FavoritesStore) throws -> [Head] {
    try store.refresh()
    return store.read { $0.heads }
  }

  private static let lookMilliseconds: UInt32 = 250

  /// Whether a later round may succeed.
  private static func passes(_ error: HeartlogError) -> Bool {
    switch error.code {
    case .timedOut, .peer, .locked, .inputOutput, .notAStore, .diskFull, .notAdmitted: true
    default: false
    }
  }

  /// If a store is missing, it is the peer: the hint to run `init` would be wrong.
  static func shown(_ error: HeartlogError) -> CommandError {
    let shown = CommandError(error)
    guard error.code == .notAStore else { return shown }
    return CommandError(
      shown.exitCode, shown.what, at: shown.location,
      hint: "Check that the peer exists and that its name is right.")
  }
}
