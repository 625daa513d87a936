import Heartlog
import HeartlogLibraries

/// `heartlog list`: lists the favorites of a library.
enum ListCommand: Command {
  private static let orders: KeyValuePairs<String, ListOrder> = [
    "newest": .newestFirst, "oldest": .oldestFirst, "id": .byID,
  ]

  private static let all = Option.flag(
    "all", "Also list items that are not favorites; without a date, they come last.")
  private static let order = Option.value(
    "order", "ORDER", .choice(orders.map(\.key)),
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
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    try arguments.allow(Self.exact, Self.field, onlyWith: "--match", if: arguments.has(Self.match))
    // A collection is listed as a whole, in its own order.
    try arguments.refuse(Self.collection, with: Self.all, Self.order)
    let view = try context.openForReading(at: arguments.moment(.at))
    let library = arguments.text(.library)
    // The names are checked here; a state has nothing under a name that is not valid.
    let named = try view.store.library(library)
    if let collection = arguments.text(Self.collection) { _ = try named.collection(collection) }
    let items = view.read { selected(by: arguments, from: $0) }
    let asOf = JSONObject.asOf(view.moment)
    return try context.show(
      items.lazy.map { ItemLine.json($0, in: library) + asOf },
      context.asOf(view.moment)
        + context.withTimes(context.lines(ItemLine.table(items, of: library, context.times))),
      of: library, in: view)
  }

  private static func selected(by arguments: Arguments, from state: FavoritesState) -> [ItemState] {
    let library = arguments.text(.library)
    let name = arguments.text(Self.order)
    let order = orders.first { $0.key == name }?.value ?? .newestFirst
    let limit = arguments.count(Self.limit)
    let match = arguments.text(Self.match)
    // The store may stop early only if nothing is filtered out afterwards.
    let early = match == nil ? limit : nil
    var items =
      if let collection = arguments.text(Self.collection) {
        state.collection(collection, in: library).compactMap { state.item($0, in: library) }
      } else if arguments.has(Self.all) {
        order.sorted(state.all(in: library))
      } else { state.favorites(in: library, order: order, limit: early) }
    if let match {
      let options = SearchOptions(
        isExact: arguments.has(Self.exact), fields: arguments.text(Self.field).map { [$0] })
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
enum ShowCommand: Command {
  static let description = CommandDescription(
    name: "show", group: .read, summary: "show an item with its date and its fields",
    arguments: [.library, .item], options: [.at],
    page: """
      Shows every item that is in the store, whether it is a favorite or not.

      heartlog show papers 2006.08594v1  # Show a paper and its fields.
      heartlog show papers 2006.08594v1 --at yesterday  # Show it as it was at the end of yesterday.
      heartlog show cities -- -7  # An id that begins with - may need -- before it.

      Exit code 1: The item is not in the store.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let (library, item) = (arguments.text(.library), arguments.text(.item))
    let view = try context.openForReading(at: arguments.moment(.at))
    guard let state = view.read({ $0.item(item, in: library) }) else {
      let then = context.sentence(of: view.moment).map { ", \($0)" } ?? ""
      return try context.absent("there is no item \(Quoted(item)) in \(library)\(then)", view.findings)
    }
    try context.show(
      ItemLine.json(state, in: library) + .asOf(view.moment) + .partial(view.findings),
      context.asOf(view.moment) + lines(state, in: library, of: view, context))
    return try context.report(view.findings)
  }

  private static func lines(
    _ state: ItemState, in library: String, of view: StoreView, _ context: CommandContext
  ) -> [String] {
    let style = context.style
    let since = state.favoritedDate.map { "a favorite since \(context.times.named($0))" } ?? "not a favorite"
    let table = Table(
      [.init(), .init(isFlexible: true)],
      rows: state.fields.map {
        [.init("  " + $0.name, .name), .init(text($0, of: state.id, in: library, view))]
      })
    return [
      "\(style.heart(state.isFavorite)) \(DisplayText.identifier(state.id))  \(style(.faint, since))"
    ] + context.lines(table)
  }

  /// The value of a field, or the position of the item for a field that puts it into a collection.
  private static func text(_ field: Field, of id: String, in library: String, _ view: StoreView) -> String {
    guard let name = CollectionField.collection(of: field.name) else { return ItemLine.text(field.value) }
    let ids = view.read { $0.collection(name, in: library) }
    guard let index = ids.firstIndex(where: { $0.hasSameBytes(as: id) }) else {
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
