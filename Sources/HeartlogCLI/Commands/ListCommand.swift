/// `heartlog list`: the favorites of a library.
struct ListCommand: Command {
  enum Order: String, CaseIterable, Sendable {
    case newest
    case oldest
    case id
  }

  private static let all = Option.flag(
    "all", "List what is no favorite any more, too; without a date they come last.")
  private static let order = Option.value(
    "order", "ORDER", .choice(Order.allCases.map(\.rawValue)),
    "newest (favorited last comes first, the default), oldest, or id.")
  private static let limit = Option.value("limit", "N", .count, "At most N items.")
  private static let match = Option.value(
    "match", "TEXT", .text, "Only items whose id or fields hold TEXT, in capitals or not.")

  static let description = CommandDescription(
    name: "list", group: .read, summary: "list the favorites of a library",
    arguments: [.library], options: [all, order, limit, match],
    paragraphs: ["Newest first, by the date when each became a favorite; equal dates go by id."],
    examples: [
      .init("heartlog list papers --limit 10", "The ten newest papers."),
      .init("heartlog list cities --match berlin --order id", "Cities by what they hold."),
      .init("heartlog list books --all --json", "All books, for a program."),
    ],
    endings: [.init(.badInput, "A part of the store is damaged; what is sound is listed.")])

  let library: String
  let isAll: Bool
  let order: Order
  let limit: Int?
  let match: String?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    isAll = arguments.has(Self.all)
    order = arguments.text(Self.order).flatMap(Order.init) ?? .newest
    limit = arguments.count(Self.limit)
    match = arguments.text(Self.match)
  }

  func run(_ context: CommandContext) throws -> ExitCode { throw CommandError.notYetHere(Self.description) }
}
