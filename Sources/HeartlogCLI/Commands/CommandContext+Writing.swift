import Heartlog

extension CommandContext {
  /// Carries out one operation as one commit, and says what it did.
  ///
  /// - Parameter otherwise: what is said of the item where there was nothing to write; then the exit code is 1.
  func writeOne(
    _ library: String, _ item: String, otherwise: String,
    _ operation: (FavoritesLibrary) throws -> WriteResult
  ) throws -> ExitCode {
    let store = try openForWriting()
    let target = try store.library(library)
    let (result, commit) = try store.writeReturningCommit { try operation(target) }
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
      output.errorLine(
        "\(errorStyle(.failure, "heartlog:")) fields and dates are taken only where an item becomes a favorite; these were ignored."
      )
    }
    return code
  }
}
