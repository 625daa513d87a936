import Heartlog

/// Formats the commits that changed the answer of a command, as JSON and as text.
struct BisectPage {
  /// Whether there is only one such commit.
  let isCertain: Bool
  /// The exit code of the command before the change, and after it.
  let codeBefore: Int32
  let codeAfter: Int32
  /// How often the command was run.
  let runs: Int

  /// `3f9a12c0:c42`, which is valid as WHEN.
  static func name(of commit: (replica: ReplicaID, number: CommitNumber)) -> String {
    "\(commit.replica.description.prefix(EventLine.prefixDigits)):\(Moment.commitMark)\(commit.number)"
  }

  /// Prints the commits: one object for each, or their events below a sentence.
  func print(_ commits: [Commit], _ context: CommandContext) throws {
    guard !context.isJSON else {
      for commit in commits { try context.jsonLine { write(commit, to: &$0) } }
      return
    }
    try context.output.line(sentence(commits))
    var printer = EventPrinter(context)
    for commit in commits { for line in EventLine.all(of: commit) { try printer.take(line) } }
    try printer.flush()
  }

  private func sentence(_ commits: [Commit]) -> String {
    let change = "the exit code changes from \(codeBefore) to \(codeAfter)"
    guard isCertain, let commit = commits.first else {
      return
        "\(change) after one of these \(Quantity.count(commits.count, "commit")); the command could not tell which"
    }
    return "\(change) after commit \(Self.name(of: (commit.replica, commit.number)))"
  }

  private func write(_ commit: Commit, to json: inout JSONWriter) {
    json.member("replica", commit.replica.description)
    json.member("commit", commit.number.rawValue)
    json.member("isCertain", isCertain)
    json.member("exitCodeBefore", codeBefore)
    json.member("exitCodeAfter", codeAfter)
    json.member("runs", runs)
    json.member("events", objects: EventLine.all(of: commit)) { $0.write(to: &$1) }
  }
}
