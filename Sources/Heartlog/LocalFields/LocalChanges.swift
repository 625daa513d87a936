/// The local values that a `write { }` closure has set. They are written once its commit is acknowledged.
struct LocalChanges: Sendable {
  /// The values of one item. Null clears a field.
  struct Item: Sendable {
    let library: String
    let id: String
    fileprivate(set) var fields: [Field]
  }

  private struct Key: Hashable {
    let library: String
    let id: UTF8Key
  }

  /// The items in the order in which they were first set.
  private(set) var items: [Item] = []
  private var indices: [Key: Int] = [:]
  /// How the values are written; as the options of the store say if nil.
  var durability: Durability?

  /// Whether the values that they are compared with include those of other processes.
  var areFresh = false

  var isEmpty: Bool { items.isEmpty }

  /// The values set for an item.
  func fields(of id: String, in library: String) -> [Field] {
    indices[Key(library: library, id: UTF8Key(id))].map { items[$0].fields } ?? []
  }

  /// Sets values, which replace those set earlier.
  mutating func set(_ fields: [Field], of id: String, in library: String) {
    guard !fields.isEmpty else { return }
    let key = Key(library: library, id: UTF8Key(id))
    guard let index = indices[key] else {
      indices[key] = items.count
      return items.append(Item(library: library, id: id, fields: fields))
    }
    items[index].fields = items[index].fields.setting(fields)
  }
}

extension [Field] {
  /// These fields with other values, sorted by the bytes of their names.
  func setting(_ changed: [Field]) -> [Field] {
    var values: [UTF8Key: Field] = [:]
    for field in self + changed { values[UTF8Key(field.name)] = field }
    return values.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }
}
