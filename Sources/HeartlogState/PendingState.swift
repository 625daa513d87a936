import HeartlogEvents

/// What commits will have written that are not yet published: a thin overlay that a writer looks through, so
/// that its second operation on an item sees its first.
///
/// It holds only the registers that were written, each with its place in the total order, so that it reads
/// right over a base that took in other replicas' commits meanwhile.
public struct PendingState: Sendable {
  private struct Key: Hashable, Sendable {
    let library: String
    let item: String

    static func == (a: Key, b: Key) -> Bool {
      a.library.utf8.elementsEqual(b.library.utf8) && a.item.utf8.elementsEqual(b.item.utf8)
    }
  }

  private struct Membership: Sendable {
    let isFavorite: Bool
    let favoritedDate: Milliseconds
    let position: EventPosition
  }

  private struct PendingField: Sendable {
    let field: Field
    let position: EventPosition
  }

  private struct Item: Sendable {
    var membership: Membership?
    /// Sorted by the bytes of their names.
    var fields: [PendingField] = []

    mutating func write(_ new: Membership) {
      if let membership, new.position <= membership.position { return }
      membership = new
    }

    mutating func write(_ new: PendingField) {
      let place = fields.firstIndex { !$0.field.name.utf8.lexicographicallyPrecedes(new.field.name.utf8) }
      guard let place, fields[place].field.name.utf8.elementsEqual(new.field.name.utf8) else {
        fields.insert(new, at: place ?? fields.endIndex)
        return
      }
      if fields[place].position < new.position { fields[place] = new }
    }
  }

  private var items: [Key: Item] = [:]

  /// An overlay that changes nothing.
  public init() {}

  /// Whether it changes nothing.
  public var isEmpty: Bool { items.isEmpty }

  /// Applies an event of a commit that is under way.
  public mutating func apply(_ event: Event, at position: EventPosition, wallTime: Milliseconds) {
    let key = Key(library: event.library, item: event.item)
    if let isFavorite = event.action.isFavorite {
      items[key, default: Item()].write(
        Membership(
          isFavorite: isFavorite, favoritedDate: event.favoritedDate ?? wallTime, position: position))
    }
    for field in event.fields {
      items[key, default: Item()].write(PendingField(field: field, position: position))
    }
  }

  /// Applies the events of a commit.
  public mutating func apply(_ commit: Commit) {
    for (index, record) in commit.records.enumerated() {
      guard let event = record.event else { continue }
      let id = commit.eventID(at: index)
      apply(
        event, at: EventPosition(stamp: commit.stamp, replica: id.replica, sequence: id.sequence),
        wallTime: commit.wallTime)
    }
  }

  /// Takes in another overlay; where both wrote a register, the later write stays.
  public mutating func merge(_ other: PendingState) {
    guard !isEmpty else {
      items = other.items
      return
    }
    for (key, item) in other.items {
      if let membership = item.membership { items[key, default: Item()].write(membership) }
      for field in item.fields { items[key, default: Item()].write(field) }
    }
  }

  /// Forgets all, and keeps the memory.
  public mutating func removeAll() { items.removeAll(keepingCapacity: true) }

  /// The ids of a library's items that were written to, in no order that means anything.
  public func ids(in library: String) -> [String] {
    items.keys.filter { $0.library.utf8.elementsEqual(library.utf8) }.map(\.item)
  }

  /// An item as it will be once what is pending is published; nil where it was never written to.
  public func item(_ id: String, in library: String, over base: FavoritesState) -> ItemState? {
    let below = base.item(id, in: library)
    guard let pending = items[Key(library: library, item: id)] else { return below }

    var isFavorite = below?.isFavorite ?? false
    var favoritedDate = below?.favoritedDate
    if let write = pending.membership,
      base.membershipPosition(of: id, in: library).map({ $0 < write.position }) ?? true
    {
      isFavorite = write.isFavorite
      favoritedDate = write.favoritedDate
    }
    var fields: [Field] = []
    var held = (below?.fields ?? [])[...]
    for write in pending.fields {
      let name = write.field.name
      while let field = held.first, field.name.utf8.lexicographicallyPrecedes(name.utf8) {
        fields.append(held.removeFirst())
      }
      if let position = base.position(ofField: name, of: id, in: library), position > write.position {
        continue
      }
      if let field = held.first, field.name.utf8.elementsEqual(name.utf8) { held.removeFirst() }
      if !write.field.value.isNull { fields.append(Field(name: name, value: write.field.value)) }
    }
    fields += held
    return ItemState(id: id, isFavorite: isFavorite, favoritedDate: favoritedDate, fields: fields)
  }
}
