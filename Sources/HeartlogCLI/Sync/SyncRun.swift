import Heartlog
import HeartlogShipping

/// Rounds of syncs with one peer: one, or one after the other.
struct SyncRun {
  let context: CommandContext
  let peer: PeerAddress
  /// As it was named.
  let peerText: String
  let options: SyncOptions

  /// One round.
  func once() throws -> ExitCode {
    let store = try open(endsSoon: true)
    let page: SyncPage
    do {
      page = try round(store, try peer.carrier(context, endsSoon: true), isCancelled: { false })
    } catch let error as HeartlogError {
      throw Self.shown(error)
    }
    try tell(page)
    try warn(page.warnings)
    let findings = store.findings
    try store.close()
    let exitCode = try context.report(findings, includesTorn: true)
    if page.report.skipped.contains(where: { $0.cause == .damaged })
      || findings.contains(where: { $0.verdict == .corrupt })
    {
      context.output.errorLine(
        "\(context.errorStyle(.failure, "heartlog:")) this store is damaged; it sent only what it can read. "
          + "Run \"heartlog verify\" to find all damage, then \"heartlog repair\".")
    }
    return exitCode == .success && !page.report.isComplete ? .badInput : exitCode
  }

  /// Rounds until a signal comes: whenever the own log has changed, and now and then.
  func watch() throws -> ExitCode {
    StopSignal.listen()
    let store = try open(endsSoon: false)
    // A folder's carrier remembers what it has read; a store's directory is opened anew each time.
    let kept: (any Carrier)? =
      if case .store = peer { nil } else { try peer.carrier(context, endsSoon: false) }
    var isTold = false
    /// What the last round said did not come: it is told once.
    var told: [String] = []
    var warned: Set<ReplicaID?> = []
    while !StopSignal.isRaised {
      do {
        let page = try round(
          store, try kept ?? peer.carrier(context, endsSoon: false), isCancelled: { StopSignal.isRaised })
        let incomplete = page.report.skipped.map(\.reason) + [page.report.peerDamage].compactMap(\.self)
        if page.hasNews || incomplete != told { try tell(page) }
        told = incomplete
        // A clock is named once.
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
      try pause(store)
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
      // The error of the sync is what is told.
      try? context.opened.closePeers(of: store)
      throw error
    }
    try context.opened.closePeers(of: store)
    let page = SyncPage(
      report: report, peer: peerText, isPull: options.isPull, conflicts: store.conflicts.count,
      withoutContent: store.read { $0.eventsWithoutContent })
    if !options.isDryRun, report.received.commits > 0 || report.sent.commits > 0 {
      context.untold.set(page.amounts)
    }
    return page
  }

  private func tell(_ page: SyncPage) throws {
    if context.isJSON {
      try context.jsonLine { page.write(to: &$0) }
    } else {
      for line in page.lines { try context.output.line(line) }
    }
    try context.output.flush()
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

  /// Waits until the own log has changed, the pause is over, or a signal came.
  private func pause(_ store: FavoritesStore) throws {
    let start = try heads(store)
    for _ in 0..<(peer.pauseMilliseconds / Self.lookMilliseconds) {
      guard !StopSignal.isRaised else { return }
      Terminal.pause(milliseconds: Self.lookMilliseconds)
      if try heads(store) != start { return }
    }
  }

  private func heads(_ store: FavoritesStore) throws -> [Head] {
    try store.refresh()
    return store.read { $0.heads }
  }

  private static let lookMilliseconds: UInt32 = 250

  /// Whether a peer may be well again later.
  private static func passes(_ error: HeartlogError) -> Bool {
    switch error.code {
    case .timedOut, .peer, .locked, .inputOutput, .notAStore, .diskFull: true
    default: false
    }
  }

  /// What is missing is the peer: `init` would be no help.
  private static func shown(_ error: HeartlogError) -> CommandError {
    let shown = CommandError(error)
    guard error.code == .notAStore else { return shown }
    return CommandError(
      shown.exitCode, shown.what, at: shown.place, hint: "Check that the peer exists and that its name is right.")
  }
}
