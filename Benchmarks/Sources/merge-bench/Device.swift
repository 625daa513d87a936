import Heartlog
import Traces

/// A store that plays a trace, one commit a step.
struct Device {
  let store: FavoritesStore

  init(_ store: FavoritesStore) { self.store = store }

  func play(_ steps: [Trace.Step]) throws {
    let papers = try store.library("papers")
    let books = try store.library("books")
    for step in steps {
      try store.write(time: step.time) {
        switch step.deed {
        case .add:
          let fields = Catalog.metadata(step.item).map { Field(name: $0.name, value: .string($0.value)) }
          try papers.add(Catalog.paper(step.item), fields: fields)
        case .toggle: try papers.toggle(Catalog.paper(step.item))
        case .remove: try papers.remove(Catalog.paper(step.item))
        case .position(let value):
          guard let value = FieldValue.number(value) else { return }
          try books.set(
            [Field(name: "currentPosition", value: value, isQuiet: true)], of: Catalog.book(step.item))
        }
      }
    }
  }
}
