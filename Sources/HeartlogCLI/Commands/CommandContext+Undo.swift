import Heartlog

extension CommandContext {
  /// Undoes what `target` names in the store, and prints what was written and what was left alone.
  ///
  /// - Parameter nothing: the message if there was nothing to write; the exit code is then 1.
  func undo(
    isDryRun: Bool, nothing: String, _ target: (FavoritesStore) throws -> UndoTarget
  ) throws -> ExitCode {
    let store = try isDryRun ? openForReading() : openForWriting(endsSoon: true)
    let target = try target(store)
    let plan = try withByteProgress("reading the log") { progress in
      try store.undo(target, isDryRun: isDryRun, progress: progress, didWrite: note)
    }
    let names = Dictionary(uniqueKeysWithValues: store.devices.map { ($0.replica, $0.name) })
    let recoveries = store.findings
    try store.close()
    let code = try report(recoveries, includesTorn: true)
    let page = UndoPage(plan: plan, isDryRun: isDryRun)
    if isJSON {
      for line in page.jsonLines { try jsonLine(line) }
    } else {
      try linesWithTimes(page.lines(names: names, style: style, width: width, times: times))
    }
    let erasures = plan.erasures.count
    let unknown = plan.unreadable.count - erasures
    try output.flush()
    if unknown > 0 {
      warn(
        "\(Quantity.count(unknown, "event")) could not be undone: withheld, or written by a newer version.")
    }
    if erasures > 0, !plan.writes.isEmpty {
      warn("\(Quantity.count(erasures, "event")) could not be undone: an erasure cannot be undone.")
    }
    guard !plan.writes.isEmpty else {
      let reason =
        !plan.kept.isEmpty
        ? "later events wrote all that these events wrote"
        : erasures > 0
          ? "\(nothing): \(Quantity.count(erasures, "event")) erased content, and an erasure cannot be undone"
          : nothing
      throw CommandError(.no, reason, hint: "Nothing was written.")
    }
    if !isJSON { try output.line(page.summaryLine) }
    return code
  }
}
