import Heartlog
import HeartlogLibraries

/// `heartlog list`: lists the favorites of a library.
struct ListCommand: Command {
  enum Order: String, CaseIterable, Sendable {
    case newest
    case oldest
    case id
  }

  private static let all = Option.flag(
    "all", "Also list items that are not favorites; without a date, they come last.")
  private static let order = Option.value(
    "order", "ORDER", .choice(Order.allCases.map(\.rawValue)),
    "newest (most recently favorited first, the default), oldest, or id.")
  private static let limit = Option.value("limit", "N", .count, "List at most N items.")
  private static let match = Option.value(
    "match", "TEXT", .text, "List only items whose id or texts contain TEXT, ignoring case and diacritics.")
  private static let exact = Option.flag("exact", "With --match: case and diacritics matter.")
  private static let field = Option.value(
    "field", "NAME", .text, "With --match: search only this field, whatever it holds; id is the item's id.")
  private static let collection = Option.value(
    "collection", "NAME", .collection, "List the items of a collection, favorites or not, in its order.")

  static let description = CommandDescription(
    name: "list", group: .read, summary: "list the favorites of a library",
    arguments: [.library], options: [all, order, limit, match, exact, field, collection, .at],
    paragraphs: [
      "The default order is newest first, by the date when each item became a favorite; of two items with equal dates, the one that was written last is the newer one."
    ],
    examples: [
      .init("heartlog list papers --limit 10", "List the ten newest papers."),
      .init("heartlog list cities --match berlin --order id", "List the cities that match a text."),
      .init("heartlog list books --all --json", "Print all books as JSON."),
      .init("heartlog list papers --collection 'to read'", "List a collection."),
      .init("heartlog list papers --at 2026-03-02", "List what the favorites were at the end of that day."),
    ],
    endings: [.init(.badInput, "Part of the store is damaged; the sound part was listed.")])

  let library: String
  let isAll: Bool
  let order: Order
  let limit: Int?
  let match: String?
  let search: SearchOptions
  let collection: String?
  let moment: Moment?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    isAll = arguments.has(Self.all)
    order = arguments.text(Self.order).flatMap(Order.init) ?? .newest
    limit = arguments.count(Self.limit)
    match = arguments.text(Self.match)
    search = SearchOptions(
      isExact: arguments.has(Self.exact), fields: arguments.text(Self.field).map { [$0] })
    collection = arguments.text(Self.collection)
    moment = try arguments.moment(.at)
    if match == nil, search.isExact || search.fields != nil {
      throw .usage("--exact and --field say how to search", hint: "Say with --match what to search for.")
    }
    if collection != nil, isAll || arguments.text(Self.order) != nil {
      throw .usage(
        "a collection is listed as a whole, in its own order",
        hint: "Use --collection without --all and --order.")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: moment)
    // The names are checked here; a state has nothing under a name that is not valid.
    let named = try view.store.library(library)
    if let collection { _ = try named.collection(collection) }
    let items = view.read(selected)
    if context.isJSON {
      for item in items {
        try context.jsonLine { json in
          ItemLine.write(item, in: library, to: &json)
          json.asOf(view.moment)
        }
      }
      try context.jsonPartial(view.findings)
    } else {
      try context.lineWithMoment(view.moment)
      var table = Table(ItemLine.columns)
      let descriptor = LibraryRegistry.standard[library]
      for item in items { table.add(ItemLine.cells(item, of: descriptor, context.times)) }
      try context.linesWithTimes(table.lines(style: context.style, width: context.width))
    }
    try context.tellUnknown(library, in: view)
    return try context.report(view.findings)
  }

  private func selected(from state: FavoritesState) -> [ItemState] {
    let order: ListOrder =
      switch order {
      case .newest: .newestFirst
      case .oldest: .oldestFirst
      case .id: .byID
      }
    // The store may stop early only if nothing is filtered out afterwards.
    let early = match == nil ? limit : nil
    var items =
      if let collection {
        state.collection(collection, in: library).compactMap { state.item($0, in: library) }
      } else if isAll {
        order.sorted(state.all(in: library))
      } else { state.favorites(in: library, order: order, limit: early) }
    if let match {
      let search = TextSearch(match, options: search)
      // The list shows the ids: here, they are texts that people read, whatever they are.
      items = items.filter {
        self.search.fields == nil && search.isFound(in: $0.id) || search.isFound(in: $0)
      }
    }
    return limit.map { Array(items.prefix($0)) } ?? items
  }
}
