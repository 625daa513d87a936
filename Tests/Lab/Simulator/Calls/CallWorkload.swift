import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogEngine
import HeartlogSync
import HeartlogTesting

/// What a store is asked to do while file operations fail.
package enum CallWorkload: String, CaseIterable, Sendable {
  case create, open, openReadOnly, close, append, appendBuffered, flush, rotate, seal, compact, snapshot,
    replay
  case verify, receive, sync, syncFolder, erase, repair, backUp, restoreBackup

  /// Whether a store is open when operations begin to fail.
  fileprivate var needsStore: Bool {
    switch self {
    case .create, .open, .openReadOnly, .verify, .repair, .restoreBackup: false
    default: true
    }
  }
}

/// A workload with a failure in it, on a store in memory, and what was acknowledged.
///
/// Nothing runs in the background except what a store of its own accord gives to other threads and waits for when it closes.
final class CallRun {
  private let workload: CallWorkload
  private let disk: MemoryFileSystem
  private let files: FailingFileSystem
  private let stage: CallStage
  private var store: FavoritesStore?
  private let process = SimulatedProcess(id: 1, clock: SimulatedUptime())
  private let clock = ManualClock()
  private let random = SeededRandom(seed: 11)
  private var number = 0

  /// Ids of commits by what is known of them. Each commit has two items, which are there together or not at all.
  private var durable: Set<String>
  private var buffered: Set<String> = []
  /// The error does not tell whether the commit is there.
  private var unknown: Set<String> = []
  /// The commit failed, and is not there.
  private var failed: Set<String> = []
  /// What was erased, and what may have been.
  private var erased: Set<String> = []
  private var halfErased: Set<String> = []

  init(_ workload: CallWorkload, _ stage: CallStage) {
    self.workload = workload
    self.stage = stage
    disk = stage.disk(for: workload)
    files = FailingFileSystem(disk)
    durable = workload == .create ? [] : stage.ids
  }

  // MARK: - The run

  /// Runs the workload with a failure; nil for none.
  ///
  /// - Returns: How many operations it makes.
  /// - Throws: `Violation`, if a promise is broken.
  func run(_ failure: CallFailure?) throws -> Int {
    do { return try runAll(failure) } catch {
      throw Violation("\(files.firstFailed.map { "where \($0) failed: " } ?? "")\(error)")
    }
  }

  private func runAll(_ failure: CallFailure?) throws -> Int {
    if workload.needsStore {
      store = try open(files)
      if workload == .flush || workload == .close { try prepareBuffered() }
    }
    files.arm(failure)
    var problems: [String] = []
    if let problem = try attempt({ try perform() }) { problems.append(problem) }
    if workload == .append || workload == .rotate {
      // A failure is not the end: what is written next is kept, or fails, too.
      if let problem = try attempt({ try add(next(), .durable) }) { problems.append(problem) }
    }
    let calls = files.heal()
    if failure == nil, let problem = problems.first { throw Violation("without a failure: \(problem)") }
    // With everything that is not synced, and without it.
    let crashed = disk.crashStates(after: disk.crashPoints, sectorBytes: 512, limit: 2, seed: 0)
    let acknowledged = durable
    try goOn()
    // A store that cannot flush stays open until it is released.
    if let open = store, (try attempt { try open.close() }) == nil {
      durable.formUnion(buffered)
      buffered = []
    }
    store = nil
    let leaked = files.leakedHandles()
    guard leaked == 0 else { throw Violation("\(leaked) files are still open") }
    // With some of what was not synced, and with everything and nothing: what a failure left behind is lost in one of them, however the
    // calls are counted. A folder above the store that may not be read cannot be synced. It is taken to have been there before.
    var crashedLater = [disk.crashState(sectorBytes: 512, seed: UInt64(failure?.first ?? 0))]
    if files.firstFailed != "synchronize /" || failure?.isPermission == false {
      crashedLater += disk.crashStates(after: disk.crashPoints, sectorBytes: 512, limit: 2, seed: 0)
    }
    let (kept, keptByCrash) = (durable.union(buffered), durable)
    for state in crashed {
      try inspect(state, required: acknowledged, when: "after a crash at once", syncs: false)
    }
    for state in crashedLater {
      try inspect(state, required: keptByCrash, when: "after a crash", syncs: false)
    }
    try inspect(disk, required: kept, when: "opened again", syncs: true)
    return calls
  }

  private func prepareBuffered() throws { try add(next(), .buffered) }

  /// The same store goes on, or says that it must be opened again.
  private func goOn() throws {
    guard let store else { return }
    let id = next()
    let problem = try attempt { try add(id, .durable) }
    if let problem, !unknown.contains(id) { throw Violation("it does not go on: \(problem)") }
    try check(store, required: durable.union(buffered), when: "going on")
  }

  /// Runs a call that may fail.
  ///
  /// - Returns: What the error says; nil if there is none.
  /// - Throws: `Violation`, for an error that does not say what failed.
  private func attempt(_ body: () throws -> Void) throws -> String? {
    let code: HeartlogError.Code
    let text: String
    do {
      try body()
      return nil
    } catch let error as HeartlogError {
      (code, text) = (error.code, error.description)
    }
    guard [.inputOutput, .diskFull, .readOnly, .outcomeUnknown].contains(code), text.contains("cannot "),
      text.contains("/")
    else { throw Violation("the error is not clear: \(code.rawValue): \(text)") }
    return text
  }

  private func next() -> String {
    number += 1
    return "new \(number)"
  }

  private func add(_ id: String, _ durability: Durability, bytes: Int = 10) throws {
    guard let store else { return }
    let note = Field(name: "t", value: .string(.noise(bytes)))
    do {
      try store.write(durability: durability) {
        try store.library("papers").add(id, fields: [note])
        try store.library("papers").add(id + CallStage.twin)
      }
    } catch let error as HeartlogError {
      if error.code == .outcomeUnknown { unknown.insert(id) } else { failed.insert(id) }
      throw error
    }
    if durability == .buffered {
      buffered.insert(id)
    } else {
      durable.formUnion(buffered)
      durable.insert(id)
      buffered = []
    }
  }

  private func perform() throws {
    switch workload {
    case .create, .open: store = try open(files)
    case .openReadOnly: try open(files, isReadOnly: true).close()
    case .close:
      try store?.close()
      durable.formUnion(buffered)
      buffered = []
      store = nil
    case .append: try add(next(), .durable)
    case .appendBuffered:
      // Large, so that a failed flush leaves sectors that no later commit is written to.
      try add(next(), .buffered, bytes: 1_500)
      // The lease ends, and other processes would get the lock.
      process.clock.nanoseconds += 200_000_000
      while let job = process.takeDueJob() { job() }
    case .flush:
      try store?.flush()
      durable.formUnion(buffered)
      buffered = []
    case .rotate: try add(next(), .durable, bytes: 9_000)
    case .seal: try store?.seal()
    case .compact: try store?.compact()
    case .snapshot: _ = try store?.snapshot()
    case .replay:
      guard let found = try store?.replay(upTo: nil) else { return }
      if let finding = found.findings.first {
        throw Violation("a failed call is shown as damage: \(finding)")
      }
    case .verify:
      let found = try FavoritesStore.verify(at: CallStage.path, on: files, progress: nil)
      if let finding = found.streams.compactMap(\.finding).first {
        throw Violation("a failed call is shown as damage: \(finding)")
      }
    case .receive: try receive()
    case .sync: if let store { try sync(store) }
    case .syncFolder: if let store { try syncFolder(store) }
    case .erase:
      guard let store else { return }
      halfErased.insert(CallStage.erasable)
      try erase(store)
      erased.insert(CallStage.erasable)
    case .repair:
      _ = try StoreRepair.run(at: CallStage.path, on: files, name: nil, isDryRun: false, progress: nil)
    case .backUp: _ = try store?.backup(to: CallStage.backup, on: files)
    case .restoreBackup:
      _ = try FavoritesStore.restoreBackup(
        at: CallStage.backup, to: CallStage.restored, on: files, options: options(isReadOnly: false))
    }
  }

  private func receive() throws {
    guard let store, let run = try stage.nextRun() else { return }
    unknown.insert(CallStage.received)
    guard case .appended = try store.receive(run) else { throw Violation("the run was not appended") }
    durable.insert(CallStage.received)
  }

  private func sync(_ store: FavoritesStore) throws {
    let peer = try stage.peer()
    unknown.insert(CallStage.received)
    let report = try StoreCarrier(peer).sync(store, options: SyncOptions())
    durable.insert(CallStage.received)
    if try isTold(report) { return }
    let held = try store.streamHeads().filter(\.holdsMore)
    if held.contains(where: { $0.replica == store.replica }) {
      throw Violation("commits are not sent, and nothing says so")
    }
    if held.isEmpty, peer.digest != store.digest { throw Violation("the peer shows something else") }
  }

  private func syncFolder(_ store: FavoritesStore) throws {
    unknown.insert(CallStage.received)
    let report = try FolderCarrier(CallStage.folder, on: files).sync(store, options: SyncOptions())
    if try !isTold(report) { durable.insert(CallStage.received) }
  }

  /// Whether the report of a sync says that a file could not be read, or the own stream not be signed. It then tells of one stream or
  /// file, and all others are exchanged.
  private func isTold(_ report: SyncReport) throws(Violation) -> Bool {
    // What the identity that was repaired had not signed is held.
    let skipped = report.skipped.filter { workload != .repair || $0.cause != .unsent }
    for stream in skipped {
      guard stream.cause == .damaged || stream.cause == .unsent, stream.reason.contains("cannot ") else {
        throw Violation("a sync passes over \(stream)")
      }
    }
    return !skipped.isEmpty || report.folder?.damaged ?? 0 > 0
  }

  private func erase(_ store: FavoritesStore) throws { try store.erase(CallStage.erasable, in: "papers") }

  // MARK: - What holds afterwards

  private func options(isReadOnly: Bool) -> StoreOptions {
    var options = CallStage.options(random, clock, process)
    if isReadOnly { options.access = .readOnly }
    return options
  }

  private func open(_ files: any FileSystem, isReadOnly: Bool = false) throws(HeartlogError) -> FavoritesStore
  {
    try FavoritesStore(at: CallStage.path, on: files, options: options(isReadOnly: isReadOnly))
  }

  /// Opens the store on the sound disk, compares it with what was acknowledged, does again what failed, and writes on.
  private func inspect(
    _ disk: MemoryFileSystem, required: Set<String>, when: String, syncs: Bool
  ) throws {
    let files = FailingFileSystem(disk)
    do {
      let store = try openOrRepair(files)
      try check(store, required: required, when: when)
      try retry(store, files)
      try store.library("papers").add("last")
      try store.library("papers").add("last" + CallStage.twin)
      if syncs { try sync(store) }
      let digest = store.digest
      if try store.replay(upTo: nil).state.digest != digest {
        throw Violation("the log leads to another state")
      }
      let verified = try FavoritesStore.verify(at: CallStage.path, on: files, progress: nil)
      // A run that was taken half-way may be cut off.
      let findings = verified.streams.compactMap(\.finding)
      if let finding = findings.first(where: { $0.verdict != .torn || $0.replica != stage.sourceReplica }) {
        throw Violation("verify: \(finding)")
      }
      if let problem = verified.snapshots.compactMap(\.problem).first {
        throw Violation("verify: \(problem)")
      }
      try store.close()
    } catch let error as Violation {
      throw Violation("\(when): \(error.description)")
    } catch { throw Violation("\(when): \(error)") }
    let leaked = files.leakedHandles()
    guard leaked == 0 else { throw Violation("\(when): \(leaked) files stay open") }
  }

  private func openOrRepair(_ files: FailingFileSystem) throws -> FavoritesStore {
    do throws(HeartlogError) { return try open(files) } catch {
      guard error.isRepairable, workload == .repair else { throw error }
    }
    _ = try StoreRepair.run(at: CallStage.path, on: files, name: nil, isDryRun: false, progress: nil)
    return try open(files)
  }

  /// Does again what a failure may have left half done.
  private func retry(_ store: FavoritesStore, _ files: FailingFileSystem) throws {
    switch workload {
    case .seal: try store.seal()
    case .compact: try store.compact()
    case .snapshot: _ = try store.snapshot()
    case .syncFolder:
      let report = try FolderCarrier(CallStage.folder, on: files).sync(store, options: SyncOptions())
      if try isTold(report) { throw Violation("a sync without failures passes over something: \(report)") }
    case .erase:
      do throws(HeartlogError) { try store.erase(CallStage.erasable, in: "papers") } catch {
        guard error.code == .notFound else { throw error }
      }
      let found = try store.library("papers").favorites().map(\.id)
      if found.contains(CallStage.erasable) { throw Violation("what was erased is there") }
    case .backUp: _ = try store.backup(to: CallStage.backup, on: files)
    case .restoreBackup where try files.info(CallStage.restored) == nil:
      _ = try FavoritesStore.restoreBackup(
        at: CallStage.backup, to: CallStage.restored, on: files, options: options(isReadOnly: false))
    default: break
    }
  }

  private func check(_ store: FavoritesStore, required: Set<String>, when: String) throws {
    let found = Set(try store.library("papers").favorites().map(\.id))
    let mayBe = required.union(durable).union(buffered).union(unknown).union(halfErased).union(["last"])
    if let lost = required.subtracting(halfErased).subtracting(found).min() {
      throw Violation("\(when), \(lost) is lost")
    }
    if let back = erased.intersection(found).min() { throw Violation("\(when), \(back) is back") }
    for id in found.map({ $0.hasSuffix(CallStage.twin) ? String($0.dropLast(CallStage.twin.count)) : $0 }) {
      guard mayBe.contains(id) else {
        throw Violation(
          "\(when), \(id) is there, \(failed.contains(id) ? "which failed" : "which nobody wrote")")
      }
      guard CallStage.isSingle(id) || found.isSuperset(of: [id, id + CallStage.twin]) else {
        throw Violation("\(when), half of the commit with \(id) is there")
      }
    }
    if let finding = store.findings.first(where: { $0.verdict != .torn }) {
      throw Violation("\(when), \(finding)")
    }
  }
}
