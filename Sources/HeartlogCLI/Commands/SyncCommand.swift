import CHeartlogPlatform
import Heartlog
import HeartlogFiles
import HeartlogFormat
import HeartlogSync
import Synchronization

/// `heartlog sync`: exchanges commits with another store.
enum SyncCommand: Command {
  private static let peer = Argument(
    "PEER", .optional, .peer,
    "The other store: its directory, folder:DIR, exec:COMMAND, or ssh://[user@]host[:port]/path. Or a hub: https://host[:port][/VAULT]. Or storage: davs://host/path, s3://bucket/prefix. If it is not given, all places that \"heartlog places\" lists."
  )
  private static let pull = Option.flag("pull", "Only receive; write nothing at the peer.")
  private static let dryRun = Option.flag("dry-run", "Write nothing; report how much would go each way.")
  private static let encrypted = Option.flag(
    "encrypted", "Encrypt the vault, if it is not: folders and servers get nothing else of it from now on.")
  static let endpoint = Option.value(
    "endpoint", "URL", .text, "Where the bucket is. Default: AWS_ENDPOINT_URL, else Amazon.")
  static let insecure = Option.flag(
    "insecure", "Use storage without TLS, although it is on another machine.")
  private static let watch = Option.flag(
    "watch", "Sync until interrupted: whenever this store changes, and at regular intervals.")

  private static let deadline = Option.value(
    "deadline", "SECONDS", .count, "End after so many seconds, finished or not; what came is kept.")

  static let description = CommandDescription(
    name: "sync", group: .devices, summary: "exchange commits with another store",
    arguments: [peer], options: [pull, dryRun, .join, encrypted, watch, deadline, endpoint, insecure],
    page: #"""
      Each device's log is shipped unchanged, including those of third devices, and replayed. Afterwards both stores have the same favorites;
      the last tap wins. An interrupted sync continues where it ended.

      folder:DIR is a folder that some program carries between devices, or that is on a USB stick: each device writes files there for the
      others. exec:COMMAND runs a command that serves a store on its standard input and output. ssh:// runs "heartlog serve --stdio" on another
      machine.

      Where this store has synced it syncs again with "heartlog sync" alone: folders, hubs, storage and ssh:// are remembered, see "heartlog
      places".

      https:// is a hub, a server that keeps what devices put there, and tells others at once with --watch. The first sync creates the vault.
      "heartlog invite" lets a further device in.

      davs:// is a WebDAV share, such as that of Nextcloud, ownCloud, Apache or a NAS; dav:// is one without TLS. s3:// is a bucket. Their
      servers need nothing of Heartlog and send no notifications: with --watch they are polled once a minute, and less often while nothing
      comes. The user and the password of a share are taken from HEARTLOG_WEBDAV_USER and
      HEARTLOG_WEBDAV_PASSWORD or from ~/.netrc, the key of a bucket from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or from
      ~/.aws/credentials.

      This device signs its log with a key of its own first. Commits that another device has not signed are held until it does. Stores that have
      synced with others belong to a vault; two vaults are mixed only with --join.

      With --encrypted, this device makes the keys of the vault, and whoever has the folder or the server reads nothing. From then on that is so
      without the option: "heartlog keys" admits and revokes devices.

      heartlog sync  # Sync with all places that this store knows.
      heartlog sync ssh://anna@desk.local/~/favorites.heartlog  # Sync with another machine.
      heartlog sync folder:Dropbox/heartlog --watch  # Sync through a cloud folder until interrupted.
      heartlog sync https://hub.example.org --watch  # Sync through a hub until interrupted.
      heartlog sync davs://cloud.example.org/remote.php/dav/files/anna/heartlog  # Sync through a share of Nextcloud.
      heartlog sync s3://favorites --endpoint https://s3.example.org  # Sync through a bucket.
      heartlog sync folder:Dropbox/heartlog --encrypted  # Sync through a folder that nobody else can read.
      heartlog sync backup/favorites.heartlog --dry-run  # Report how much would go each way.

      Exit code 1: The hub does not admit this device yet, or a server refuses the credentials.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    /// `nil` for all places that the store knows.
    let peer = try Peer(arguments, Self.peer)
    var options = SyncOptions()
    options.isPull = arguments.has(Self.pull)
    options.isDryRun = arguments.has(Self.dryRun)
    options.joinsVault = arguments.has(.join)
    options.encrypts = arguments.has(Self.encrypted)
    options.deadline = arguments.count(Self.deadline).map { .now + .seconds($0) }
    try arguments.allow(
      Self.encrypted, onlyWith: "folder:DIR, a hub and storage", if: peer?.address.isPlace == true)
    try arguments.refuse(Self.encrypted, with: Self.dryRun, Self.pull)
    try arguments.refuse(Self.watch, with: Self.dryRun, Self.deadline)
    let run = SyncRun(context: context, options: options)
    return try arguments.has(Self.watch) ? run.watch(peer) : run.once(peer)
  }
}

/// Syncs with one peer or several, once or repeatedly.
struct SyncRun {
  let context: CommandContext
  let options: SyncOptions

  /// Syncs once with a peer, or with all places that the store knows.
  func once(_ peer: Peer?, joining invitation: Invitation? = nil) throws -> ExitCode {
    let store = try open(endsSoon: true)
    let peers = try peers(peer, store)
    var (page, exitCode): (SyncPage?, ExitCode) = (nil, .success)
    for peer in peers {
      do {
        let next = try once(peer, store, joining: invitation)
        if page?.report.isComplete ?? true { page = next }
      } catch {
        guard peers.count > 1, let error = error as? CommandError else { throw error }
        // The others can be reached, perhaps.
        try warn(["\(peer.text): \(error.sentence)"])
        exitCode = error.exitCode
      }
    }
    let ending = try page.map { try end($0, store) } ?? context.close(store)
    return exitCode == .success ? ending : exitCode
  }

  private func once(_ peer: Peer, _ store: FavoritesStore, joining invitation: Invitation?) throws -> SyncPage
  {
    try warn([peer.address.warning].compactMap(\.self))
    let page: SyncPage
    do {
      page = try round(
        store, peer, try peer.address.carrier(context, endsSoon: true), joining: invitation,
        isCancelled: { false })
    } catch {
      guard let error = error as? HeartlogError else { throw error }
      var shown = Self.shown(error)
      if error.code == .otherVault, invitation != nil {
        shown.hint =
          "Nothing was done. \"heartlog join - --join\" makes this store a member of the other vault."
      }
      throw shown
    }
    if !options.isDryRun { try KnownPlaces.add(peer, to: store) }
    try show(page, store)
    try warn(page.warnings)
    return page
  }

  /// A peer, or all places that the store knows.
  private func peers(_ peer: Peer?, _ store: FavoritesStore) throws -> [Peer] {
    if let peer { return [peer] }
    let known = try KnownPlaces.all(of: store)
    guard !known.isEmpty else {
      throw CommandError.usage(
        "this store knows no place to sync with",
        hint: "Name one: \"heartlog sync PEER\". It will be remembered.")
    }
    return known
  }

  /// Closes the store, and says what one sync left to do.
  private func end(_ page: SyncPage, _ store: FavoritesStore) throws -> ExitCode {
    let findings = store.findings
    let exitCode = try context.close(store)
    if page.report.skipped.contains(where: { $0.cause == .damaged })
      || findings.contains(where: { $0.verdict == .corrupt })
    {
      context.warn(
        "this store is damaged; it sent only what it can read. "
          + "Run \"heartlog verify\" to find all damage, then \"heartlog repair --from PEER\".")
    }
    guard exitCode == .success, !page.report.isComplete else { return exitCode }
    return page.report.hasFaults ? .badInput : .tryAgain
  }

  /// Syncs until a signal comes: whenever this store's log changes, and at regular intervals.
  func watch(_ peer: Peer?) throws -> ExitCode {
    StopSignal.listen()
    heartlog_prefer_little_memory()
    let store = try open(endsSoon: false)
    let peers = try peers(peer, store)
    let failures = Mutex<[any Error]>([])
    let threads = try peers.dropFirst().map { peer in
      try WorkerThread {
        do { try watch(peer, store) } catch {
          context.warn("\(peer.text): \(CommandError(describing: error).sentence)")
          failures.withLock { $0.append(error) }
        }
      }
    }
    let result = Result { try watch(peers[0], store) }
    if case .failure(let error) = result, peers.count > 1 {
      context.warn("\(peers[0].text): \(CommandError(describing: error).sentence)")
    }
    threads.forEach { $0.join() }
    try result.get()
    if let failure = failures.withLock({ $0.first }) { throw failure }
    try store.close()
    return .success
  }

  private func watch(_ peer: Peer, _ store: FavoritesStore) throws {
    try warn([peer.address.warning].compactMap(\.self))
    // The carrier of a folder remembers what it has read; the directory of a store is opened again for each round.
    let kept: (any Carrier)? =
      if case .store = peer.address { nil } else { try peer.address.carrier(context, endsSoon: false) }
    var (hasReportedFailure, isKnown) = (false, false)
    /// The incomplete parts of the last round, which are reported once.
    var reported: [String] = []
    var warned: Set<ReplicaID?> = []
    /// After rounds that failed at a hub.
    var retryPauses = Backoff()
    var pauses = peer.address.pauses
    while !StopSignal.isRaised {
      // What is written while the round runs may not be in it.
      let start = try Self.heads(store)
      do {
        let page = try round(
          store, peer, try kept ?? peer.address.carrier(context, endsSoon: false),
          isCancelled: { StopSignal.isRaised })
        if !isKnown { try KnownPlaces.add(peer, to: store) }
        isKnown = true
        let incomplete = page.report.skipped.map(\.reason) + [page.report.peerDamage].compactMap(\.self)
        if page.hasNews || incomplete != reported { try show(page, store) }
        reported = incomplete
        // Each clock is reported once.
        let clocks = Set(page.report.clocksAhead.map(\.replica))
        if !clocks.isSubset(of: warned) { try warn(page.warnings) }
        warned.formUnion(clocks)
        hasReportedFailure = false
        if page.hasNews { pauses.reset() }
      } catch let error as HeartlogError where Self.passes(error) {
        guard !StopSignal.isRaised else { break }
        if !hasReportedFailure {
          try context.output.flush()
          context.warn("\(Self.shown(error).sentence) Retrying until it works.")
          hasReportedFailure = true
        }
      }
      try context.output.flush()
      context.unreported.clear()
      // Otherwise the process keeps what its largest round needed, once for each thread that took part in one.
      heartlog_release_memory()
      let pause = pauses.next { 0 }
      if let hub = kept as? HubCarrier {
        if !hasReportedFailure { retryPauses.reset() }
        try watch(store, hub, pause, isAway: hasReportedFailure, since: start, &retryPauses)
      } else {
        try wait(store, pause, since: start, atLeast: peer.address.pauseMin)
      }
    }
  }

  private func open(endsSoon: Bool) throws -> FavoritesStore {
    try options.isDryRun ? context.openForReading() : context.openForWriting(endsSoon: endsSoon)
  }

  private func round(
    _ store: FavoritesStore, _ peer: Peer, _ carrier: any Carrier, joining invitation: Invitation? = nil,
    isCancelled: @escaping @Sendable () -> Bool
  ) throws -> SyncPage {
    var options = options
    options.isCancelled = isCancelled
    let bar = context.progress("syncing")
    defer { bar.finish() }
    options.progress = { progress in
      bar.update(Int(clamping: progress.receivedCommits + progress.sentCommits))
    }
    let report: SyncReport
    do {
      report =
        try invitation.map { try store.join($0, through: carrier, options: options) }
        ?? carrier.sync(store, options: options)
    } catch {
      // The error of the sync is the one to report.
      try? context.closePeers(of: store)
      throw error
    }
    try context.closePeers(of: store)
    let page = SyncPage(
      report: report, peer: peer.text, isPull: options.isPull, conflicts: store.conflicts.count,
      withoutContent: store.read { $0.eventsWithoutContent }, place: peer.address.place)
    if !options.isDryRun, report.received.commits > 0 || report.sent.commits > 0 {
      context.unreported.set(page.amounts)
    }
    return page
  }

  private func show(_ page: SyncPage, _ store: FavoritesStore) throws {
    do {
      let code = page.report.recoveryCode.map {
        [
          "The vault is encrypted. Whoever has this code can read it. Write it down, and keep it apart: it will not be shown again.",
          $0,
        ]
      }
      try context.show(page.json, page.lines + (code ?? []))
      try context.output.flush()
    } catch {
      guard let code = page.report.recoveryCode else { throw error }
      try VaultKeys.keepUnshown(code, in: store)
      throw CommandError(
        .inputOutput, "the recovery code could not be printed (\(error))",
        hint: "The vault is encrypted. The next sync prints the code.")
    }
    page.failures.forEach(context.warn)
  }

  private func warn(_ sentences: [String]) throws {
    guard !sentences.isEmpty else { return }
    try context.output.flush()
    sentences.forEach(context.warn)
  }

  /// Waits until this store's log is another one than that of `start`, the pause is over, or a signal comes.
  private func wait(
    _ store: FavoritesStore, _ milliseconds: Int, since start: [Head], atLeast pauseMin: Int
  ) throws {
    var passed = 0
    while passed < milliseconds, !StopSignal.isRaised {
      Terminal.pause(milliseconds: UInt32(Self.lookMilliseconds))
      passed += Self.lookMilliseconds
      if passed >= pauseMin, try Self.heads(store) != start { return }
    }
  }

  /// Waits until the hub tells of something new, this store's log is another one, the pause is over, or a signal comes.
  ///
  /// - Parameters:
  ///   - isAway: Whether the hub could not be reached just now, or does not take this device.
  ///   - start: What the log was when the last round began.
  ///   - retryPauses: How long to stay away from such a hub.
  private func watch(
    _ store: FavoritesStore, _ hub: HubCarrier, _ milliseconds: Int, isAway: Bool, since start: [Head],
    _ retryPauses: inout Backoff
  ) throws {
    if !isAway {
      do throws(HeartlogError) {
        _ = try hub.watch(store, milliseconds: milliseconds) {
          // What is wrong with the store, the next round says.
          StopSignal.isRaised || (try? Self.heads(store)) != start
        }
        return
      } catch {
        // The next round says what it is.
        guard Self.passes(error) else { throw error }
      }
    }
    RetryTiming.system.pause(retryPauses.next(RetryTiming.system.random)) { StopSignal.isRaised }
  }

  private static func heads(_ store: FavoritesStore) throws -> [Head] {
    try store.refresh()
    return store.read { $0.heads }
  }

  private static let lookMilliseconds = 250

  /// Whether a later round may succeed.
  private static func passes(_ error: HeartlogError) -> Bool {
    switch error.code {
    case .timedOut, .peer, .locked, .inputOutput, .notAStore, .diskFull, .notAdmitted: true
    default: false
    }
  }

  /// If a store is missing, it is the peer: the hint to run `init` would be wrong.
  static func shown(_ error: HeartlogError) -> CommandError {
    var shown = CommandError(error)
    if error.code == .notAStore { shown.hint = "Check that the peer exists and that its name is right." }
    return shown
  }
}

/// Turns SIGINT and SIGTERM into a request to stop, for commands that run until interrupted.
enum StopSignal {
  private static let wish = Atomic<Bool>(false)

  /// From now on the two signals no longer end the process but set `isRaised`.
  static func listen() {
    // Initializes the static property before the handler can use it.
    wish.store(false, ordering: .sequentiallyConsistent)
    for number in [SIGINT, SIGTERM] {
      signal(number) { @Sendable _ in StopSignal.wish.store(true, ordering: .sequentiallyConsistent) }
    }
  }

  static var isRaised: Bool { wish.load(ordering: .sequentiallyConsistent) }
}

/// `heartlog serve --stdio`: serves the other end of a sync.
enum ServeCommand: Command {
  static let description = CommandDescription(
    name: "serve", group: .devices, summary: "serve one sync over standard input and output",
    options: [.stdio],
    page: #"""
      "heartlog sync ssh://…" runs this command on the other machine, and so does the COMMAND of "heartlog sync exec:COMMAND". It ends when the
      sync is done. Standard output carries only the protocol.

      heartlog serve --stdio  # What sync runs on the other machine.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    guard arguments.has(.stdio) else {
      throw CommandError.usage("serve needs --stdio", hint: "It is the only transport so far.")
    }
    let store = try context.openForWriting(endsSoon: true)
    let channel = DescriptorChannel(input: 0, output: 1, closes: false)
    // A damaged store still sends its sound part.
    let report = try SyncSession(store, over: channel, role: .serving).run()
    // The other end reports this store's damage. Standard error would be mixed with its output.
    let damage = store.findings.damage
    try store.close()
    return !damage.isEmpty || !report.isComplete ? .badInput : .success
  }
}
