import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogEngine
import HeartlogSync
import HeartlogTesting

/// A store with everything that a store can contain, a peer that has all of it, and what both show.
final class DamagedStore {
  /// The files of the store.
  let sizes: [(path: String, bytes: Int)]
  private let files: MemoryFileSystem
  private let peerFiles: MemoryFileSystem
  private let commits: [ReplicaID: [Commit]]
  private let own: ReplicaID
  /// A stream that nobody signs: its last two runs are frames of one open segment.
  private let unsigned: ReplicaID
  private let favorites: [String: [ItemState]]
  /// How many commits of each stream the snapshot covers.
  private let snapshotCounts: [ReplicaID: UInt64]
  private let clock: ManualClock
  private let process = SimulatedProcess(id: 1, clock: SimulatedUptime())
  /// The digests of the states that the first commits of each stream lead to, by their numbers.
  private var digests: [[ReplicaID: UInt64]: Digest] = [:]

  static let path = "/store"
  /// The most zeros that stay behind the commits of an open segment. There is space for more commits than all the others take.
  private static let zerosMax = 256

  init() throws {
    files = MemoryFileSystem()
    peerFiles = MemoryFileSystem()
    let clock = ManualClock()
    self.clock = clock
    let random = SeededRandom(seed: 5)
    let options = Self.options(random, clock, process)
    var store = try FavoritesStore(at: Self.path, on: files, options: options)
    let peer = try FavoritesStore(at: Self.path, on: peerFiles, options: options)
    func text(_ count: Int) -> String {
      String(decoding: (0..<count).map { _ in UInt8(33 + random.next() % 90) }, as: UTF8.self)
    }
    func write(_ count: Int, to store: FavoritesStore, _ kind: String) throws {
      for index in 0..<count {
        clock.advance(by: 1)
        let fields = [
          Field(name: "t", value: .string(text(240))), Field(name: "n", value: .int64(Int64(index))),
        ]
        _ = try store.library(index % 3 == 0 ? "papers" : "cities").add("\(kind) \(index)", fields: fields)
      }
    }
    var joining = SyncOptions()
    joining.joinsVault = true
    func sync() throws { _ = try StoreCarrier(peer).sync(store, options: joining) }
    var unsigningOptions = options
    unsigningOptions.deviceKey = .none
    let unsigning = try FavoritesStore.inMemory(options: unsigningOptions)
    unsigned = unsigning.replica
    func writeUnsigned() throws {
      try write(Self.unsignedRunCount, to: unsigning, "unsigned \(unsigning.read { $0.heads.count })")
      _ = try StoreCarrier(unsigning).sync(peer, options: joining)
      try sync()
    }
    try write(16, to: store, "early")
    try write(12, to: peer, "theirs")
    try sync()
    try store.erase("early 4", in: "cities")
    try write(2, to: store, "between")
    let folder = "\(Self.path)/replicas/\(store.replica)"
    let heads = store.read { $0.heads }
    try store.close()
    if let head = heads.first(where: { $0.replica == store.replica }),
      let open = try files.entries(of: folder).first(where: { $0.hasSuffix(".open") })
    {
      try LaterFrame.append(to: "\(folder)/\(open)", before: head.commit.rawValue + 1, on: files)
    }
    store = try FavoritesStore(at: Self.path, on: files, options: options)
    try store.seal()
    var sealed: [UInt8] = []
    for name in try files.entries(of: folder) where name.hasSuffix(".sealed") {
      sealed += try files.contents(of: "\(folder)/\(name)")
    }
    guard sealed.contains(LaterFrame.body) else {
      throw Violation("a frame of a later version is gone when its segment is sealed")
    }
    try write(8, to: store, "late")
    try store.library("papers").remove("early 3")
    try peer.library("papers").remove("early 6")
    try sync()
    guard try store.snapshot() != nil else { throw Violation("there is no snapshot") }
    snapshotCounts = Dictionary(
      uniqueKeysWithValues: store.read { $0.heads }.map { ($0.replica, $0.commit.rawValue) })
    try write(5, to: peer, "last of theirs")
    try write(6, to: store, "last")
    try sync()
    try writeUnsigned()
    try writeUnsigned()
    // No other store has these, and no checkpoint covers them.
    try write(3, to: store, Self.unsent)
    var commits: [ReplicaID: [Commit]] = [:]
    let reader = try store.readLog()
    while let commit = try reader.next() { commits[commit.replica, default: []].append(commit) }
    self.commits = commits
    favorites = try Self.favorites(of: store)
    own = store.replica
    try store.close()
    try peer.close()
    for (path, _) in try Self.sizes(of: files, in: Self.path) where path.hasSuffix(".open") {
      let bytes = try files.contents(of: path)
      let zeros = bytes.reversed().prefix { $0 == 0 }.count
      try files.replaceContents(of: path, with: bytes.dropLast(max(0, zeros - Self.zerosMax)))
    }
    sizes = try Self.sizes(of: files, in: Self.path)
  }

  /// Opens a store with the options of this one.
  static func open(_ files: MemoryFileSystem, seed: UInt64) throws(HeartlogError) -> FavoritesStore {
    let process = SimulatedProcess(id: 1, clock: SimulatedUptime())
    return try FavoritesStore(
      at: path, on: files, options: options(SeededRandom(seed: seed), ManualClock(), process))
  }

  private static func options(
    _ random: SeededRandom, _ clock: ManualClock, _ process: SimulatedProcess
  ) -> StoreOptions {
    var options = StoreOptions.simulated(random, clock, process) {
      $0.segmentBytesMax = 8_192
      $0.sealsInBackground = false
    }
    options.deviceKey = .folder
    return options
  }

  private static func sizes(
    of files: MemoryFileSystem, in folder: String
  ) throws -> [(path: String, bytes: Int)] {
    try files.entries(of: folder).sorted().flatMap { name in
      let path = "\(folder)/\(name)"
      guard try files.info(path)?.kind != .directory else { return try sizes(of: files, in: path) }
      return [(path, try files.contents(of: path).count)]
    }
  }

  // MARK: - One change

  /// Damages a copy and uses it as anybody would.
  ///
  /// - Returns: whether anything said that something is wrong.
  /// - Throws: `Violation`, if something wrong was shown, or something is missing and nothing said so.
  func isNamed(_ damage: Damage) throws -> Bool {
    let copy = files.deepCopy()
    var bytes = try copy.contents(of: damage.path)
    damage.apply(to: &bytes)
    try copy.replaceContents(of: damage.path, with: bytes)
    var answers = verify(copy)
    guard let store = try open(copy, &answers) else { return true }
    try compare(store, &answers)
    if case .bit = damage.kind, answers.lostRunOfUnsigned, !answers.unsound.contains(unsigned) {
      throw Violation("commits that a later frame calls durable are gone, and said to be unfinished")
    }
    // The own commits are acknowledged: the lock page knows how many there are.
    if !damage.path.hasSuffix("/lock"), answers.short.contains(own), !answers.unsound.contains(own) {
      throw Violation("acknowledged commits are gone, and said to be unfinished")
    }
    try goOn(with: store, &answers)
    return answers.isNamed
  }

  /// What was said about a damaged store.
  private struct Answers {
    /// Whether anything was.
    var isNamed = false
    /// The streams that have fewer commits than they had.
    var short: Set<ReplicaID> = []
    /// The streams that are said to be damaged, or to have lost something: more than an unfinished batch.
    var unsound: Set<ReplicaID> = []
    /// Whether more than the last run of the unsigned stream is missing.
    var lostRunOfUnsigned = false

    mutating func note(_ findings: [Finding]) {
      if !findings.isEmpty { isNamed = true }
      unsound.formUnion(findings.filter { $0.verdict != .torn }.map(\.replica))
    }
  }

  private func verify(_ files: MemoryFileSystem) -> Answers {
    var answers = Answers()
    do throws(HeartlogError) {
      let verified = try FavoritesStore.verify(at: Self.path, on: files, progress: nil)
      answers.note(verified.streams.compactMap(\.finding))
      if verified.snapshots.contains(where: { $0.problem != nil }) { answers.isNamed = true }
    } catch {
      answers.isNamed = true
    }
    return answers
  }

  /// Opens the store, after a repair if the error asks for one. Nil if it cannot be opened.
  private func open(_ files: MemoryFileSystem, _ answers: inout Answers) throws -> FavoritesStore? {
    let options = Self.options(SeededRandom(seed: 6), clock, process)
    do throws(HeartlogError) {
      return try FavoritesStore(at: Self.path, on: files, options: options)
    } catch {
      guard answers.isNamed else {
        throw Violation("the store does not open, and verifying finds nothing: \(error)")
      }
      guard error.isRepairable else { return nil }
    }
    do throws(HeartlogError) {
      _ = try StoreRepair.run(at: Self.path, on: files, options: options.storage)
    } catch {
      // What may be of a later version is moved away by a person, if at all.
      guard error.code == .newerFormat, let file = error.file else { throw error }
      try files.remove(file)
      _ = try StoreRepair.run(at: Self.path, on: files, options: options.storage)
    }
    return try FavoritesStore(at: Self.path, on: files, options: options)
  }

  /// Compares the commits and the state with what they were.
  private func compare(_ store: FavoritesStore, _ answers: inout Answers) throws {
    let shown = store.digest
    var found: [ReplicaID: [Commit]] = [:]
    do throws(HeartlogError) {
      let reader = try store.readLog()
      while let commit = try reader.next() { found[commit.replica, default: []].append(commit) }
      answers.note(reader.findings)
    } catch { answers.isNamed = true }
    answers.note(store.findings)
    if let replica = found.keys.first(where: { commits[$0] == nil }) {
      throw Violation("there is a stream of \(replica)")
    }
    for (replica, expected) in commits where !(found[replica] ?? []).elementsEqual(expected) {
      let read = found[replica] ?? []
      guard read.count < expected.count, read.elementsEqual(expected[..<read.count]) else {
        throw Violation("the commits of \(replica) are not what they were")
      }
      guard answers.isNamed else {
        throw Violation("\(expected.count - read.count) commits of \(replica) are gone, and nothing says so")
      }
      answers.short.insert(replica)
      if replica == unsigned, read.count < expected.count - Self.unsignedRunCount {
        answers.lostRunOfUnsigned = true
      }
    }
    let counts = found.mapValues { UInt64($0.count) }
    let withSnapshot = counts.merging(snapshotCounts) { max($0, $1) }
    // Behind a snapshot, the damage may be in front of where reading began.
    let whole = commits.mapValues { UInt64($0.count) }
    guard [counts, withSnapshot, whole].contains(where: { shown == digest(of: $0) }) else {
      throw Violation("the state is not that of the commits")
    }
  }

  /// The digest of the state that as many commits of each stream lead to.
  private func digest(of counts: [ReplicaID: UInt64]) -> Digest {
    if let digest = digests[counts] { return digest }
    var state = FavoritesState()
    for (replica, commits) in commits {
      for commit in commits where commit.number.rawValue <= counts[replica] ?? 0 { _ = state.apply(commit) }
    }
    digests[counts] = state.digest
    return state.digest
  }

  /// Writes, and syncs with the peer, which must keep what it has and get nothing wrong.
  private func goOn(with store: FavoritesStore, _ answers: inout Answers) throws {
    do {
      let written = try store.commit { try store.library("papers").add(Self.later) }.commit
      if let written, let last = commits[written.replica]?.last, written.number <= last.number {
        throw Violation("commit \(written.number) of \(written.replica) is written a second time")
      }
    } catch let error as HeartlogError {
      guard answers.isNamed else { throw Violation("writing fails, and nothing says why: \(error)") }
      return
    }
    let peer = try FavoritesStore(
      at: Self.path, on: peerFiles.deepCopy(), options: Self.options(SeededRandom(seed: 7), clock, process))
    do throws(HeartlogError) {
      let report = try StoreCarrier(peer).sync(store, options: SyncOptions())
      if !report.isComplete || !report.skipped.isEmpty { answers.isNamed = true }
    } catch {
      guard answers.isNamed else { throw Violation("syncing fails, and nothing says why: \(error)") }
    }
    let kept = favorites.mapValues { $0.filter { !$0.id.hasPrefix(Self.unsent) } }
    let found = try Self.favorites(of: peer).mapValues { $0.filter { !$0.id.hasPrefix(Self.unsent) } }
    guard found == kept else { throw Violation("the peer shows something else") }
    if answers.isNamed { return }
    guard try Self.favorites(of: peer) == favorites else {
      throw Violation("the peer did not get everything")
    }
    guard try Self.favorites(of: store) == favorites else {
      throw Violation("after the sync, the store shows something else")
    }
    guard store.digest == peer.digest else { throw Violation("after the sync, the digests differ") }
    try store.close()
  }

  /// The id of what is added after the damage.
  private static let later = "later"
  /// How the ids begin that the peer did not have before.
  private static let unsent = "unsent"
  private static let unsignedRunCount = 2

  /// Everything that a store shows, but what was added after the damage.
  private static func favorites(of store: FavoritesStore) throws -> [String: [ItemState]] {
    var favorites: [String: [ItemState]] = [:]
    for library in ["papers", "cities"] {
      favorites[library] = try store.library(library).favorites().filter { $0.id != later }.sorted {
        $0.id < $1.id
      }
    }
    return favorites
  }
}
