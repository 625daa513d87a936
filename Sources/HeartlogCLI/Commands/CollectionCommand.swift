import Heartlog
import HeartlogLibraries

/// `heartlog collection`: lists and changes ordered collections.
struct CollectionCommand: Command {
  private enum Action: String, CaseIterable {
    case list
    case add
    case remove
    case move
  }

  private enum Place {
    case first
    case last
    case before(String)
    case after(String)
  }

  private static let name = Argument(
    "NAME", .optional, .collection, "The collection. Without it, the collections of the library are listed.")
  private static let action = Argument(
    "ACTION", form: Action.allCases.map(\.rawValue).joined(separator: "|"), .optional,
    .choice(Action.allCases.map(\.rawValue)),
    "list the items in their order (the default), add some, remove some, or move some.")
  private static let items = Argument(
    "ID", .variadic, .item, "Items, favorites or not; several are one commit.")
  private static let first = Option.flag("first", "Add or move to the beginning.")
  private static let last = Option.flag("last", "Add or move to the end; added items go there anyway.")
  private static let before = Option.value("before", "ID", .item, "Add or move before this item.")
  private static let after = Option.value("after", "ID", .item, "Add or move after this item.")

  static let description = CommandDescription(
    name: "collection", group: .write, summary: "list, fill and order the collections of a library",
    arguments: [.library, name, action, items], options: [first, last, before, after],
    page: """
      A collection is a named, ordered list of items of one library: a reading list, a playlist, a trip. It need not be created. An item can be
      in several, and be a favorite or not.

      Adding an item that is in the collection leaves it where it is. Several items are put one after the other.

      heartlog collection papers  # List the collections of the papers.
      heartlog collection papers 'to read' add 2006.08594v1 2101.09077v1  # Add two papers at the end.
      heartlog collection papers 'to read' move 2101.09077v1 --first  # Put one of them first.
      heartlog collection papers 'to read' remove 2006.08594v1  # Remove the other one.
      heartlog collection papers 'to read' list  # List what is left.

      Exit code 1: An item that is to be moved, or to be next to, is not in the collection, or nothing had to change.
      """)

  private let library: String
  private let name: String?
  private let action: Action
  private let items: [String]
  private let place: Place?

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    try CollectionCommand(arguments).run(context)
  }

  private init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    name = arguments.optionalText(Self.name)
    action = arguments.optionalText(Self.action).flatMap(Action.init) ?? .list
    items = arguments.texts(Self.items)
    let places: [Place] =
      (arguments.has(Self.first) ? [.first] : []) + (arguments.has(Self.last) ? [.last] : [])
      + arguments.texts(Self.before).map { .before($0) } + arguments.texts(Self.after).map { .after($0) }
    place = places.first
    guard places.count <= 1 else {
      throw Self.misused("only one of --first, --last, --before and --after can be used")
    }
    guard items.isEmpty == (action == .list) else {
      throw Self.misused("collection NAME \(action.rawValue) \(items.isEmpty ? "needs an" : "takes no") ID")
    }
    if action == .move, place == nil {
      throw Self.misused("collection NAME move needs --first, --last, --before or --after")
    }
    if action == .list || action == .remove, place != nil {
      throw Self.misused("only add and move take a place")
    }
  }

  private func run(_ context: CommandContext) throws -> ExitCode {
    guard action == .list else { return try change(context) }
    let store = try context.openForReading()
    let view = StoreView(now: store)
    let named = try store.library(library)
    if let name {
      let items = try named.collection(name).ids.compactMap(named.item)
      return try context.show(
        items.lazy.map { ItemLine.json($0, in: library) },
        context.withTimes(
          context.lines(ItemLine.table(items, of: library, context.times, isNumbered: true))),
        of: library, in: view)
    }
    let collections = try named.collections.map { (name: $0, count: try named.collection($0).ids.count) }
    let table = Table(
      [.init(isFlexible: true), .init(alignment: .right), .init()],
      rows: collections.map { name, count in
        [.init(name, .name), .init(Quantity.count(count)), .init(count == 1 ? "item" : "items")]
      })
    return try context.show(
      collections.map { ["library": library, "collection": $0.name, "items": $0.count] as JSONObject },
      context.lines(table), of: library, in: view)
  }

  // MARK: - Changing

  private func change(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let collection = try store.library(library).collection(name ?? "")
    let (changed, commit) = try context.write(to: store) { try change(collection) }
    let ids = collection.ids
    let code = try context.close(store)
    guard let commit else {
      let state = action == .remove ? "not in" : action == .add ? "already in" : "already at that place in"
      throw CommandError(
        .no,
        "\(items.map { "\(Quoted($0))" }.joined(separator: ", ")) \(items.count == 1 ? "is" : "are") \(state) the collection \(Quoted(collection.name))",
        hint: "Nothing was written.")
    }
    let events = EventLine.all(of: commit)
    let lines = changed.map { item in
      let event = events.last { $0.record.event?.item.hasSameBytes(as: item) ?? false }
      let index = ids.firstIndex { $0.hasSameBytes(as: item) }
      let state = index.map { "\(Quantity.count($0 + 1)) of \(Quantity.count(ids.count)) in" } ?? "not in"
      return DisplayText.visible("\(library) \(item)  \(state) \(Quoted(collection.name))")
        + "  \(context.style(.faint, event?.shortID ?? ""))"
    }
    _ = try context.show(events.map(\.json), lines)
    return code
  }

  /// - Returns: the items that changed.
  private func change(_ collection: ItemCollection<String>) throws -> [String] {
    if action == .move, try isInPlace(collection) { return [] }
    var place = place ?? .last
    var changed: [String] = []
    for item in items {
      let isChange =
        switch action {
        case .list: false
        case .remove: try collection.remove(item)
        case .add: try collection.insert(item, at: try index(of: place, for: item, among: collection.ids))
        case .move: try collection.move(item, to: try index(of: place, for: item, among: collection.ids))
        }
      if isChange { changed.append(item) }
      if isChange || action == .move { place = .after(item) }
    }
    return changed
  }

  /// Whether the order is the same when all items are moved: several can leave their places and come back to them.
  private func isInPlace(_ collection: ItemCollection<String>) throws -> Bool {
    let before = collection.ids
    var after = before
    var place = place ?? .last
    for item in items {
      guard let old = after.firstIndex(where: { $0.hasSameBytes(as: item) }) else { return false }
      let new = try index(of: place, for: item, among: after)
      after.insert(after.remove(at: old), at: new)
      place = .after(item)
    }
    return after.elementsEqual(before) { $0.hasSameBytes(as: $1) }
  }

  /// The index of a place among the other items of a collection.
  private func index(of place: Place, for item: String, among ids: [String]) throws -> Int {
    let others = ids.filter { !$0.hasSameBytes(as: item) }
    func index(of other: String) throws -> Int {
      guard let index = others.firstIndex(where: { $0.hasSameBytes(as: other) }) else {
        throw CommandError(
          .no,
          "there is no \(item.hasSameBytes(as: other) ? "other " : "")item \(Quoted(other)) in the collection \(Quoted(name ?? ""))",
          hint: "Nothing was written.")
      }
      return index
    }
    return switch place {
    case .first: 0
    case .last: others.count
    case .before(let other): try index(of: other)
    case .after(let other): try index(of: other) + 1
    }
  }
}
