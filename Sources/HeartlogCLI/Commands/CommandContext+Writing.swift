import Heartlog

extension CommandContext {
  /// Runs `body` as one commit, and notes what was written.
  func write<R>(to store: FavoritesStore, _ body: () throws -> R) throws -> (result: R, commit: Commit?) {
    let written = try store.writeReturningCommit { try body() }
    note(written.commit)
    return written
  }

  /// Notes a commit that was written but not reported yet.
  func note(_ commit: Commit?) {
    if let commit { untold.add(Self.phrase(commit)) }
  }

  /// Executes one operation as one commit, and prints what it did.
  ///
  /// - Parameter otherwise: the message about the item if there was nothing to write; the exit code is then 1.
  func writeOne(
    _ library: String, _ item: String, otherwise: String,
    _ operation: (FavoritesLibrary) throws -> WriteResult
  ) throws -> ExitCode {
    let store = try openForWriting()
    let target = try store.library(library)
    let (result, commit) = try write(to: store) { try operation(target) }
    let recoveries = store.findings
    try store.close()
    let code = try report(recoveries, includesTorn: true)
    guard let commit, result.isChange else {
      throw CommandError(.no, "\(Quoted(item)) in \(library) \(otherwise)", hint: "Nothing was written.")
    }
    if isJSON {
      for line in EventLine.all(of: commit) { try jsonLine { line.write(to: &$0) } }
    } else {
      for line in EventLine.all(of: commit) {
        let state = style.heart(result.isFavorite)
        try output.line(
          "\(state) \(DisplayText.visible("\(library) \(item)"))  \(style(.faint, line.shortID))")
      }
    }
    if result.ignoredFields || result.ignoredFavoritedDate {
      try output.flush()
      warn(
        "fields and dates are used only if the item becomes a favorite; they were ignored."
      )
    }
    return code
  }

  /// The number of events that a note names; it only counts the others.
  private static let noteEventsMax = 3

  /// `cities 2950159 is a favorite now (3f9a12c0:351)`.
  private static func phrase(_ commit: Commit) -> String {
    let lines = EventLine.all(of: commit)
    var notes = lines.prefix(noteEventsMax).map { line in
      guard let event = line.record.event else { return "event \(line.shortID)" }
      let what =
        switch event.action.isFavorite {
        case true?: "is a favorite now"
        case false?: "is not a favorite now"
        case nil: "has new fields"
        }
      return "\(event.library) \(DisplayText.identifier(event.item)) \(what) (\(line.shortID))"
    }
    if lines.count > noteEventsMax, let last = lines.last {
      notes.append("\(Quantity.count(lines.count - noteEventsMax, "more event")) up to \(last.shortID)")
    }
    return notes.joined(separator: ", ")
  }
}
