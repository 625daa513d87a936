import Heartlog
import HeartlogInterchange
import HeartlogSync

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
    page: #"""
      Runs COMMAND with what the store contained at different moments, and finds the first commit, in the order of the log, after which its
      answer is another one than at --from. The answer is whether the exit code is 0. 125 means that it cannot tell; 126 and more end the
      search. What COMMAND prints goes to standard error.

      Standard input of COMMAND has a line for each item of each library, as "heartlog export --format jsonl" writes it.

      heartlog bisect --run 'grep -q "\"id\":\"2950159\""'  # Find the commit that first wrote an item.
      heartlog bisect --run 'test $(grep -c "\"isFavorite\":true") -lt 50' --from 2026-03-02  # Find the commit that made the fiftieth favorite.

      1: The answer is the same at both ends, or the command could not tell which commit it was.
      65: Part of the store is damaged; the sound part of the log was searched.
      74: The command could not be run, or was ended by a signal.
      """#)

  let command: StateCommand
  let from: Moment?
  let to: Moment?

  init(_ arguments: Arguments) throws(CommandError) {
    guard let line = arguments.text(Self.run), !line.isEmpty else {
      throw Self.misused("bisect needs --run COMMAND")
    }
    command = StateCommand(line: line)
    from = arguments.moment(Self.from)
    to = arguments.moment(Self.to)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let (timeline, ends, findings) = try listed(store, context)
    var search = Search(store: store, timeline: timeline, command: command, context: context)
    let found = try search.run(from: ends.lowerBound, to: ends.upperBound)
    let commits = try commits(found.commits.map { timeline[$0] }, of: store)
    let code = try context.show(
      commits.map { found.json($0, runs: search.runs) }, found.lines(commits, context), findings: findings)
    return code == .success && !found.isCertain ? .no : code
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
struct Search {
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
    (self.store, self.timeline, self.command, self.context) = (store, timeline, command, context)
  }

  mutating func run(from start: Int, to end: Int) throws -> Found {
    // These two begin at the newest snapshots before them.
    let (first, codeBefore) = try ask(after: start)
    try report(start, codeBefore)
    var codeAfter = try ask(after: end).code
    try report(end, codeAfter)
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
      try report(count, code, left: bisection.candidates.count)
    }
    return Found(commits: bisection.candidates, codeBefore: codeBefore, codeAfter: codeAfter)
  }

  private mutating func ask(after count: Int) throws -> (state: PastState, code: Int32) {
    let state = try store.state(after: count, of: timeline, from: base)
    runs += 1
    return (state, try command.run(with: state.state))
  }

  /// `3f9a12c0:c42`, which is valid as WHEN.
  static func name(of commit: (replica: ReplicaID, number: CommitNumber)) -> String {
    "\(commit.replica.short):\(Moment.commitMark)\(commit.number)"
  }

  /// Says on standard error what the command answered.
  private func report(_ count: Int, _ code: Int32, left: Int? = nil) throws {
    let place =
      count > 0 ? "after \(Self.name(of: timeline[count - 1]))" : "before the first commit"
    let rest = left.map { ", \(Quantity.count($0, "commit")) left" } ?? ""
    try context.output.flush()
    context.output.errorLine("\(place): exit code \(code)\(rest)")
  }
}

extension Search.Found {
  /// Whether there is only one such commit.
  var isCertain: Bool { commits.count == 1 }

  func json(_ commit: Commit, runs: Int) -> JSONObject {
    [
      "replica": commit.replica, "commit": commit.number, "isCertain": isCertain,
      "exitCodeBefore": codeBefore, "exitCodeAfter": codeAfter, "runs": runs,
      "events": EventLine.all(of: commit).map(\.json),
    ]
  }

  /// The events of the commits, below a sentence.
  func lines(_ commits: [Commit], _ context: CommandContext) -> [String] {
    let after =
      isCertain && !commits.isEmpty
      ? "commit \(Search.name(of: (commits[0].replica, commits[0].number)))"
      : "one of these \(Quantity.count(commits.count, "commit")); the command could not tell which"
    return ["the exit code changes from \(codeBefore) to \(codeAfter) after \(after)"]
      + context.lines(commits.flatMap(EventLine.all))
  }
}

/// A binary search, along the commits of a log, for the first one after which an answer changes.
struct Bisection {
  enum Answer: Hashable {
    /// The same as at the beginning.
    case old
    case new
    /// There is no answer here.
    case unknown
  }

  /// The answer after so many commits is old.
  private(set) var old: Int
  /// The answer after so many commits is new.
  private(set) var new: Int
  private var unknown: Set<Int> = []

  /// - Precondition: `old` is less than `new`.
  init(old: Int, new: Int) {
    precondition(old < new, "a search that ends before it begins")
    self.old = old
    self.new = new
  }

  /// The number of commits to ask about next: the one nearest to the middle that was not asked about; nil if there is none.
  var next: Int? {
    let middle = old + (new - old) / 2
    for distance in 0...(new - old) {
      for count in [middle - distance, middle + distance]
      where count > old && count < new && !unknown.contains(count) {
        return count
      }
    }
    return nil
  }

  mutating func take(_ answer: Answer, after count: Int) {
    switch answer {
    case .old: old = count
    case .new: new = count
    case .unknown: unknown.insert(count)
    }
  }

  /// The indices of the commits that may be the first one: several if there was no answer between them.
  var candidates: Range<Int> { old..<new }
}

/// A command of a person's choice that gets a state on its standard input and answers with its exit code.
struct StateCommand {
  /// A command line for `/bin/sh`.
  let line: String

  /// The exit code by which the command says that it has no answer, as for `git bisect run`.
  static let noAnswer: Int32 = 125
  /// The shell's exit code for a command that cannot be run. From here on, codes are not the command's own: 127 is for one that does not
  /// exist, and 128 and more for signals.
  private static let failureMin: Int32 = 126

  /// Runs the command with a state. Its standard output goes to this process's standard error.
  ///
  /// - Returns: the exit code.
  func run(with state: FavoritesState) throws -> Int32 {
    let input = try state.libraries.map { try state.exportFile(of: $0, format: JSONLinesFormat()) }
    let child = try ChildProcess(["/bin/sh", "-c", line], output: 2)
    feed(input, to: child)
    let code = child.finish(waiting: ChildProcess.foreverMilliseconds) ?? Self.failureMin
    guard code < Self.failureMin else {
      throw CommandError(
        .inputOutput,
        code > 127 ? "the command was ended by signal \(code - 128)" : "the command cannot be run",
        at: "exit code \(code) of \(Quoted(line))")
    }
    return code
  }

  /// Writes until the command has everything, or wants no more.
  private func feed(_ input: [[UInt8]], to child: ChildProcess) {
    for bytes in input {
      var rest = bytes[...]
      while !rest.isEmpty {
        // The only error to expect is that the command has closed its standard input.
        guard let count = try? child.channel.write(rest, milliseconds: ChildProcess.graceMilliseconds) else {
          return
        }
        rest = rest.dropFirst(count)
      }
    }
  }
}
