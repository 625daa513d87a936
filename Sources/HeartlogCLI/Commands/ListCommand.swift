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
    page: """
      The default order is newest first, by the date when each item became a favorite; of two items with equal dates, the one that was written
      last is the newer one.

      heartlog list papers --limit 10  # List the ten newest papers.
      heartlog list cities --match berlin --order id  # List the cities that match a text.
      heartlog list books --all --json  # Print all books as JSON.
      heartlog list papers --collection 'to read'  # List a collection.
      heartlog list papers --at 2026-03-02  # List what the favorites were at the end of that day.

      65: Part of the store is damaged; the sound part was listed.
      """)

  private let arguments: Arguments

  init(_ arguments: Arguments) throws(CommandError) {
    self.arguments = arguments
    if match == nil, search.isExact || search.fields != nil {
      throw .usage("--exact and --field say how to search", hint: "Say with --match what to search for.")
    }
    if collection != nil, isAll || arguments.has(Self.order) {
      throw .usage(
        "a collection is listed as a whole, in its own order",
        hint: "Use --collection without --all and --order.")
    }
  }

  var library: String { arguments.text(.library) }
  var isAll: Bool { arguments.has(Self.all) }
  var order: Order { arguments.text(Self.order).flatMap(Order.init) ?? .newest }
  var limit: Int? { arguments.count(Self.limit) }
  var match: String? { arguments.text(Self.match) }
  private var collection: String? { arguments.text(Self.collection) }
  private var search: SearchOptions {
    SearchOptions(isExact: arguments.has(Self.exact), fields: arguments.text(Self.field).map { [$0] })
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: arguments.moment(.at))
    let library = library
    // The names are checked here; a state has nothing under a name that is not valid.
    let named = try view.store.library(library)
    if let collection { _ = try named.collection(collection) }
    let items = view.read(selected)
    let asOf = JSONObject.asOf(view.moment)
    return try context.show(
      items.lazy.map { ItemLine.json($0, in: library) + asOf },
      context.asOf(view.moment)
        + context.withTimes(context.lines(ItemLine.table(items, of: library, context.times))),
      of: library, in: view)
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
      let options = search
      let search = TextSearch(match, options: options)
      // The list shows the ids: here, they are texts that people read, whatever they are.
      items = items.filter {
        options.fields == nil && search.isFound(in: $0.id) || search.isFound(in: $0)
      }
    }
    return limit.map { Array(items.prefix($0)) } ?? items
  }
}

/// `heartlog show`: shows one item.
struct ShowCommand: Command {
  static let description = CommandDescription(
    name: "show", group: .read, summary: "show an item with its date and its fields",
    arguments: [.library, .item], options: [.at],
    page: """
      Shows every item that is in the store, whether it is a favorite or not.

      heartlog show papers 2006.08594v1  # Show a paper and its fields.
      heartlog show papers 2006.08594v1 --at yesterday  # Show it as it was at the end of yesterday.
      heartlog show cities -- -7  # An id that begins with - may need -- before it.

      1: The item is not in the store.
      """)

  private let arguments: Arguments

  init(_ arguments: Arguments) { self.arguments = arguments }

  private var library: String { arguments.text(.library) }
  var item: String { arguments.text(.item) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: arguments.moment(.at))
    guard let state = view.read({ $0.item(item, in: library) }) else {
      let then = context.sentence(of: view.moment).map { ", \($0)" } ?? ""
      return try context.absent("there is no item \(Quoted(item)) in \(library)\(then)", view.findings)
    }
    try context.show(
      ItemLine.json(state, in: library) + .asOf(view.moment) + .partial(view.findings),
      context.asOf(view.moment) + lines(state, of: view, context))
    return try context.report(view.findings)
  }

  private func lines(_ state: ItemState, of view: StoreView, _ context: CommandContext) -> [String] {
    let style = context.style
    let since = state.favoritedDate.map { "a favorite since \(context.times.named($0))" } ?? "not a favorite"
    let table = Table(
      [.init(), .init(isFlexible: true)],
      rows: state.fields.map {
        [.init("  " + $0.name, .name), .init(text($0, of: state.id, in: view))]
      })
    return [
      "\(style.heart(state.isFavorite)) \(DisplayText.identifier(state.id))  \(style(.faint, since))"
    ] + context.lines(table)
  }

  /// The value of a field, or the position of the item for a field that puts it into a collection.
  private func text(_ field: Field, of id: String, in view: StoreView) -> String {
    guard let name = ItemCollection.name(ofField: field.name) else { return ItemLine.text(field.value) }
    let ids = view.read { $0.collection(name, in: library) }
    guard let index = ids.firstIndex(where: { $0.isSame(as: id) }) else {
      return ItemLine.text(field.value)
    }
    return "\(Quantity.count(index + 1)) of \(Quantity.count(ids.count))"
  }
}

/// Formats one item, as JSON and as text.
enum ItemLine {
  static func json(_ item: ItemState, in library: String) -> JSONObject {
    [
      "library": library, "id": item.id, "isFavorite": item.isFavorite,
      "favoritedDate": RFC3339.text(item.favoritedDate), "fields": JSONObject(item.fields),
    ]
  }

  /// A value on one line.
  static func text(_ value: FieldValue) -> String {
    switch value {
    case .null: "null"
    case .string(let text): text
    default: value.jsonValue.jsonText
    }
  }

  /// A row for each item: its number if they are in an order of their own, the heart, the date, the id, and the title line of the library's
  /// descriptor.
  static func table(
    _ items: [ItemState], of library: String, _ times: Zone, isNumbered: Bool = false
  ) -> Table {
    let descriptor = LibraryRegistry.standard[library]
    return Table(
      [
        .init(alignment: .right), .init(), .init(), .init(isFlexible: true, keepsEnd: true),
        .init(isFlexible: true),
      ],
      rows: items.enumerated().map { index, item in
        [
          .init(isNumbered ? "\(index + 1)" : "", .faint), .heart(item.isFavorite),
          .init(item.favoritedDate.map { times.text($0) } ?? "", .faint),
          .init(DisplayText.identifier(item.id), .name), .init(descriptor.titleLine(of: item)),
        ]
      })
  }
}
