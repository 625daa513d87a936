/// `heartlog log`: what happened.
struct LogCommand: Command {
  private static let library = Argument("LIBRARY", .optional, .library, "Only events of this library.")
  private static let item = Argument("ID", .optional, .item, "Only events of this item of it.")
  private static let replica = Option.value(
    "replica", "R", .text, isRepeatable: true,
    "Only events of this device, by its name or the first digits of its id.")
  private static let since = Option.value(
    "since", "WHEN", .moment, "Only events from then on; a date means its start.")
  private static let until = Option.value(
    "until", "WHEN", .moment, "Only events up to then; a date means its end.")
  private static let last = Option.value(short: "n", "N", .count, "Only the last N of them.")
  private static let follow = Option.flag(
    "follow", short: "f", "Wait, and print events as they come, until interrupted.")

  static let description = CommandDescription(
    name: "log", group: .read, summary: "show what happened, oldest first",
    arguments: [library, item], options: [replica, since, until, last, follow],
    paragraphs: [
      "Each line has the time on the device that wrote it, the event (as other commands take it for WHEN), what happened, "
        + "and to which item."
    ],
    examples: [
      .init("heartlog log -n 20", "The last twenty events."),
      .init("heartlog log cities 2950159", "The history of one city."),
      .init("heartlog log --since 2026-03-01 --until 2026-03-14", "A fortnight."),
      .init("heartlog log --follow --json", "A stream for a program."),
    ],
    endings: [.init(.badInput, "A part of the store is damaged; the log is shown as far as it is sound.")])

  let library: String?
  let item: String?
  /// Names or prefixes of ids; none where all are wanted.
  let replicas: [String]
  let since: Moment?
  let until: Moment?
  let last: Int?
  let follows: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.optionalText(Self.library)
    item = arguments.optionalText(Self.item)
    replicas = arguments.texts(Self.replica)
    since = try arguments.moment(Self.since)
    until = try arguments.moment(Self.until)
    last = arguments.count(Self.last)
    follows = arguments.has(Self.follow)
  }

  func run(_ context: CommandContext) throws -> ExitCode { throw CommandError.notYetHere(Self.description) }
}
