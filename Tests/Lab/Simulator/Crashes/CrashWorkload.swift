import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogEngine
import HeartlogSync
import HeartlogTesting

/// What a store is asked to do in a workload.
package enum CrashStep: String, CaseIterable, Sendable {
  case append, appendBuffered, flush, rotate, seal, snapshot, receive, erase, repair, appendElsewhere,
    checkpoint
  /// A second process seals the own stream, or a received one, and is killed before it removes what the sealed file replaces.
  case sealHalfElsewhere, sealHalfOfReceivedElsewhere

  /// The steps of which all sequences are run. The others are run where what they leave behind matters.
  static let ordinary: [CrashStep] = [
    .append, .appendBuffered, .flush, .rotate, .seal, .snapshot, .receive, .erase, .repair, .appendElsewhere,
    .checkpoint,
  ]
}

/// A workload that was run on a store in memory, and what was acknowledged when.
final class CrashWorkload {
  private let steps: [CrashStep]
  private let files = MemoryFileSystem(root: "/", recording: true)
  private let source: FavoritesStore
  /// Ids that anybody ever tried to add.
  private var attempted: Set<String> = []
  /// Ids that are favorites from a number of operations on.
  private var acknowledged: [(point: Int, id: String)] = []
  /// Ids whose erasure began at a number of operations, and was acknowledged at another.
  private var erased: [(start: Int, end: Int, id: String)] = []
  /// Buffered ids that are not acknowledged as durable yet.
  private var buffered: [String] = []
  private var number = 0
  /// The operations of the whole workload; a flush in the background may add others later.
  private var end = 0
  /// The operations before the last step: crashes among those are the ones of a shorter workload.
  private var start = 0
  private var received: UInt64 = 0

  private static let path = "/store"

  /// The numbers that ids and keys are made of; the same in every workload, so that equal states are found.
  private let random = SeededRandom(seed: 11)
  /// Its jobs are never run: nothing happens in the background.
  private let process = SimulatedProcess(id: 1, clock: SimulatedUptime())
  private let clock = ManualClock()

  private func options(of process: SimulatedProcess) -> StoreOptions {
    .simulated(random, clock, process) {
      $0.segmentBytesMax = 8_192
      $0.sealsInBackground = false
      $0.keepsLockInSeries = false
    }
  }

  private func open(
    _ files: any FileSystem, in process: SimulatedProcess? = nil
  ) throws(HeartlogError) -> FavoritesStore {
    try FavoritesStore(at: Self.path, on: files, options: options(of: process ?? self.process))
  }

  private func repair(_ files: MemoryFileSystem) throws(HeartlogError) {
    _ = try StoreRepair.run(at: Self.path, on: files, options: options(of: process).storage)
  }

  init(_ steps: [CrashStep]) throws {
    self.steps = steps
    var options = StoreOptions()
    options.deviceKey = .none
    options.random = { [random] in random.next() }
    options.clock = { [clock] in clock.milliseconds }
    source = try FavoritesStore.inMemory(options: options)
    for index in 0..<4 { try source.library("papers").add("elsewhere \(index)") }
    var store = try open(files)
    for index in 0..<4 { try add("base \(index)", to: store, .durable) }
    try receive(in: store)
    files.keepsTrace = false
    files.startJournal()
    for (index, step) in steps.enumerated() {
      if index == steps.count - 1 { start = files.crashPoints }
      try perform(step, &store)
    }
    end = files.crashPoints
  }

  private func add(_ id: String, to store: FavoritesStore, _ durability: Durability, bytes: Int = 10)
    throws
  {
    attempted.insert(id)
    let note = Field(name: "t", value: .string(.noise(bytes)))
    try store.write(durability: durability) { _ = try store.library("papers").add(id, fields: [note]) }
    if durability == .buffered {
      buffered.append(id)
    } else {
      acknowledge(buffered + [id])
      buffered = []
    }
  }

  private func acknowledge(_ ids: [String]) {
    for id in ids { acknowledged.append((files.crashPoints, id)) }
  }

  private func next(_ kind: String) -> String {
    number += 1
    return "\(kind) \(number)"
  }

  private func receive(in store: FavoritesStore) throws {
    guard received < 4 else { return }
    guard
      let run = try source.streamRun(
        of: source.replica, after: received, upTo: CommitNumber(rawValue: received + 1))
    else { throw Violation("the peer has no commit \(received + 1)") }
    let id = "elsewhere \(received)"
    attempted.insert(id)
    guard case .appended = try store.receive(run) else { throw Violation("the run was not appended") }
    acknowledge([id])
    received += 1
  }

  private func perform(_ step: CrashStep, _ store: inout FavoritesStore) throws {
    switch step {
    case .append: try add(next("durable"), to: store, .durable)
    case .appendBuffered: try add(next("buffered"), to: store, .buffered)
    case .flush:
      try store.flush()
      acknowledge(buffered)
      buffered = []
    case .rotate:
      // What fills the segment is not durable yet when the next one is begun.
      try add(next("large"), to: store, .buffered, bytes: 4_300)
      let folder = "\(Self.path)/replicas/\(store.replica)"
      let segments = try files.entries(of: folder).count
      try add(next("durable"), to: store, .durable)
      guard try files.entries(of: folder).count > segments else { throw Violation("no segment was begun") }
    case .seal: try store.seal()
    case .snapshot: _ = try store.snapshot()
    case .receive: try receive(in: store)
    case .erase:
      guard erased.count < 4 else { return }
      let id = "base \(erased.count)"
      erased.append((files.crashPoints, .max, id))
      try store.erase(id, in: "papers")
      erased[erased.count - 1].end = files.crashPoints
    case .repair:
      try store.close()
      acknowledge(buffered)
      buffered = []
      var bytes = try files.contents(of: "\(Self.path)/store")
      bytes[12] ^= 1
      try files.replaceContents(of: "\(Self.path)/store", with: bytes)
      try repair(files)
      store = try open(files)
    case .appendElsewhere:
      letOthersWrite()
      let other = try open(files)
      let id = next("elsewhere, durable")
      attempted.insert(id)
      try other.library("papers").add(id)
      acknowledge([id])
      try other.close()
    case .checkpoint:
      // A device that was just begun anew has nothing to sign.
      let hasCommits = store.read { $0.head(of: store.replica) } != nil
      guard try store.makeCheckpoint() != nil || !hasCommits else { throw Violation("nothing was signed") }
    case .sealHalfElsewhere: try sealHalf(of: store.replica)
    case .sealHalfOfReceivedElsewhere: try sealHalf(of: source.replica)
    }
  }

  /// Ends the lease: another process gets the lock when the buffered commits of this one are flushed.
  private func letOthersWrite() {
    process.clock.nanoseconds += 200_000_000
    while let job = process.takeDueJob() { job() }
    acknowledge(buffered)
    buffered = []
  }

  /// Lets a second process seal a stream, and kills it when the sealed file has its name.
  private func sealHalf(of replica: ReplicaID) throws {
    letOthersWrite()
    let other = SimulatedProcess(id: 2, clock: process.clock)
    let files = ProcessFileSystem(files, other) { $0 != other.id || !other.isDead }
    let folder = "\(Self.path)/replicas/\(replica)/"
    other.diesBehindRename = { $0.hasPrefix(folder) && $0.hasSuffix(".sealed") }
    _ = try? open(files, in: other).seal()
    guard other.isDead else { throw Violation("the process that seals outlived it") }
  }

  /// Checks every state that a crash in the last step can leave behind, except those that were checked before.
  ///
  /// - Throws: `Violation`, of the first state that breaks a promise.
  func check(_ counts: inout CrashEnumeration.Counts, _ seen: inout Set<Digest>) throws {
    counts.workloads += 1
    for point in start...end {
      counts.points += 1
      for state in files.crashStates(
        after: point, sectorBytes: 512, limit: CrashEnumeration.subsetsMax, seed: 7)
      {
        counts.states += 1
        let required = Set(acknowledged.filter { $0.point <= point }.map(\.id)).subtracting(
          erased.filter { $0.start < point }.map(\.id))
        let gone = Set(erased.filter { $0.end <= point }.map(\.id))
        var key = SHA256Hasher()
        state.image(of: "/").withUnsafeBytes { key.update($0) }
        for text in [required.sorted(), gone.sorted()] {
          Array(text.joined(separator: "\n").utf8 + [0]).withUnsafeBytes { key.update($0) }
        }
        guard seen.insert(key.finish()).inserted else { continue }
        counts.checked += 1
        if let problem = try problem(in: state, required: required, gone: gone) {
          throw Violation("after \(point) of \(end) operations: \(problem)")
        }
      }
    }
  }

  /// What is wrong with a state; nil if nothing is.
  private func problem(
    in files: MemoryFileSystem, required: Set<String>, gone: Set<String>
  ) throws -> String? {
    // A snapshot is there complete, or not at all. Opening would remove it.
    if steps.last == .snapshot,
      let found = try? FavoritesStore.verify(at: Self.path, on: files, progress: nil).snapshots.first(
        where: { $0.problem != nil })
    {
      return "before it is opened: \(found)"
    }
    var store: FavoritesStore
    do { store = try openOrRepair(files) } catch { return "open: \(error)" }
    func problem(_ when: String) throws -> String? {
      let found = Set(try store.library("papers").favorites().map(\.id))
      if let lost = required.subtracting(found).first { return "\(when): \(lost) is lost" }
      if let more = found.subtracting(attempted).first { return "\(when): \(more) was never written" }
      if let back = gone.intersection(found).first { return "\(when): \(back) is back" }
      if let finding = store.findings.first(where: { $0.verdict != .torn }) { return "\(when): \(finding)" }
      return nil
    }
    do {
      if let found = try problem("opened") { return found }
      attempted.insert("after")
      try store.library("papers").add("after")
      if let found = try problem("written") { return found }
      var peerOptions = StoreOptions()
      peerOptions.deviceKey = .none
      let peer = try FavoritesStore.inMemory(options: peerOptions)
      _ = try StoreCarrier(peer).sync(store, options: SyncOptions())
      if let found = try problem("synced") { return found }
      if peer.digest != store.digest { return "the peer shows something else" }
      if try store.replay(upTo: nil).state.digest != store.digest { return "the log leads to another state" }
      let verified = try FavoritesStore.verify(at: Self.path, on: files, progress: nil)
      if let finding = verified.streams.compactMap(\.finding).first { return "verify: \(finding)" }
      if let snapshot = verified.snapshots.first(where: { $0.problem != nil }) {
        return "verify: \(snapshot)"
      }
      let digest = store.digest
      try store.close()
      store = try open(files)
      if store.digest != digest { return "opened again, it shows something else" }
      return try problem("opened again")
    } catch {
      return "\(error)"
    }
  }

  private func openOrRepair(_ files: MemoryFileSystem) throws -> FavoritesStore {
    do throws(HeartlogError) { return try open(files) } catch {
      guard error.isRepairable else { throw error }
    }
    try repair(files)
    return try open(files)
  }
}

extension MemoryFileSystem {
  /// The number of operations since the journal began; 0 before that.
  fileprivate var journalCount: Int { crashPoints }

  /// Every name with its content.
  fileprivate func image(of folder: String) -> [UInt8] {
    var image: [UInt8] = []
    for name in ((try? entries(of: folder)) ?? []).sorted() {
      let path = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
      image += Array(path.utf8) + [0]
      if (try? info(path))?.kind == .directory {
        image += self.image(of: path)
      } else {
        let bytes = (try? contents(of: path)) ?? []
        image += Array("\(bytes.count)".utf8) + [0] + bytes
      }
    }
    return image
  }
}
