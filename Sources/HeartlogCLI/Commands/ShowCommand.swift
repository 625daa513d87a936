import Heartlog

/// `heartlog show`: shows one item.
struct ShowCommand: Command {
  static let description = CommandDescription(
    name: "show", group: .read, summary: "show an item with its date and its fields",
    arguments: [.library, .item], options: [.at],
    paragraphs: ["Shows every item that is in the store, whether it is a favorite or not."],
    examples: [
      .init("heartlog show papers 2006.08594v1", "Show a paper and its fields."),
      .init("heartlog show papers 2006.08594v1 --at yesterday", "Show it as it was at the end of yesterday."),
      .init("heartlog show cities -- -7", "An id that begins with - may need -- before it."),
    ],
    endings: [.init(.no, "The item is not in the store.")])

  let library: String
  let item: String
  let moment: Moment?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
    moment = try arguments.moment(.at)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: moment)
    guard let state = view.read({ $0.item(item, in: library) }) else {
      let partial = try context.report(view.findings)
      guard partial == .success else { return partial }
      let then = context.sentence(of: view.moment).map { ", \($0)" } ?? ""
      throw CommandError(.no, "there is no item \(Quoted(item)) in \(library)\(then)")
    }
    if context.isJSON {
      try context.jsonLine { json in
        ItemLine.write(state, in: library, to: &json)
        json.asOf(view.moment)
        json.partial(view.findings)
      }
    } else {
      try context.lineWithMoment(view.moment)
      try show(state, of: view, context)
    }
    return try context.report(view.findings)
  }

  private func show(_ state: ItemState, of view: StoreView, _ context: CommandContext) throws {
    let style = context.style
    let since = state.favoritedDate.map { "a favorite since \(context.times.named($0))" } ?? "not a favorite"
    try context.output.line(
      "\(style.heart(state.isFavorite)) \(DisplayText.identifier(state.id))  \(style(.faint, since))")
    var table = Table([.init(), .init(isFlexible: true)])
    for field in state.fields {
      table.add([.init("  " + field.name, .name), .init(text(field, of: state.id, in: view))])
    }
    for line in table.lines(style: style, width: context.width) { try context.output.line(line) }
  }

  /// The value of a field, or the position of the item for a field that puts it into a collection.
  private func text(_ field: Field, of id: String, in view: StoreView) -> String {
    guard let name = ItemCollection.name(ofField: field.name) else { return ItemLine.text(field.value) }
    let ids = view.read { $0.collection(name, in: library) }
    guard let index = ids.firstIndex(where: { $0.utf8.elementsEqual(id.utf8) }) else {
      return ItemLine.text(field.value)
    }
    return "\(Quantity.count(index + 1)) of \(Quantity.count(ids.count))"
  }
}
