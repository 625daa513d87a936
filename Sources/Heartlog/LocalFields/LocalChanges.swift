import HeartlogStorage

/// The local values that a `write { }` closure has set. They are written once its commit is acknowledged.
struct LocalChanges: Sendable {
  private struct Key: Hashable {
    let library: String
    let id: UTF8Key
  }

  /// The values of each item, in the order in which the items were first set. Null clears a field.
  private(set) var items: [Event] = []
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
    let index = indices[key] ?? items.count
    let before = index < items.count ? items[index].fields : []
    indices[key] = index
    let item = Event(localFields: before.setting(fields), of: id, in: library)
    if index < items.count { items[index] = item } else { items.append(item) }
  }
}
