import Heartlog
import HeartlogFiles
import HeartlogFormat

/// The store at the other end as a place of objects. It has one run file for what of a stream this store lacks, and others for what both have
/// or have differently; each is made when it is read, and read run by run.
final class PeerPlace: Place {
  private struct State {
    var greeting = Message.Greeting()
    var damage = ""
    var left: [SyncReport.SkippedStream] = []
    var list: [PeerStream] = []
    /// By replica: the place in the list.
    var places: [ReplicaID: Int] = [:]
    /// The run files that this store reads whole, in this order, unless something comes between.
    var expected: [(path: String, want: Message.Want)] = []
    /// What was asked for and has not come yet, with the next commit of each.
    var requested: [(path: String, want: Message.Want, next: UInt64)] = []
    /// By path: the next commit of a file that was read in part.
    var next: [String: UInt64] = [:]
    var names: [ReplicaID: String] = [:]
    /// Whether something was given that is not confirmed.
    var hasUnconfirmed = false
    /// By place in the list: the checkpoints that were given since the list.
    var shown: [Int: ShippedCheckpoint] = [:]
    var done = Message.Done()
  }

  private let link: any PeerLink
  private let store: FavoritesStore
  private let options: SyncOptions
  private let state = Monitor(State())

  let description: String

  /// The other end's streams have no writer of their own.
  private static let writer = ReplicaID(high: 0, low: 0)
  /// So many files are asked for at once: the answers fill the time that the questions take.
  private static let requestsMax = 64

  init(_ link: any PeerLink, _ store: FavoritesStore, _ options: SyncOptions, description: String) {
    self.link = link
    self.store = store
    self.options = options
    self.description = description
  }

  static func path(
    of stream: ReplicaID, _ first: UInt64, _ last: UInt64, _ root: RootPrefix, _ ending: String
  ) -> String {
    let name = RunFileName(first: first, last: last, root: root, content: RootPrefix(word: 0))
    return "\(FolderFile.folder(of: stream, by: writer))/\(name.stem)\(ending)"
  }

  // MARK: - What the last list told

  /// What the other end says of itself.
  var greeting: Message.Greeting { state.withLock { $0.greeting } }
  /// The other end's replica; `nil` if it has no commit of its own.
  var peer: ReplicaID? { state.withLock { state in state.greeting.own.map { state.list[$0].replica } } }
  /// What is damaged there, as a sentence; `nil` if nothing is.
  var damage: String? { state.withLock { $0.damage.isEmpty ? nil : $0.damage } }
  /// The streams that are kept out.
  var left: [SyncReport.SkippedStream] { state.withLock { $0.left } }
  var list: [PeerStream] { state.withLock { $0.list } }
  var bytes: (read: UInt64, written: UInt64) { link.bytes }
  /// What the other end has taken, as far as it was asked.
  var done: Message.Done { state.withLock { $0.done } }

  func unsent() throws(HeartlogError) -> [SyncReport.SkippedStream] { try link.unsent() }

  // MARK: - Listing

  func list(after cursor: PlaceCursor?) throws(HeartlogError) -> ObjectList {
    try drain()
    let (mine, left) = try store.announcedHeads(atMost: options.streamsMax)
    var heads = Message.Heads(
      greeting: Message.Greeting(
        isPull: options.isPull, isDryRun: options.isDryRun,
        own: mine.firstIndex { $0.replica == store.replica }, wallTime: options.clock(), vault: store.vault,
        joins: options.joinsVault),
      heads: mine.map { ShippedHead(replica: $0.replica, position: .init($0)) })
    var answer = try link.answer(heads)
    var streams = try Self.streams(answer, mine)
    // Where the other end is behind, only this one can tell that the histories differ.
    for (index, stream) in streams.enumerated() {
      guard let mine = stream.mine, let theirs = stream.theirs, stream.roots.isEmpty else { continue }
      if try store.parts(mine, from: theirs) { heads.parted.append(index) }
    }
    if !heads.parted.isEmpty {
      answer = try link.answer(heads)
      streams = try Self.streams(answer, mine)
    }
    let places = Dictionary(uniqueKeysWithValues: streams.enumerated().map { ($1.replica, $0) })
    let dropped = Set(try store.droppedReplicas())
    let listed = streams.enumerated().map { index, stream in
      dropped.contains(stream.replica) ? ([], []) : Self.files(stream, index)
    }
    state.withLock { state in
      state.greeting = answer.greeting
      state.damage = answer.damage
      state.left = left
      state.list = streams
      state.places = places
      state.next = [:]
      state.shown = [:]
      // What a different history needs is asked for in between.
      state.expected = streams.contains(where: \.isParted) ? [] : listed.flatMap(\.1)
    }
    return ObjectList(
      listed.flatMap(\.0).map { ObjectList.Entry($0, byteCount: 1) }, cursor: PlaceCursor(""),
      startsOver: true)
  }

  private static func streams(
    _ answer: Message.Answer, _ mine: [StreamHead]
  ) throws(HeartlogError) -> [PeerStream] {
    let theirs = answer.greeting
    guard theirs.isServing, !theirs.isPull, !theirs.isDryRun else {
      throw .peer("an answer from a peer that does not serve")
    }
    let own = Set(mine.map(\.replica))
    var streams = zip(mine, answer.states).map { own, state in
      let position: ShippedHead.Position? =
        switch state {
        case .none: nil
        case .same: .init(own)
        case .other(let position): position
        }
      return PeerStream(replica: own.replica, mine: own, theirs: position)
    }
    for head in answer.heads {
      guard !own.contains(head.replica) else { throw .peer("a stream that is in the list twice") }
      streams.append(PeerStream(replica: head.replica, mine: nil, theirs: head.position))
    }
    let places = [theirs.own].compactMap(\.self) + answer.facts.map(\.stream)
    guard places.allSatisfy({ $0 < streams.count }) else { throw .peer("a place past the list") }
    for index in streams.indices {
      // The other end has the same copy, or tells its own.
      let own = streams[index].mine?.checkpoint
      if own.map(CheckpointName.init) == streams[index].theirs?.checkpoint { streams[index].checkpoint = own }
    }
    for facts in answer.facts {
      let stream = streams[facts.stream]
      streams[facts.stream].facts = facts
      if let last = facts.roots.last, last.commit != min(stream.myCommit, stream.theirCommit) {
        throw .peer("roots that do not lead to the lower head")
      }
      guard let told = facts.checkpoint else { continue }
      let signed = try told.verified(of: stream.replica)
      guard CheckpointName(signed) == stream.theirs?.checkpoint else {
        throw .peer("another checkpoint than it announced")
      }
      streams[facts.stream].checkpoint = signed
    }
    return streams
  }

  /// The names of what the other end has of a stream, and what this end is expected to read of it.
  private static func files(
    _ stream: PeerStream, _ index: Int
  ) -> (names: [String], expected: [(path: String, want: Message.Want)]) {
    guard let theirs = stream.theirs else { return ([], []) }
    var names: [String] = []
    var expected: [(path: String, want: Message.Want)] = []
    func add(_ first: UInt64, _ last: UInt64, _ root: RootPrefix, _ ending: String = RunFileName.ending) {
      names.append(path(of: stream.replica, first, last, root, ending))
    }
    let common = min(stream.myCommit, stream.theirCommit)
    var next: UInt64 = 1
    for root in stream.roots {
      add(next, root.commit, root.root)
      next = root.commit + 1
    }
    if !stream.isParted, common > 0 {
      add(
        1, common,
        common == theirs.commit ? theirs.root : stream.mine.map { RootPrefix($0.root) } ?? theirs.root)
    }
    if theirs.commit > common, stream.mine?.isEnded != true || stream.isParted {
      add(common + 1, theirs.commit, theirs.root)
      if !stream.isParted, let path = names.last {
        expected.append((path, Message.Want(stream: index, commits: common + 1...theirs.commit)))
      }
    }
    if theirs.isEnded {
      add(theirs.commit + 1, theirs.commit, theirs.commit == 0 ? RootPrefix(MerkleTree().root) : theirs.root)
    }
    if let signed = stream.checkpoint, signed != stream.mine?.checkpoint {
      let size = signed.checkpoint.size
      add(size + 1, size, RootPrefix(signed.checkpoint.root), ObjectPath.checkpointEnding)
    }
    if stream.facts?.evidence != nil { add(1, 0, theirs.root, ObjectPath.evidenceEnding) }
    return (names, expected)
  }

  // MARK: - Reading

  /// Returns a checkpoint, evidence, or the next run of a file.
  func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent {
    guard let place = ObjectPath(name),
      let (index, stream) = self.place(of: place.stream)
    else { return .absent }
    switch place.file {
    case .checkpoint:
      return stream.checkpoint.map { .bytes(ShippedCheckpointFile($0, vault: nil).encoded()) } ?? .absent
    case .evidence: return stream.facts?.evidence.map { .bytes($0) } ?? .absent
    case .run(let file) where file.isEnd:
      return .file(RunFile(of: place.stream, after: file.last))
    case .run(let file): return try run(name, file, index, stream)
    case .copy, nil: return .absent
    }
  }

  private func run(
    _ path: String, _ name: RunFileName, _ index: Int, _ stream: PeerStream
  ) throws(HeartlogError) -> ObjectContent {
    let next = state.withLock { $0.next[path] } ?? name.first
    guard next <= name.last else { return .absent }
    try request(path, Message.Want(stream: index, commits: next...name.last))
    switch try link.next() {
    case .unreadable(let sentence):
      state.withLock { state in
        state.requested.removeFirst()
        state.damage = sentence
      }
      return .lost("the peer cannot read it: \(sentence)")
    case .run(let run):
      guard run.stream == index, run.firstCommit == next, run.lastCommit <= name.last else {
        throw .peer("commits from \(run.firstCommit) on that were not requested")
      }
      guard run.lastCommit < name.last || RootPrefix(run.root) == name.root else {
        throw .peer("commits that do not lead to the root it announced")
      }
      let called = run.name ?? stream.mine?.name ?? state.withLock { $0.names[stream.replica] }
      guard let called else { throw .peer("a new stream without its name") }
      state.withLock { state in
        state.names[stream.replica] = called
        state.next[path] = run.lastCommit + 1
        state.requested[0].next = run.lastCommit + 1
        if run.lastCommit == name.last { state.requested.removeFirst() }
      }
      return .file(run.file(of: stream.replica, called: called, stream.checkpoint))
    default: throw .peer("a message out of turn")
    }
  }

  /// Asks for a file unless it is what comes next, and for those that are expected behind it.
  private func request(_ path: String, _ want: Message.Want) throws(HeartlogError) {
    // What this store does not take is read and left.
    while let first = state.withLock({ $0.requested.first }), first.path != path {
      try pass(first.want, from: first.next)
    }
    let wants = state.withLock { state -> [Message.Want] in
      guard state.requested.isEmpty else { return [] }
      var chosen = [(path: path, want: want)]
      if let index = state.expected.firstIndex(where: { $0.path == path }) {
        chosen += state.expected[(index + 1)...].prefix(Self.requestsMax - 1)
        state.expected.removeFirst(min(state.expected.count, index + Self.requestsMax))
      }
      state.requested = chosen.map { ($0.path, $0.want, $0.want.commits.lowerBound) }
      return chosen.map(\.want)
    }
    if !wants.isEmpty { try link.request(wants) }
  }

  /// Reads what is left of the first request.
  private func pass(_ want: Message.Want, from first: UInt64) throws(HeartlogError) {
    var next = first
    while next <= want.commits.upperBound {
      try options.checkTime()
      guard case .run(let run) = try link.next() else { break }
      guard run.stream == want.stream, run.firstCommit == next, run.lastCommit <= want.commits.upperBound
      else { throw .peer("commits from \(run.firstCommit) on that were not requested") }
      next = run.lastCommit + 1
    }
    state.withLock { _ = $0.requested.removeFirst() }
  }

  private func drain() throws(HeartlogError) {
    while let first = state.withLock({ $0.requested.first }) { try pass(first.want, from: first.next) }
  }

  // MARK: - Giving

  /// The place of a stream in the list; `nil` if neither end had it.
  func place(of stream: ReplicaID) -> (index: Int, stream: PeerStream)? {
    state.withLock { state in state.places[stream].map { ($0, state.list[$0]) } }
  }

  func give(_ message: Message) throws(HeartlogError) {
    try drain()
    state.withLock { state in
      state.hasUnconfirmed = true
      if case .facts(let told) = message {
        for facts in told { state.shown[facts.stream] = facts.checkpoint }
      }
    }
    try link.give(message)
  }

  /// Asks what became of what was given, if something was; keeps the signatures that came with the answer.
  func confirm() throws(HeartlogError) {
    try drain()
    guard state.withLock({ $0.hasUnconfirmed }) else { return }
    let done = try link.confirm()
    let (list, shown) = state.withLock { ($0.list, $0.shown) }
    for (index, note) in done.cosigned {
      guard let mine = shown[index], note.text == mine.note.text else {
        throw .peer("a cosigned checkpoint that it was not shown")
      }
      let cosigned = try ShippedCheckpoint(key: mine.key, note: note).verified(of: list[index].replica)
      _ = try store.take(cosigned, at: options.clock())
    }
    state.withLock { state in
      state.done = done
      state.hasUnconfirmed = false
    }
  }

  // What a store does not offer to another.

  func put(_ name: String, _ bytes: [UInt8]) { preconditionFailure("what is given to a store is no object") }
  func delete(_ name: String) {}
}
