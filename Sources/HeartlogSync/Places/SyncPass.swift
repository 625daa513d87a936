import Heartlog

/// One pass over a place.
struct SyncPass {
  let store: FavoritesStore
  let place: any Place
  let options: SyncOptions
  var format = ObjectFormat.plain
  /// The keys of the vault; `nil` if it is not encrypted.
  var ring: VaultKeys?
  var memory: Memory
  var report = SyncReport()
  var counts = SyncReport.FolderFiles()
  /// Paths of files that were read and are not whole.
  var damaged: Set<String> = []
  /// Those of them that are not encrypted, in a vault that is, and those of unknown key epochs.
  var plain: Set<String> = []
  var locked: Set<String> = []
  /// Names under which the place has a key object that counts for nothing.
  var idleKeys: Set<String> = []
  /// Those of them that never will count again.
  var voidKeys: Set<String> = []
  /// Paths of files that this pass has deleted. A place may tell them again for a while.
  var deleted: Set<String> = []
  /// Runs of streams that wait until other streams have been received.
  var waiting = WaitingRuns()
  var receivedStreams: Set<ReplicaID> = []
  var receivedEvents: UInt64 = 0
  var sentEvents: UInt64 = 0
  var progress = SyncProgress()
  /// Why the own stream could not be signed; nil if it was.
  private(set) var signingFailure: HeartlogError?

  // Between two stores.
  /// Whether the objects are what another store has, or gives: they have their proofs with them, and are read in parts.
  var isBetweenStores = false
  /// Whether streams of which the other store has another history end here.
  var endsForks = true
  /// Whether a stream ended or went another way: there are other streams than the ends had told.
  var hasParted = false
  /// The streams of which the other store has another history, and nothing proves that their devices signed two.
  var disputed: Set<ReplicaID> = []
  /// The last commit of each stream that was received. The head of a signed stream is where its last checkpoint ends, and a serving store
  /// gets one run after the other.
  var reached: [ReplicaID: UInt64] = [:]

  init(store: FavoritesStore, place: any Place, options: SyncOptions, memory: Memory) {
    self.store = store
    self.place = place
    self.options = options
    self.memory = memory
  }

  mutating func run() throws(HeartlogError) -> SyncReport {
    try memory.catalogue.update(from: place, options)
    var listing = FolderListing(memory.catalogue)
    counts = listing.counts
    try beginKeys(listing)
    try recall()
    counts.revoked = listing.leaveOut(ring?.revoked ?? [:])
    _ = listing.leaveOut(try droppedStreams())
    report.isDryRun = options.isDryRun
    let files = Dictionary(grouping: listing.files, by: \.stream)
    let heads = try store.streamHeads()
    let streams = Set(files.keys).union(heads.map(\.replica)).sorted()
    report.streams = streams.count
    do throws(HeartlogError) {
      try agreeOnVault(listing)
      try settleKeys(listing)
      if options.isDryRun {
        try plan(streams, files, heads)
      } else {
        try exchange(streams, files, listing, heads)
      }
    } catch {
      guard error.isEarlyEnd else { throw error }
      report.noteClocks(of: receivedStreams.sorted(), in: store, now: options.clock())
      var unfinished = SyncReport.Unfinished()
      unfinished.commitsToReceive = try commitsToReceive(files)
      report.unfinished = unfinished
    }
    try remember()
    if !options.isDryRun {
      report.received.events = receivedEvents
      report.sent.events = sentEvents
    }
    if !options.isDryRun {
      report.recoveryCode = try VaultKeys.unshownCode(of: store)?.text
      try VaultKeys.forgetUnshown(in: store)
    }
    counts.damagedNames = damaged.subtracting(plain).subtracting(locked).sorted()
    counts.plain = plain.count
    counts.locked = locked.count
    report.folder = counts
    return report
  }

  /// Receives what the store has, then writes what it lacks.
  private mutating func exchange(
    _ streams: [ReplicaID], _ files: [ReplicaID: [FolderFile]], _ listing: FolderListing,
    _ heads: [StreamHead]
  ) throws(HeartlogError) {
    // What is signed cannot be ended by a file that says so.
    try skippingIfDamaged(store.replica, heads) { (round) throws(HeartlogError) in try round.prepareToShip() }
    try receive(streams, files, listing, heads)
    report.noteClocks(of: receivedStreams.sorted(), in: store, now: options.clock())
    if !options.isPull { try publish(listing) }
    try report.nameHeld(heads, in: store, signingFailure: signingFailure)
  }

  /// Receives what the place has. A damaged store receives nothing, and says so of each stream that has something.
  mutating func receive(
    _ streams: [ReplicaID], _ files: [ReplicaID: [FolderFile]], _ listing: FolderListing,
    _ heads: [StreamHead]
  ) throws(HeartlogError) {
    for stream in streams {
      try skippingIfDamaged(stream, heads) { (round) throws(HeartlogError) in
        if round.store.corruption == nil { try round.takeEvidence(stream, listing) }
        try round.receive(stream, files[stream] ?? [], listing)
      }
    }
    for stream in try resolveWaiting() where isBetweenStores {
      try receive(stream, files[stream] ?? [], listing)
    }
    guard store.corruption == nil else { return }
    for stream in streams { try takeCheckpoints(stream, files[stream] ?? [], listing) }
    report.applyErasures(in: store)
  }

  mutating func prepareToShip() throws(HeartlogError) { signingFailure = try store.prepareToShip() }

  /// Runs `body` for one stream. If the stream is damaged here, it is reported as skipped, and the other
  /// streams continue.
  mutating func skippingIfDamaged(
    _ stream: ReplicaID, _ heads: [StreamHead],
    _ body: (inout SyncPass) throws(HeartlogError) -> Void
  ) throws(HeartlogError) {
    try options.checkTime()
    do throws(HeartlogError) { try body(&self) } catch {
      guard error.code == .corrupt else { throw error }
      let head = heads.first { $0.replica == stream }
      let next = CommitNumber(rawValue: (head?.commit.rawValue ?? 0) + 1)
      skip(
        SyncReport.SkippedStream(
          replica: stream, name: head?.name ?? "", firstCommit: error.commits?.lowerBound ?? next,
          cause: .damaged, reason: "this store is damaged: \(error.description)"))
    }
  }

  /// Reports a stream as skipped, unless it has already been reported: the first reason is kept.
  mutating func skip(_ stream: SyncReport.SkippedStream) {
    guard !report.skipped.contains(where: { $0.replica == stream.replica }) else { return }
    report.skipped.append(stream)
  }

  /// Counts what would be received and sent, from file names alone.
  mutating func plan(
    _ streams: [ReplicaID], _ files: [ReplicaID: [FolderFile]], _ heads: [StreamHead]
  ) throws(HeartlogError) {
    for stream in streams {
      try skippingIfDamaged(stream, heads) { (round) throws(HeartlogError) in
        try round.plan(stream, files[stream] ?? [])
      }
    }
  }

  private mutating func plan(_ stream: ReplicaID, _ files: [FolderFile]) throws(HeartlogError) {
    let head = try head(of: stream)
    if isBetweenStores, let head, try isParted(head, files) { return noteFork(of: stream, called: head.name) }
    if head?.isEnded != true {
      var position = head?.commit.rawValue ?? 0
      while let next = next(files, after: position, limit: nil) {
        report.received.commits = Self.sum(report.received.commits, next.name.last - position)
        position = next.name.last
      }
    }
    if let head, !options.isPull {
      for range in try missing(of: head, files: files) {
        report.sent.commits += range.upperBound - range.lowerBound + 1
      }
    }
  }

  /// The streams of which nothing is taken, with the last commit that counts.
  func droppedStreams() throws(HeartlogError) -> [ReplicaID: UInt64] {
    Dictionary(uniqueKeysWithValues: try store.droppedReplicas().map { ($0, 0) })
  }

  func head(of stream: ReplicaID) throws(HeartlogError) -> StreamHead? {
    try store.streamHead(of: stream)
  }

  /// A sum of commits that files have by their names; the largest number if it is larger. Whoever may write to the folder may use any names.
  static func sum(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (sum, isTooLarge) = one.addingReportingOverflow(other)
    return isTooLarge ? .max : sum
  }

  /// Commits that the files have beyond what the store has, judged by their names.
  func commitsToReceive(_ files: [ReplicaID: [FolderFile]]) throws(HeartlogError) -> UInt64 {
    var sum: UInt64 = 0
    for (stream, files) in files {
      let head = try head(of: stream)
      let last = files.lazy.filter { !$0.name.isEnd }.map(\.name.last).max() ?? 0
      guard head?.isEnded != true, last > head?.commit.rawValue ?? 0 else { continue }
      sum = Self.sum(sum, last - (head?.commit.rawValue ?? 0))
    }
    return sum
  }
}

/// What a device remembers of the objects at a place, from one process to the next. Source: docs/format.md, `keys/places`.
extension SyncPass {
  /// What a later pass over the same objects need not find out again.
  struct Memory: Sendable {
    var catalogue = ObjectCatalogue()
    /// Keys of the checks that have succeeded: the paths of files whose content was verified, and the keys of compared roots.
    var checked: Set<String> = []
    /// When this process last wrote a checkpoint of each stream.
    var statementTimes: [ReplicaID: Milliseconds] = [:]
    /// What that was found out of: whether the objects were encrypted, and the vault then; `nil` before the first pass.
    fileprivate var scope: String?
    /// Since when objects are taken for whole without being read.
    fileprivate var since: Milliseconds = 0
    /// What was written down last.
    fileprivate var kept: [String] = []

    /// Takes over what a pass found that began with an earlier state of this.
    mutating func take(_ other: Memory, deleted: Set<String>) {
      // Another pass may have checked others meanwhile.
      let checked = scope == other.scope ? self.checked.union(other.checked) : other.checked
      self = other
      self.checked = checked.subtracting(deleted)
    }
  }

  /// For so long: after that, a device reads its objects again, and replaces those that the place has damaged.
  private static let memoryMilliseconds: Milliseconds = 30 * 86_400_000
  private static let memoryBytesMax = 1 << 20
  private static let sinceWord = "since "

  /// The file of this place, in the store; `nil` for a place whose objects are read again by each process, because that is cheap.
  private var memoryFile: String? {
    place.address.map {
      "places/\(RootPrefix(SHA256Hasher.digest(of: Array("\($0)\(scope)".utf8))).text)"
    }
  }

  /// What was found of plain objects says nothing of encrypted ones, and objects say which vault their writer is in.
  private var scope: String {
    let belonging = store.vault.map { " \($0.id)\($0.isEstablished ? "" : " provisional")" } ?? ""
    guard format.isEncrypted else { return belonging }
    // What this device put under an epoch that turned out to be one of a removed member can be read by nobody, and is put again.
    let untrusted = ring.map { ring in ring.epochsByID.keys.count { ring.state.trusted[$0] == nil } } ?? 0
    return
      " encrypted \(ring?.vault?.description ?? "")\(belonging)\(untrusted == 0 ? "" : " without \(untrusted)")"
  }

  /// Reads what an earlier process found out in the same scope.
  mutating func recall() throws(HeartlogError) {
    guard memory.scope != scope else { return }
    memory.scope = scope
    memory.checked = []
    memory.kept = []
    memory.since = options.clock()
    guard let file = memoryFile, let bytes = try store.log.keyFile(file) else { return }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    guard let first = lines.first, first.hasPrefix(Self.sinceWord),
      let since = Milliseconds(first.dropFirst(Self.sinceWord.count)), since <= memory.since,
      memory.since - since <= Self.memoryMilliseconds
    else { return }
    memory.since = since
    memory.kept = Array(lines.dropFirst())
    for line in memory.kept {
      let parts = line.split(separator: " ")
      // One that has another size by now is looked at again: a put that broke off may end after the one that followed it.
      guard parts.count == 2, let path = parts.first.map(String.init),
        memory.catalogue.entries[path].map({ Self.size(of: $0) == parts[1] }) ?? true
      else { continue }
      memory.checked.insert(path)
    }
  }

  /// Writes down what was found out, for the next process.
  mutating func remember() throws(HeartlogError) {
    // In a vault that was joined meanwhile, everything is to be looked at again.
    guard memory.scope == scope, !options.isDryRun, !options.isPull, store.corruption == nil,
      let file = memoryFile
    else { return }
    let lines = memory.checked.compactMap { path in
      memory.catalogue.entries[path].map { "\(path) \(Self.size(of: $0))" }
    }.sorted()
    guard lines != memory.kept else { return }
    let text = "\(Self.sinceWord)\(memory.since)\n" + lines.map { $0 + "\n" }.joined()
    guard text.utf8.count <= Self.memoryBytesMax else { return }
    try store.replaceKeyFile(file, with: Array(text.utf8))
    memory.kept = lines
  }

  private static func size(of entry: ObjectList.Entry) -> String { entry.byteCount.map(String.init) ?? "?" }
}
