import Heartlog

/// `heartlog show`: shows one item.
struct ShowCommand: Command {
  static let description = CommandDescription(
    name: "show", group: .read, summary: "show an item: whether it is a favorite, since when, its fields",
    arguments: [.library, .item],
    paragraphs: ["Shows every item that is in the store, whether it is a favorite or not."],
    examples: [
      .init("heartlog show papers 2006.08594v1", "Show a paper and its fields."),
      .init("heartlog show cities -- -7", "An id that begins with - may need -- before it."),
    ],
    endings: [.init(.no, "The item is not in the store.")])

  let library: String
  let item: String

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    guard let state = try store.library(library).item(item) else {
      let partial = try context.report(store.findings)
      guard partial == .success else { return partial }
      throw CommandError(.no, "there is no item \(Quoted(item)) in \(library)")
    }
    if context.isJSON {
      try context.jsonLine { json in
        ItemLine.write(state, in: library, to: &json)
        json.partial(store.findings)
      }
    } else {
      try show(state, of: store, context)
    }
    return try context.report(store.findings)
  }

  private func show(_ state: ItemState, of store: FavoritesStore, _ context: CommandContext) throws {
    let style = context.style
    let since = state.favoritedDate.map { "a favorite since \(context.times.named($0))" } ?? "not a favorite"
    try context.output.line(
      "\(style.heart(state.isFavorite)) \(DisplayText.visible(state.id))  \(style(.faint, since))")
    var table = Table([.init(), .init(isFlexible: true)])
    for field in state.fields {
      table.add([.init("  " + field.name, .name), .init(try text(field, of: state.id, in: store))])
    }
    for line in table.lines(style: style, width: context.width) { try context.output.line(line) }
  }

  /// The value of a field, or the position of the item for a field that puts it into a collection.
  private func text(_ field: Field, of id: String, in store: FavoritesStore) throws -> String {
    guard let name = ItemCollection.name(ofField: field.name) else { return ItemLine.text(field.value) }
    let ids = try store.library(library).collection(name).ids
    guard let index = ids.firstIndex(where: { $0.utf8.elementsEqual(id.utf8) }) else {
      return ItemLine.text(field.value)
    }
    return "\(Quantity.count(index + 1)) of \(Quantity.count(ids.count))"
  }
}
