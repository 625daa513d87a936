import Heartlog
import HeartlogShipping

extension CommandContext {
  /// The origin of commits that the command line writes.
  static let origin = "cli"

  /// Opens the store for reading. Takes no lock and creates nothing.
  func openForReading() throws -> FavoritesStore { try reading { try open(.readOnly) } }

  /// Opens an existing store for writing.
  ///
  /// - Parameter endsSoon: whether the command has a foreseeable end. If so, a snapshot is written only when the store is closed: a
  ///   snapshot that is made beside writers has its own copy of the state, which takes as much memory as theirs.
  func openForWriting(endsSoon: Bool = false) throws -> FavoritesStore {
    try open(.readWrite) { if endsSoon { $0.snapshots.eventsMin = .max } }
  }

  /// Opens an existing store for proofs: for writing, to sign what is not signed yet, or else for reading.
  func openForProving() throws -> FavoritesStore {
    do { return try openForWriting(endsSoon: true) } catch let error as HeartlogError
      where error.code == .readOnly || error.code == .corrupt
    { return try openForReading() }
  }

  private func open(
    _ access: StoreOptions.Access, _ configure: (inout StoreOptions) -> Void = { _ in }
  ) throws -> FavoritesStore {
    var options = StoreOptions()
    options.access = access
    configure(&options)
    options.origin = Self.origin
    let store = try withByteProgress("reading the log") { progress in
      try FavoritesStore.open(at: try storeDirectory(), options: options, progress: progress)
    }
    opened.add(store)
    tellDroppedSnapshots()
    if let void = try VaultKeys.voidCode(of: store) {
      output.errorLine("\(errorStyle(.failure, "heartlog:")) \(void).")
    }
    return store
  }

  /// Warns if other users can read the store. Reading does not change that.
  func tellIfOpenToOthers() throws {
    guard try FavoritesStore.isOpenToOthers(at: try storeDirectory()) else { return }
    try output.flush()
    warn(
      "other users of this machine can read the store; the next command that writes closes it to them."
    )
  }

  /// Warns if other users could read a store until this command wrote to it.
  func tellClosedStores() {
    guard opened.takeClosed() else { return }
    warn(
      "other users of this machine could read the store; it is now closed to them."
    )
  }

  /// Warns about snapshots that were dropped since the last call: some damage is found only when a page is read.
  func tellDroppedSnapshots() {
    for dropped in opened.takeDroppedSnapshots() {
      warn("\(dropped).")
    }
  }

  /// Runs work that only reads. A missing permission is then an input/output error, not a read-only store.
  func reading<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as HeartlogError where error.code == .readOnly {
      throw CommandError(CommandError(error), exitCode: .inputOutput)
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
    let damage = findings.filter { $0.verdict != .torn }
    try output.flush()
    for finding in includesTorn ? findings : damage {
      warn(sentence(finding))
    }
    guard !damage.isEmpty else { return .success }
    if let written = untold.sentence { warn(written) }
    return .badInput
  }

  func sentence(_ finding: Finding) -> String {
    let text = finding.error.description
    switch finding.verdict {
    case .torn:
      return
        "the last batch was not finished: \(text). It was never acknowledged; the next write cuts it off and keeps a copy."
    case .lost:
      return "lost: \(text). The rest can be read; other devices may still have what is lost."
    case .corrupt where finding.error.isNotDownloaded:
      return
        "\(text). Everything before it was shown, and nothing is lost; until it is there, nothing can be written. \(CommandError.downloadHint)"
    case .corrupt where finding.error.isRepairable:
      return
        "damaged: \(text). This stream is not shown, and the store is read-only. \(CommandError.repairHint)"
    case .corrupt:
      let hint = finding.error.isOfSegment ? " \(CommandError.mendHint)" : ""
      return "damaged: \(text). Everything before it is sound and was shown. The store is read-only.\(hint)"
    }
  }

  /// Warns if nothing was ever written to a library: its name may be mistyped.
  func tellUnknown(_ library: String, in view: StoreView) throws {
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

  /// Prints one JSON object as a line.
  func jsonLine(_ build: (inout JSONWriter) -> Void) throws {
    var writer = JSONWriter()
    writer.beginObject()
    build(&writer)
    writer.endObject()
    try output.line(DisplayText.escapedJSON(writer.bytes))
  }

  /// Prints the last line after the JSON Lines of a damaged store.
  func jsonPartial(_ findings: [Finding]) throws {
    let damage = findings.filter { $0.verdict != .torn }
    guard !damage.isEmpty else { return }
    try jsonLine { $0.partial(damage) }
  }
}

extension JSONWriter {
  /// `"partial":true` and the findings, if anything is damaged.
  mutating func partial(_ findings: [Finding]) {
    let damage = findings.filter { $0.verdict != .torn }
    guard !damage.isEmpty else { return }
    member("partial", true)
    name("findings")
    beginArray()
    for finding in damage { self.finding(finding) }
    endArray()
  }

  mutating func finding(_ finding: Finding) {
    beginObject()
    member("verdict", finding.error.isNotDownloaded ? "notDownloaded" : finding.verdict.rawValue)
    member("reason", finding.error.message)
    member("replica", finding.replica.description)
    if let file = finding.error.file { member("file", file) }
    if let offset = finding.error.offset { member("offset", offset) }
    if let commits = finding.error.commits {
      member("firstCommit", commits.lowerBound.rawValue)
      member("lastCommit", commits.upperBound.rawValue)
    }
    endObject()
  }
}
