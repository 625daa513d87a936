import Heartlog
import HeartlogSync
import Synchronization

/// What a command runs with.
struct CommandContext: Sendable {
  let output: Output
  /// The values of `Environment.names` that are set.
  let environment: [String: String]
  /// The value of `--store`.
  var storeOption: String?
  /// Whether `--json` was given.
  var isJSON = false
  let clock: LocalClock
  /// What was replayed before, for a process that runs many commands.
  var pastStates: PastStates?
  let unreported = UnreportedWrites()
  let opened = OpenedStores()

  /// The style of standard output.
  var style: Style { Style(isEnabled: output.standard.isTerminal && Style.isWanted(environment)) }

  /// The style of standard error.
  var errorStyle: Style { Style(isEnabled: output.error.isTerminal && Style.isWanted(environment)) }

  /// Prints a sentence on standard error, without control characters: it may quote names and paths.
  func warn(_ sentence: String) {
    output.errorLine("\(errorStyle(.failure, "heartlog:")) \(DisplayText.visible(sentence))")
  }

  /// The columns of standard output; nil if it is not a terminal, and nothing is cut.
  var width: Int? { output.standard.isTerminal ? output.standard.width() : nil }

  /// The zone of times on standard output.
  var times: Zone { output.standard.isTerminal ? clock.zone : .utc }

  /// Lines that contain times, after a heading with their zone if it is not UTC.
  func withTimes(_ lines: [String]) -> [String] {
    guard !lines.isEmpty, let heading = times.heading else { return lines }
    return [style(.faint, heading)] + lines
  }

  /// The lines of a table, as wide as the terminal at most.
  func lines(_ table: Table) -> [String] { table.lines(style: style, width: width) }

  /// Prints one JSON object as a line.
  func jsonLine(_ object: JSONObject) throws {
    try output.line(DisplayText.escapedJSON(object.bytes))
  }

  /// Prints a result: as one JSON object a line and what is damaged, or as lines.
  ///
  /// - Parameters:
  ///   - library: the library that was named; a warning follows if nothing was ever written to it.
  ///   - view: what was read.
  /// - Returns: the exit code: 65 if anything is damaged.
  func show(
    _ objects: @autoclosure () -> some Sequence<JSONObject>, _ lines: @autoclosure () -> [String],
    of library: String? = nil, in view: StoreView? = nil, findings: [Finding]? = nil
  ) throws -> ExitCode {
    if isJSON {
      for object in objects() { try jsonLine(object) }
      try jsonPartial(findings ?? view?.findings ?? [])
    } else {
      try output.lines(lines())
    }
    if let library, let view { try warnIfUnknown(library, in: view) }
    return try report(findings ?? view?.findings ?? [])
  }

  /// Prints a result: as one JSON object, or as lines.
  func show(_ object: @autoclosure () -> JSONObject, _ lines: @autoclosure () -> [String]) throws {
    if isJSON { try jsonLine(object()) } else { try output.lines(lines()) }
  }

  /// Writes a file, or standard output if there is no path.
  func write(_ bytes: [UInt8], to path: String?) throws {
    guard let path else { return try output.write(String(decoding: bytes, as: UTF8.self)) }
    try OutputFile.write(bytes, to: path)
  }

  func storeDirectory() throws(CommandError) -> String {
    try StoreLocation.directory(option: storeOption, environment: environment)
  }

  /// A progress bar on standard error; shows nothing if that is not a terminal.
  func progress(_ label: String, total: Int? = nil) -> Progress {
    Progress(label, total: total, output: output, isShown: output.error.isTerminal)
  }
}

extension CommandContext {
  /// The origin of commits that the command line writes.
  static let origin = "cli"

  /// Opens the store for reading. Takes no lock and creates nothing.
  func openForReading() throws -> FavoritesStore { try reading { try open(.readOnly) } }

  /// Opens an existing store for writing.
  ///
  /// - Parameters:
  ///   - endsSoon: whether the command has a foreseeable end. If so, a snapshot is written only when the store is closed: a snapshot that is
  ///     made beside writers has its own copy of the state, which takes as much memory as theirs.
  ///   - origin: that of the commits.
  func openForWriting(endsSoon: Bool = false, origin: String = Self.origin) throws -> FavoritesStore {
    try open(.readWrite) {
      if endsSoon { $0.snapshots.eventsMin = .max }
      $0.origin = origin
    }
  }

  /// Opens an existing store for proofs: for writing, to sign what is not signed yet, or else for reading.
  func openForProving() throws -> FavoritesStore {
    do { return try openForWriting(endsSoon: true) } catch let error as HeartlogError
      where error.code == .readOnly || error.code == .corrupt
    { return try openForReading() }
  }

  private func open(
    _ access: StoreAccess, _ configure: (inout StoreOptions) -> Void = { _ in }
  ) throws -> FavoritesStore {
    var options = StoreOptions()
    options.access = access
    options.origin = Self.origin
    configure(&options)
    options.createsIfMissing = false
    let store = try withByteProgress("reading the log") { progress in
      try FavoritesStore(at: try storeDirectory(), options: options, progress: progress)
    }
    opened.add(store)
    if let void = try VaultKeys.voidCode(of: store) { warn("\(void).") }
    return store
  }

  /// Warns if other users can read the store. Reading does not change that.
  func warnIfOpenToOthers() throws {
    guard try FavoritesStore.isOpenToOthers(at: try storeDirectory()) else { return }
    try output.flush()
    warn("other users of this machine can read the store; the next command that writes closes it to them.")
  }

  /// Closes and releases all stores but this one.
  func closePeers(of store: FavoritesStore? = nil) throws(HeartlogError) {
    let peers = opened.take(but: store)
    // Closing may write a snapshot, and so drop another.
    defer { reportChanges(of: peers) }
    for peer in peers { try peer.close() }
  }

  /// Warns about snapshots that stores dropped, some of which only when a page was read; and if other users could read a store until this
  /// command wrote to it.
  func reportChanges(of stores: [FavoritesStore]) {
    for dropped in stores.flatMap(\.droppedSnapshots) { warn("\(dropped).") }
    if stores.contains(where: \.wasOpenToOthers) {
      warn("other users of this machine could read the store; it is now closed to them.")
    }
  }

  /// Runs work that only reads. A missing permission is then an input/output error, not a read-only store.
  func reading<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as HeartlogError where error.code == .readOnly {
      var shown = CommandError(error)
      shown.exitCode = .inputOutput
      throw shown
    }
  }

  /// Runs long work that reports its progress in bytes.
  func withByteProgress<R>(_ label: String, _ body: (LogProgress?) throws -> R) throws -> R {
    guard output.error.isTerminal else { return try body(nil) }
    var bar: Progress?
    defer { bar?.finish() }
    return try body { done, total in
      let shown = bar ?? progress(label, total: Int(clamping: total))
      bar = shown
      shown.update(Int(clamping: done))
    }
  }

  /// Reports damage, after the sound part was printed, and what was written in spite of it.
  ///
  /// - Parameter includesTorn: whether an unfinished batch at the tail is reported too. A command that only reads may have seen it while
  ///   another process was writing it.
  /// - Returns: the exit code: 65 if anything is damaged.
  func report(_ findings: [Finding], includesTorn: Bool = false) throws -> ExitCode {
    let damage = findings.damage
    try output.flush()
    for finding in includesTorn ? findings : damage { warn(Self.sentence(finding)) }
    guard !damage.isEmpty else { return .success }
    if let written = unreported.sentence { warn(written) }
    return .badInput
  }

  /// Reports that something is not there, or else the damage behind which it may be.
  func absent(_ what: String, _ findings: [Finding]) throws -> ExitCode {
    let partial = try report(findings)
    guard partial == .success else { return partial }
    throw CommandError(.no, what)
  }

  private static func sentence(_ finding: Finding) -> String {
    let text = finding.error.description
    switch finding.verdict {
    case .torn:
      return
        "the last batch was not finished: \(text). It was never acknowledged; the next write cuts it off and keeps a copy."
    case .lost:
      return
        "lost: \(text). The rest can be read; other devices may still have what is lost: \"heartlog doctor\" says what to do."
    case .corrupt where finding.error.isNotDownloaded:
      return
        "\(text). Everything before it was shown, and nothing is lost; until it is there, nothing can be written. \(CommandError.downloadHint)"
    case .corrupt where finding.error.isRepairable:
      return
        "damaged: \(text). This stream is not shown, and the store is read-only. \(CommandError.repairHint)"
    case .corrupt:
      let hint = finding.error.isOfSegment ? " \(CommandError.repairFromHint)" : ""
      return "damaged: \(text). Everything before it is sound and was shown. The store is read-only.\(hint)"
    }
  }

  /// Warns if nothing was ever written to a library: its name may be mistyped.
  func warnIfUnknown(_ library: String, in view: StoreView) throws {
    let known = view.read { $0.libraries }
    guard !known.contains(library) else { return }
    try output.flush()
    let then = sentence(of: view.moment)
    let error = CommandError(
      .success,
      then.map { "nothing had been written to the library \(library) \($0)" }
        ?? "nothing was ever written to the library \(library)",
      hint: NearestMatch.hint(for: library, among: known))
    warn(error.sentence)
  }

  /// Prints the last line after the JSON Lines of a damaged store.
  func jsonPartial(_ findings: [Finding]) throws {
    if !findings.damage.isEmpty { try jsonLine(.partial(findings)) }
  }

  /// Closes a store that was written to, and reports its damage.
  ///
  /// - Returns: the exit code: 65 if anything is damaged.
  func close(_ store: FavoritesStore) throws -> ExitCode {
    let findings = store.findings
    try store.close()
    return try report(findings, includesTorn: true)
  }
}

extension Finding {
  var json: JSONObject {
    [
      "verdict": error.isNotDownloaded ? "notDownloaded" : verdict.rawValue, "reason": error.message,
      "replica": replica, "file?": error.file, "offset?": error.offset,
    ] + (error.commits.map { JSONObject($0) } ?? [:])
  }
}

extension JSONObject {
  /// `"partial":true` and the findings, if anything is damaged.
  static func partial(_ findings: [Finding]) -> JSONObject {
    let damage = findings.damage
    return damage.isEmpty ? [:] : ["partial": true, "findings": damage.map(\.json)]
  }

  /// A range of commits.
  init(_ commits: ClosedRange<CommitNumber>) {
    self = ["firstCommit": commits.lowerBound, "lastCommit": commits.upperBound]
  }

  /// `"asOf"`, unless it is now.
  static func asOf(_ moment: PastMoment?) -> JSONObject { ["asOf?": moment?.inLog.text] }
}

extension FavoritesStore {
  /// The names of the devices.
  var deviceNames: [ReplicaID: String] {
    Dictionary(devices.map { ($0.replica, $0.name) }, uniquingKeysWith: { first, _ in first })
  }
}

extension StoreOptions {
  /// The options of a new store. Without a name, the device has that of the host.
  init(named name: String?) {
    self.init()
    self.name = name ?? Terminal.hostName()
    origin = CommandContext.origin
  }
}

extension ReplicaID {
  /// The first digits, which text shows.
  var short: String { String(description.prefix(EventLine.prefixDigits)) }

  /// `3f9a12c0 Anna's phone`, or the digits alone if there is no name.
  func short(named name: String?) -> String {
    name.map { $0.isEmpty ? short : "\(short) \($0)" } ?? short
  }
}

/// The stores that a command opened, and about which nothing was reported yet.
final class OpenedStores: Sendable {
  private let stores = Mutex<[FavoritesStore]>([])

  func add(_ store: FavoritesStore) { stores.withLock { $0.append(store) } }

  /// Releases and returns all stores but one.
  func take(but store: FavoritesStore? = nil) -> [FavoritesStore] {
    stores.withLock { stores in
      defer { stores.removeAll { $0 !== store } }
      return stores.filter { $0 !== store }
    }
  }
}

/// What a command has written but not reported yet. An error that ends the command names it, so that nobody repeats it.
///
/// A command notes what it wrote as soon as it is safe on disk, before it prints anything about it.
final class UnreportedWrites: Sendable {
  private let notes = Mutex<[String]>([])

  /// Adds a phrase about something that was written.
  func add(_ note: String) { notes.withLock { $0.append(note) } }

  /// Replaces all notes by one about everything that was written so far.
  func set(_ note: String) { notes.withLock { $0 = [note] } }

  /// Removes all notes, after their content was printed and flushed.
  func clear() { notes.withLock { $0.removeAll() } }

  /// `Written: cities 2950159 is a favorite now (3f9a12c0:351).`; nil if there are no notes.
  var sentence: String? {
    let notes = notes.withLock { $0 }
    return notes.isEmpty ? nil : DisplayText.visible("Written: \(notes.joined(separator: "; ")).")
  }
}

/// A store as commands read it: as it is now, or as of a moment.
struct StoreView {
  let store: FavoritesStore
  /// nil for now.
  let moment: PastMoment?
  private let past: PastStates.State?

  /// The store as it is now.
  init(now store: FavoritesStore) {
    self.store = store
    moment = nil
    past = nil
  }

  /// The store as the log produced it, up to a moment or to its end.
  init(of store: FavoritesStore, at moment: PastMoment?, replayed: PastStates.State) {
    self.store = store
    self.moment = moment
    past = replayed
  }

  /// The damage of what was read so far: that of a snapshot may be found only when a page of it is read.
  var findings: [Finding] { past?.findings ?? store.findings }

  /// Reads the state. `body` may run twice, and must not keep the state.
  func read<R>(_ body: (FavoritesState) -> R) -> R { past.map { body($0.state) } ?? store.read(body) }

  func status() throws -> StoreStatus { try store.status(of: past?.state) }
}

/// The states at the last few moments that were asked for: the parts of a page are about the same one.
final class PastStates: Sendable {
  struct State {
    let state: FavoritesState
    let findings: [Finding]
  }

  private struct Known {
    let moment: LogMoment
    /// What the log had. More may belong before the moment.
    let heads: [Head]
    /// Which content its events had.
    let generation: UInt64
    let state: State
  }

  private let known = Mutex<[Known]>([])
  private static let knownMax = 6
  /// The most items of all that are kept, unless one state has more: a state has some hundreds of bytes for each.
  private static let itemsMax = 100_000

  func state(
    at moment: LogMoment, of store: FavoritesStore, otherwise replay: () throws -> State
  ) throws -> State {
    let (heads, items) = store.read { state in
      (state.heads, state.libraries.reduce(0) { $0 + state.counts(of: $1).items })
    }
    // While content is erased or completed, nothing is kept.
    guard let generation = try store.contentGeneration() else { return try replay() }
    return try known.withLock { known in
      if let index = known.firstIndex(where: {
        $0.moment == moment && $0.heads == heads && $0.generation == generation
      }) {
        known.append(known.remove(at: index))
        return known[known.count - 1].state
      }
      // Before the next one takes its place.
      let keptMax = max(1, min(Self.knownMax, Self.itemsMax / max(1, items)))
      known = known.suffix(keptMax - 1)
      let state = try replay()
      if state.findings.isEmpty {
        known.append(Known(moment: moment, heads: heads, generation: generation, state: state))
      }
      return state
    }
  }
}

/// A WHEN whose replica was looked up in a store.
struct PastMoment {
  /// As it was given.
  let given: Moment
  let inLog: LogMoment
}

extension CommandContext {
  /// Opens the store for reading, as of a moment or as it is now.
  func openForReading(at moment: Moment?) throws -> StoreView {
    try view(of: try openForReading(), at: moment)
  }

  /// A store as of a moment or as it is now.
  func view(of store: FavoritesStore, at moment: Moment?) throws -> StoreView {
    guard let moment else { return StoreView(now: store) }
    return try replayed(
      store, upTo: PastMoment(given: moment, inLog: try moment.resolved(in: store)))
  }

  /// A store as its log produces it, up to a moment or to its end.
  func replayed(_ store: FavoritesStore, upTo moment: PastMoment? = nil) throws -> StoreView {
    try withByteProgress("replaying") { progress in
      func replay() throws -> PastStates.State {
        let replayed = try store.replay(upTo: moment?.inLog, progress: progress)
        return PastStates.State(state: replayed.state, findings: replayed.findings)
      }
      guard let pastStates, let moment else {
        return StoreView(of: store, at: moment, replayed: try replay())
      }
      return StoreView(
        of: store, at: moment, replayed: try pastStates.state(at: moment.inLog, of: store, otherwise: replay))
    }
  }

  /// A line that says as of which moment the lines below are; none if they are as of now.
  func asOf(_ moment: PastMoment?) -> [String] { sentence(of: moment).map { [$0] } ?? [] }

  /// `as of the end of 2026-03-05 UTC`; nil for now.
  func sentence(of moment: PastMoment?) -> String? { moment.map { "as of \($0.given.shown(times))" } }
}

extension LogMoment {
  /// The moment as programs read it; valid as WHEN.
  var text: String {
    switch self {
    case .milliseconds(let time): RFC3339.text(time)
    case .event(let id): "\(id)"
    case .commit(let replica, let number): "\(replica):\(Moment.commitMark)\(number)"
    }
  }
}
