import Heartlog
import HeartlogFormat
import Synchronization

/// The serving end of a sync: a store that answers what it has, gives it, and takes what the calling end gives. Source: docs/shipping.md,
/// "A store as a place".
struct PeerHost {
  private let store: FavoritesStore
  private let options: SyncOptions
  private let inbox = Inbox()
  /// Receives what the calling end gives.
  private var pass: SyncPass
  private var list: [PeerStream] = []
  /// By place in the list: how often something of it was asked for.
  private var requestCounts: [Int] = []
  /// The names of streams that are new here.
  private var names: [ReplicaID: String] = [:]
  private var greeting: Message.Greeting?
  private var rounds = 0
  private var heads: [StreamHead] = []
  /// Whether something came since the calling end last asked what became of it.
  private(set) var hasUnconfirmed = false

  /// Each round ends some forks, so their number falls.
  static let roundsMax = 8

  init(_ store: FavoritesStore, _ options: SyncOptions) {
    self.store = store
    self.options = options
    pass = SyncPass(store: store, place: inbox, options: options, memory: .init())
    pass.isBetweenStores = true
  }

  /// The replica that writes in the store.
  var replica: ReplicaID { store.replica }

  /// Whether this end stores nothing. A damaged store cannot be written.
  private var takesNothing: Bool { options.isReadOnly || store.corruption != nil }

  private var mayWrite: Bool { greeting.map { !$0.isPull && !$0.isDryRun } ?? false && !takesNothing }

  // MARK: - What it has

  /// Answers the heads of the calling end with what that lacks.
  mutating func answer(_ heads: Message.Heads) throws(HeartlogError) -> Message.Answer {
    rounds += 1
    // The roots of other histories are asked for with the same heads.
    guard rounds <= 2 * Self.roundsMax else { throw .peer("too many rounds") }
    guard !heads.greeting.isServing else { throw .peer("an echo, or another end that serves") }
    if let own = heads.greeting.own, own >= heads.heads.count { throw .peer("a place past the list") }
    greeting = heads.greeting
    pass.report.isDryRun = heads.greeting.isDryRun
    var damage: HeartlogError?
    if !heads.greeting.isDryRun {
      try pass.skippingIfDamaged(store.replica, self.heads) { (pass) throws(HeartlogError) in
        do throws(HeartlogError) { try pass.prepareToShip() } catch {
          if error.code == .corrupt { damage = error }
          throw error
        }
      }
    }
    var (mine, left) = try store.announcedHeads(atMost: options.streamsMax)
    self.heads = mine
    damage = store.corruption?.error ?? damage
    if heads.greeting.isDryRun {
      let known = Dictionary(heads.heads.map { ($0.replica, $0.position.commit) }) { first, _ in first }
      mine = try readable(mine, behind: known, &damage)
    }
    for stream in left { pass.skip(stream) }
    let byReplica = Dictionary(uniqueKeysWithValues: mine.map { ($0.replica, $0) })
    let called = Set(heads.heads.map(\.replica))
    list = heads.heads.map {
      PeerStream(replica: $0.replica, mine: byReplica[$0.replica], theirs: $0.position)
    }
    list += mine.filter { !called.contains($0.replica) }.map {
      PeerStream(replica: $0.replica, mine: $0, theirs: nil)
    }
    requestCounts = list.map { _ in 0 }
    let peer = heads.greeting.own.map { list[$0].replica }
    try store.refuseRemoved(peer)
    pass.report.streams = list.count
    pass.report.noteGreeting(heads.greeting, of: peer, now: options.clock())
    var answer = Message.Answer(
      greeting: Message.Greeting(
        isServing: true, isReadOnly: takesNothing, own: list.firstIndex { $0.replica == store.replica },
        wallTime: options.clock(), vault: store.vault),
      states: list.prefix(heads.heads.count).map { entry in
        guard let mine = entry.mine else { return .none }
        let position = ShippedHead.Position(mine)
        return position == entry.theirs ? .same : .other(position)
      },
      heads: list.dropFirst(heads.heads.count).compactMap { entry in
        entry.mine.map { ShippedHead(replica: $0.replica, position: .init($0)) }
      })
    if let damage { answer.damage = Message.damage(damage) }
    answer.facts = try facts(asked: Set(heads.parted))
    return answer
  }

  /// The heads up to what can be read of what the calling end lacks. Without this, only whoever reads it finds the damage.
  private func readable(
    _ heads: [StreamHead], behind known: [ReplicaID: UInt64], _ damage: inout HeartlogError?
  ) throws(HeartlogError) -> [StreamHead] {
    var readable: [StreamHead] = []
    for head in heads {
      let after = known[head.replica] ?? 0
      guard after < head.commit.rawValue,
        let error = try store.damage(of: head.replica, after: after, upTo: head.commit)?.error
      else {
        readable.append(head)
        continue
      }
      damage = damage ?? error
      let first = error.commits?.lowerBound.rawValue ?? after + 1
      let last = CommitNumber(rawValue: min(first - 1, head.commit.rawValue - 1))
      guard last.rawValue > 0, let root = try? store.streamRoot(of: head.replica, at: last) else { continue }
      readable.append(StreamHead(replica: head.replica, name: head.name, commit: last, root: root))
    }
    return readable
  }

  /// What the calling end needs to know of streams: of those that it has another history of, also roots.
  private func facts(asked: Set<Int>) throws(HeartlogError) -> [StreamFacts] {
    var found: [StreamFacts] = []
    var byteCount = 0
    for (index, stream) in list.enumerated() {
      guard let mine = stream.mine else { continue }
      var isParted = asked.contains(index)
      if !isParted, let theirs = stream.theirs { isParted = try store.parts(mine, from: theirs) }
      var facts = try StreamFacts(index, of: mine, for: stream.theirs, isParted: isParted, from: store)
      if isParted {
        do throws(HeartlogError) {
          facts.roots = try roots(of: mine, upTo: min(stream.myCommit, stream.theirCommit))
        } catch {
          guard error.code == .corrupt else { throw error }
        }
      }
      guard !facts.isEmpty else { continue }
      byteCount += facts.byteCount
      // What does not fit is sent in the next sync.
      guard byteCount <= Message.factsBytesMax else { break }
      found.append(facts)
    }
    return found
  }

  /// The roots of a stream after a commit and at distances from it that double, so that the calling end asks for half of what is left to
  /// find the last common one.
  private func roots(of head: StreamHead, upTo commit: UInt64) throws(HeartlogError) -> [CommitRoot] {
    var commits: [UInt64] = []
    var distance: UInt64 = 0
    while distance < commit {
      commits.append(commit - distance)
      distance = max(1, distance * 2)
    }
    var roots: [CommitRoot] = []
    for commit in commits.reversed() {
      guard let root = try store.streamRoot(of: head.replica, at: CommitNumber(rawValue: commit)) else {
        throw HeartlogError(.corrupt, "the stream of \(head.replica) has no root at commit \(commit)")
      }
      roots.append(CommitRoot(commit: commit, root: RootPrefix(root)))
    }
    return roots
  }

  /// Agrees on a vault with the calling end, which does the same with the answer, and joins it.
  func agreeOnVault() throws(HeartlogError) {
    guard let theirs = greeting else { return }
    let mine = store.vault.map {
      VaultAgreement.Side(membership: $0, isEmpty: list.allSatisfy { $0.myCommit == 0 })
    }
    try store.agreeOnVault(
      mine, theirs, isEmpty: list.allSatisfy { $0.theirCommit == 0 },
      isWritten: !theirs.isDryRun && !takesNothing)
  }

  /// Gives runs of a stream, one by one.
  ///
  /// - Parameter give: Sends a run, or says that no more can be read.
  mutating func give(
    _ want: Message.Want, _ give: (Message) throws(HeartlogError) -> Void
  ) throws(HeartlogError) {
    _ = try stream(want.stream)
    requestCounts[want.stream] += 1
    guard requestCounts[want.stream] <= Message.rootsMax + 1 else {
      throw .peer("too many requests for one stream")
    }
    var after = want.commits.lowerBound - 1
    while after < want.commits.upperBound {
      try options.checkTime()
      let message = try next(want, after: after)
      try give(message)
      guard case .run(let run) = message else { return }
      after = run.lastCommit
    }
  }

  /// The next message of what was asked for.
  func next(_ want: Message.Want, after: UInt64) throws(HeartlogError) -> Message {
    guard want.stream < list.count, let head = list[want.stream].mine,
      want.commits.upperBound <= head.commit.rawValue
    else { throw .peer("a request for commits that do not exist") }
    guard greeting?.isDryRun == false else { throw .peer("requests in a dry run") }
    do throws(HeartlogError) {
      return .run(
        try ShippedRun(want.stream, of: head, after: after, upTo: want.commits.upperBound, from: store))
    } catch {
      guard error.code == .corrupt else { throw error }
      return .unreadable(Message.damage(error))
    }
  }

  // MARK: - What it takes

  /// Takes what the calling end gives.
  mutating func take(_ message: Message) throws(HeartlogError) {
    guard mayWrite else { throw .peer("something to store where nothing may be written") }
    try options.checkTime()
    hasUnconfirmed = true
    switch message {
    case .facts(let told):
      guard !told.isEmpty else { throw .peer("no facts") }
      for facts in told {
        let stream = try stream(facts.stream)
        guard stream.facts == nil else { throw .peer("duplicate facts of a stream") }
        list[facts.stream].facts = facts
        list[facts.stream].checkpoint = try facts.checkpoint?.verified(of: stream.replica)
        try receive(nil, of: list[facts.stream])
      }
    case .run(let run):
      let stream = try stream(run.stream)
      guard let name = run.name ?? stream.mine?.name ?? names[stream.replica] else {
        throw .peer("a new stream without its name")
      }
      names[stream.replica] = name
      try receive(run.file(of: stream.replica, called: name, stream.checkpoint), of: stream)
    default: throw .peer("a message out of turn")
    }
  }

  private func stream(_ index: Int) throws(HeartlogError) -> PeerStream {
    guard index < list.count else { throw .peer("a place past the list") }
    return list[index]
  }

  /// Receives a run, and what the calling end told of its stream.
  private mutating func receive(_ run: RunFile?, of stream: PeerStream) throws(HeartlogError) {
    let listing = inbox.put(run, of: stream)
    try pass.skippingIfDamaged(stream.replica, heads) { (pass) throws(HeartlogError) in
      try pass.takeEvidence(stream.replica, listing)
      try pass.receive(stream.replica, listing.files, listing)
    }
  }

  /// Ends a part of the sync: what had to wait is tried again, and what was signed is kept.
  ///
  /// - Returns: What has been taken by now, or that it does not lead to its roots.
  mutating func confirm() throws(HeartlogError) -> Message {
    guard hasUnconfirmed else { throw .peer("a message out of turn") }
    hasUnconfirmed = false
    let resolved = Set(try pass.resolveWaiting())
    for stream in list where resolved.contains(stream.replica) { try receive(nil, of: stream) }
    var done = Message.Done(commits: pass.report.received.commits, events: pass.receivedEvents)
    for (index, stream) in list.enumerated() {
      guard let shown = stream.checkpoint else { continue }
      _ = try store.take(shown, at: options.clock())
      guard let mine = try store.streamHead(of: stream.replica)?.checkpoint, mine != shown,
        mine.checkpoint == shown.checkpoint
      else { continue }
      done.cosigned[index] = mine.note
    }
    if mayWrite { pass.report.applyErasures(in: store) }
    if let refused = pass.report.refused { return .failed(.dialogue, Message.cut(refused)) }
    return .done(done)
  }

  /// The report of this end.
  mutating func report() throws(HeartlogError) -> SyncReport {
    var report = pass.report
    report.received.events = pass.receivedEvents
    report.noteClocks(of: pass.receivedStreams.sorted(), in: store, now: options.clock())
    try report.nameHeld(heads, in: store, signingFailure: pass.signingFailure)
    return report
  }
}

/// What the calling end gave last, as a place that has nothing else.
private final class Inbox: Place {
  private let contents = Mutex<[String: ObjectContent]>([:])

  let description = "the peer"

  /// Puts a run, and what was told of its stream, in place of everything else.
  func put(_ run: RunFile?, of stream: PeerStream) -> FolderListing {
    var catalogue = ObjectCatalogue()
    var found: [String: ObjectContent] = [:]
    func add(_ first: UInt64, _ last: UInt64, _ root: RootPrefix, _ ending: String, _ content: ObjectContent)
    {
      let path = PeerPlace.path(of: stream.replica, first, last, root, ending)
      found[path] = content
      catalogue.add(ObjectList.Entry(path, byteCount: 1))
    }
    if let run, let last = run.runs.last {
      add(run.firstCommit, run.lastCommit, RootPrefix(last.root), RunFileName.ending, .file(run))
    }
    if let end = stream.facts?.end {
      add(
        end.commit + 1, end.commit, end.root, RunFileName.ending,
        .file(RunFile(of: stream.replica, after: end.commit)))
    }
    if let signed = stream.checkpoint {
      add(
        signed.checkpoint.size + 1, signed.checkpoint.size, RootPrefix(signed.checkpoint.root),
        ObjectPath.checkpointEnding, .bytes(ShippedCheckpointFile(signed, vault: nil).encoded()))
    }
    if let evidence = stream.facts?.evidence {
      add(1, 0, RootPrefix(word: 0), ObjectPath.evidenceEnding, .bytes(evidence))
    }
    contents.withLock { $0 = found }
    return FolderListing(catalogue)
  }

  func get(_ name: String, bytesMax: Int) -> ObjectContent { contents.withLock { $0[name] ?? .absent } }

  func list(after cursor: PlaceCursor?) -> ObjectList {
    ObjectList([], cursor: PlaceCursor(""), startsOver: true)
  }

  func put(_ name: String, _ bytes: [UInt8]) {}
  func delete(_ name: String) {}
}

extension FavoritesStore {
  /// Whether the commits of a stream differ from those that lead to a position; false if the stream is shorter here, and this cannot be
  /// determined.
  func parts(_ head: StreamHead, from position: ShippedHead.Position) throws(HeartlogError) -> Bool {
    guard position.commit > 0, position.commit <= head.commit.rawValue else { return false }
    if position.commit == head.commit.rawValue { return position.root != RootPrefix(head.root) }
    do throws(HeartlogError) {
      let root = try streamRoot(of: head.replica, at: CommitNumber(rawValue: position.commit))
      return root.map { RootPrefix($0) } != position.root
    } catch {
      // Whoever reads what is damaged says so.
      guard error.code == .corrupt else { throw error }
      return false
    }
  }

  /// Agrees on a vault with another store, and joins it.
  ///
  /// - Parameters:
  ///   - mine: What this end says of its vault.
  ///   - theirs: What the other end says.
  ///   - isEmpty: Whether the other store has no commits.
  ///   - isWritten: Whether the store may be written.
  func agreeOnVault(
    _ mine: VaultAgreement.Side?, _ theirs: Message.Greeting, isEmpty: Bool, isWritten: Bool
  ) throws(HeartlogError) {
    let other = theirs.vault.map {
      VaultAgreement.Side(membership: $0, isEmpty: isEmpty, joins: theirs.joins)
    }
    guard let vault = try VaultAgreement(mine, other).vault, let other = theirs.vault, isWritten else {
      return
    }
    try join(vault, with: other)
  }

  /// Refuses a device that was removed from the encrypted vault.
  ///
  /// - Throws: `noKey`.
  func refuseRemoved(_ peer: ReplicaID?) throws(HeartlogError) {
    guard let peer, vault?.id.isEncrypted == true else { return }
    try VaultKeys(of: self).checkNotRemoved(peer)
  }
}

extension SyncReport {
  /// Notes what the other end said of itself.
  mutating func noteGreeting(_ theirs: Message.Greeting, of peer: ReplicaID?, now: Milliseconds) {
    self.peer = peer
    peerClockAheadMilliseconds = theirs.wallTime - now
  }

  /// Why commits were refused because of their root, and of which stream.
  var refused: String? {
    skipped.first { $0.cause == .refused }.map { "\($0.reason), in the stream of \($0.replica)" }
  }
}
