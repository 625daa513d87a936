import Heartlog

/// `heartlog bisect`: finds the commit that changed the answer of a command.
struct BisectCommand: Command {
  private static let run = Option.value(
    "run", "COMMAND", .text,
    "A command line for /bin/sh, required; it gets the store as JSON on standard input.")
  private static let from = Option.value(
    "from", "WHEN", .moment, "Begin with the answer at that moment. Default: before the first commit.")
  private static let to = Option.value(
    "to", "WHEN", .moment, "End with the answer at that moment. Default: now.")

  static let description = CommandDescription(
    name: "bisect", group: .read, summary: "find the commit that changed the answer of a command",
    options: [run, from, to],
    paragraphs: [
      "Runs COMMAND with what the store contained at different moments, and finds the first commit, in the order of the log, after which "
        + "its answer is another one than at --from. The answer is whether the exit code is 0. 125 means that it cannot tell; 126 and more "
        + "end the search. What COMMAND prints goes to standard error.",
      "Standard input of COMMAND has a line for each item of each library, as \"heartlog export --format jsonl\" writes it.",
    ],
    examples: [
      .init(
        "heartlog bisect --run 'grep -q \"\\\"id\\\":\\\"2950159\\\"\"'",
        "Find the commit that first wrote an item."),
      .init(
        "heartlog bisect --run 'test $(grep -c \"\\\"isFavorite\\\":true\") -lt 50' --from 2026-03-02",
        "Find the commit that made the fiftieth favorite."),
    ],
    endings: [
      .init(.no, "The answer is the same at both ends, or the command could not tell which commit it was."),
      .init(.badInput, "Part of the store is damaged; the sound part of the log was searched."),
      .init(.inputOutput, "The command could not be run, or was ended by a signal."),
    ])

  let command: StateCommand
  let from: Moment?
  let to: Moment?

  init(_ arguments: Arguments) throws(CommandError) {
    guard let line = arguments.text(Self.run), !line.isEmpty else {
      throw .usage(
        "bisect needs --run COMMAND", hint: "Usage: \(Self.description.usage.joined(separator: " "))")
    }
    command = StateCommand(line: line)
    from = try arguments.moment(Self.from)
    to = try arguments.moment(Self.to)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let (timeline, ends, findings) = try listed(store, context)
    var search = Search(store: store, timeline: timeline, command: command, context: context)
    let found = try search.run(from: ends.lowerBound, to: ends.upperBound)
    let page = BisectPage(
      isCertain: found.commits.count == 1, codeBefore: found.codeBefore, codeAfter: found.codeAfter,
      runs: search.runs)
    try page.print(try commits(found.commits.map { timeline[$0] }, of: store), context)
    if context.isJSON { try context.jsonPartial(findings) }
    let code = try context.report(findings)
    return code == .success && !page.isCertain ? .no : code
  }

  /// The commits of the log, and the numbers of commits between which to search.
  private func listed(
    _ store: FavoritesStore, _ context: CommandContext
  ) throws -> (Timeline, Range<Int>, [Finding]) {
    let replicas = from == nil && to == nil ? nil : try ReplicaDirectory(at: store.path)
    let isBefore = try from.map { try EventFilter.bound(until: $0, in: replicas) }
    let isUntil = try to.map { try EventFilter.bound(until: $0, in: replicas) }
    // A time need not be a point in the order of the log. The search then begins before the first commit after `from`, and ends with the
    // last one up to `to`.
    var start: Int?
    var end = 0
    let (timeline, findings) = try context.withByteProgress("reading the log") { progress in
      let log = try store.readLog(progress: progress)
      let timeline = try Timeline(of: log) { index, position, time in
        if start == nil, !(isBefore?(position, time) ?? false) { start = index }
        if isUntil?(position, time) ?? true { end = index + 1 }
      }
      return (timeline, log.findings)
    }
    guard let start, start < end else {
      throw CommandError(
        .no, "there is no commit to search", hint: "The order of the log decides, from --from to --to.")
    }
    return (timeline, start..<end, findings)
  }

  private func commits(
    _ wanted: [(replica: ReplicaID, number: CommitNumber)], of store: FavoritesStore
  ) throws -> [Commit] {
    let wanted = Set(wanted.map { Head(replica: $0.replica, commit: $0.number) })
    var commits: [Commit] = []
    try store.readLog().forEachCommit(
      where: { position, _ in wanted.contains(Head(replica: position.replica, commit: position.number)) }
    ) { commits.append($0) }
    return commits
  }
}

/// Asks a command about the states of a timeline.
private struct Search {
  struct Found {
    /// The indices of the commits that may be the first one.
    let commits: Range<Int>
    let codeBefore: Int32
    let codeAfter: Int32
  }

  let store: FavoritesStore
  let timeline: Timeline
  let command: StateCommand
  let context: CommandContext
  private(set) var runs = 0
  /// The last state with the old answer. Each replay continues from it, so that all of them together read about as much as two of the whole
  /// log.
  private var base: PastState?

  init(store: FavoritesStore, timeline: Timeline, command: StateCommand, context: CommandContext) {
    self.store = store
    self.timeline = timeline
    self.command = command
    self.context = context
  }

  mutating func run(from start: Int, to end: Int) throws -> Found {
    // These two begin at the newest snapshots before them.
    let (first, codeBefore) = try ask(after: start)
    try tell(start, codeBefore)
    var codeAfter = try ask(after: end).code
    try tell(end, codeAfter)
    base = first
    for code in [codeBefore, codeAfter] where code == StateCommand.noAnswer {
      throw CommandError(.no, "the command has no answer at the ends of the search", at: "exit code \(code)")
    }
    guard (codeBefore == 0) != (codeAfter == 0) else {
      throw CommandError(
        .no, "the command has the same answer at both ends of the search",
        at: "exit code \(codeBefore), then \(codeAfter)", hint: "Choose other ends with --from and --to.")
    }
    var bisection = Bisection(old: start, new: end)
    while let count = bisection.next {
      let (state, code) = try ask(after: count)
      if code == StateCommand.noAnswer {
        bisection.take(.unknown, after: count)
      } else if (code == 0) == (codeBefore == 0) {
        base = state
        bisection.take(.old, after: count)
      } else {
        codeAfter = code
        bisection.take(.new, after: count)
      }
      try tell(count, code, left: bisection.candidates.count)
    }
    return Found(commits: bisection.candidates, codeBefore: codeBefore, codeAfter: codeAfter)
  }

  private mutating func ask(after count: Int) throws -> (state: PastState, code: Int32) {
    let state = try store.state(after: count, of: timeline, from: base)
    runs += 1
    return (state, try command.run(with: state.state))
  }

  /// Says on standard error what the command answered.
  private func tell(_ count: Int, _ code: Int32, left: Int? = nil) throws {
    let place =
      count > 0 ? "after \(BisectPage.name(of: timeline[count - 1]))" : "before the first commit"
    let rest = left.map { ", \(Quantity.count($0, "commit")) left" } ?? ""
    try context.output.flush()
    context.output.errorLine("\(place): exit code \(code)\(rest)")
  }
}
