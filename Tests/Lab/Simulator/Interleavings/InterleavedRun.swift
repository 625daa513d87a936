import Heartlog
import HeartlogFiles
import HeartlogSync
import HeartlogTesting

/// What one of two processes does with the store.
package enum InterleavedStep: String, CaseIterable, Sendable {
  /// Receives the commits of a device that erased something, and erases it here, too.
  case takeErasure
  /// Fills a segment, and does what that starts: full segments are sealed one by one, then joined.
  case sealInBackground
  case erase, receive, seal, compact, append, rotate, flush, snapshot, checkpoint, open
}

/// One run of two steps in two processes, on a store in memory.
final class InterleavedRun {
  /// A process with the store, and what it does.
  private final class Worker {
    let index: Int
    let step: InterleavedStep
    let process: SimulatedProcess
    var store: FavoritesStore?
    var error: (any Error)?

    init(_ index: Int, _ step: InterleavedStep, _ uptime: SimulatedUptime) {
      self.index = index
      self.step = step
      process = SimulatedProcess(id: Int32(index + 1), clock: uptime)
    }
  }

  private let stage: InterleavingStage
  private let disk: MemoryFileSystem
  private let uptime = SimulatedUptime()
  private let clock = ManualClock()
  private let random = SeededRandom(seed: 13)
  private let first: Worker
  private let second: Worker
  /// What must be there, and what must be gone.
  private var required: Set<String>
  private var erased: Set<String> = []

  init(_ first: InterleavedStep, _ second: InterleavedStep, on stage: InterleavingStage) {
    self.stage = stage
    disk = stage.makeDisk()
    self.first = Worker(0, first, uptime)
    self.second = Worker(1, second, uptime)
    required = stage.ids
  }

  private func open(in worker: Worker) throws(HeartlogError) -> FavoritesStore {
    let files = ProcessFileSystem(disk, worker.process) { _ in true }
    return try FavoritesStore(
      at: InterleavingStage.path, on: files,
      options: InterleavingStage.options(
        random, clock, worker.process, sealsInBackground: worker.step == .sealInBackground))
  }

  /// Runs both steps.
  ///
  /// - Parameter call: The file operation of the first step in front of which the second is done; nil for the end of the first step.
  /// - Returns: How many file operations the first step makes, and whether the second had to wait for it.
  /// - Throws: `Violation`, if a promise is broken.
  func run(stoppingAt call: Int?) throws -> (calls: Int, hasWaited: Bool) {
    defer {
      for worker in [first, second] {
        worker.process.die()
        worker.process.unwind()
        worker.store = nil
        worker.process.strand.end()
      }
    }
    // As a strand does.
    ThreadPriority.lower()
    for worker in [first, second] { worker.store = try open(in: worker) }
    let before = first.process.callCount
    first.process.callsUntilPause = call
    begin(first)
    if call == nil { while first.process.strand.isBusy { first.process.strand.resume() } }
    let calls = first.process.callCount - before
    if call == nil { try finish(first) }
    begin(second)
    let hasWaited = second.process.strand.isBusy
    try finish(first, second)
    for worker in [first, second] {
      if let error = worker.error { throw Violation("\(worker.step.rawValue): \(error)") }
    }
    try check()
    return (calls, hasWaited)
  }

  private func begin(_ worker: Worker) {
    worker.process.strand.begin { [self] in
      do { try perform(worker) } catch { worker.error = error }
    }
  }

  /// Lets processes take turns until they have nothing left to do.
  private func finish(_ workers: Worker...) throws {
    var turns = 0
    var idleTurns = 0
    while idleTurns < 2 {
      idleTurns += 1
      for worker in workers {
        if worker.process.strand.isBusy {
          worker.process.strand.resume()
        } else if let job = worker.process.takeDueJob() {
          worker.process.strand.begin(job)
        } else {
          continue
        }
        idleTurns = 0
      }
      // A lease ends when nobody writes for some time.
      if idleTurns > 0 { uptime.nanoseconds += 1_000_000_000 }
      turns += 1
      if turns > 10_000 { throw Violation("the steps do not come to an end") }
    }
  }

  private func perform(_ worker: Worker) throws {
    guard let store = worker.store else { return }
    switch worker.step {
    case .append:
      try add("buffered", worker, .buffered)
      try add("durable", worker, .durable)
    case .rotate: for number in 0..<2 { try add("large \(number)", worker, .durable, isLarge: true) }
    case .flush:
      try add("buffered", worker, .buffered)
      try store.flush()
    case .sealInBackground:
      for number in 0..<2 { try add("large \(number)", worker, .durable, isLarge: true) }
      while let job = worker.process.takeDueJob() { job() }
      if let error = store.sealingFailure { throw error }
    case .seal: try store.seal()
    case .compact: try store.compact()
    case .snapshot: _ = try store.snapshot()
    case .receive:
      guard case .appended = try store.receive(stage.run) else {
        // The other process was faster.
        guard first.step == second.step else { throw Violation("the run was not appended") }
        break
      }
      required.insert(InterleavingStage.erasedElsewhere[1])
    case .erase:
      let id = InterleavingStage.erasable[worker.index]
      try store.erase(id, in: InterleavingStage.library)
      erased.insert(id)
    case .checkpoint: _ = try store.makeCheckpoint()
    case .open: try open(in: worker).close()
    case .takeErasure:
      _ = try store.receive(stage.erasures)
      _ = try store.take(stage.signature, at: clock.milliseconds)
      try store.applyErasures()
      erased.formUnion(InterleavingStage.erasedElsewhere)
    }
  }

  private func add(
    _ kind: String, _ worker: Worker, _ durability: Durability, isLarge: Bool = false
  ) throws {
    guard let store = worker.store else { return }
    let id = "\(kind) of \(worker.index)"
    let note = Field(name: "t", value: .string(.noise(isLarge ? 4_100 : 10)))
    try store.write(durability: durability) {
      _ = try store.library(InterleavingStage.library).add(id, fields: [note])
    }
    required.insert(id)
  }

  // MARK: - What holds afterwards

  private func check() throws {
    guard var one = first.store, let other = second.store else { throw Violation("a store is not open") }
    try compare([one, other], "afterwards")
    for (index, store) in [one, other].enumerated() {
      try store.library(InterleavingStage.library).add("after \(index)")
      required.insert("after \(index)")
      try finish(first, second)
    }
    try compare([one, other], "written on")
    var peerOptions = InterleavingStage.options(random, clock, first.process)
    peerOptions.deviceKey = .none
    let peer = try FavoritesStore.inMemory(options: peerOptions)
    var syncOptions = SyncOptions()
    syncOptions.clock = peerOptions.clock
    _ = try StoreCarrier(peer).sync(one, options: syncOptions)
    if peer.digest != one.digest { throw Violation("the peer shows something else") }
    let verified = try FavoritesStore.verify(at: InterleavingStage.path, on: disk, progress: nil)
    if let finding = verified.streams.compactMap(\.finding).first { throw Violation("verify: \(finding)") }
    if let problem = verified.snapshots.compactMap(\.problem).first { throw Violation("verify: \(problem)") }
    let digest = one.digest
    try one.close()
    try other.close()
    for worker in [first, second] where worker.process.holdsLock {
      throw Violation("a process holds the lock of a store that it closed")
    }
    one = try open(in: first)
    first.store = one
    if one.digest != digest { throw Violation("opened again, it shows something else") }
    try compare([one], "opened again")
  }

  /// Compares what stores show with what must be there, and with each other.
  private func compare(_ stores: [FavoritesStore], _ when: String) throws {
    var logs: [[Commit]] = []
    for store in stores {
      try store.refresh()
      let found = Set(try store.library(InterleavingStage.library).favorites().map(\.id))
      if let lost = required.subtracting(erased).subtracting(found).min() {
        throw Violation("\(when), \(lost) is lost")
      }
      if let more = found.subtracting(required.subtracting(erased)).min() {
        throw Violation("\(when), \(more) is \(erased.contains(more) ? "back" : "there, which nobody wrote")")
      }
      if let finding = store.findings.first { throw Violation("\(when): \(finding)") }
      if try store.replay(upTo: nil).state.digest != store.digest {
        throw Violation("\(when), the log leads to another state")
      }
      logs.append(try commits(of: store, when))
      if required.contains(InterleavingStage.erasedElsewhere[1]),
        try store.streamHeads().first(where: { $0.replica == stage.run.replica })?.checkpoint == nil
      {
        throw Violation("\(when), the peer's stream shows as one of a device without a key")
      }
    }
    if stores.contains(where: { $0.digest != stores[0].digest }) {
      throw Violation("\(when), the two processes show different things")
    }
    if logs.contains(where: { $0 != logs[0] }) {
      throw Violation("\(when), the two processes read different commits")
    }
    for id in erased where stage.contains(id, disk) {
      throw Violation("\(when), the files still contain \(id), which was erased")
    }
  }

  private func commits(of store: FavoritesStore, _ when: String) throws -> [Commit] {
    var commits: [Commit] = []
    var last: [ReplicaID: UInt64] = [:]
    let reader = try store.readLog()
    while let commit = try reader.next() {
      guard commit.number.rawValue == last[commit.replica, default: 0] + 1 else {
        throw Violation("\(when), commit \(commit.number) follows \(last[commit.replica, default: 0])")
      }
      last[commit.replica] = commit.number.rawValue
      commits.append(commit)
    }
    return commits
  }
}
