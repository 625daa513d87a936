import HeartlogFormat

#if DEBUG
  import Synchronization
#endif

/// The writes of commits that are not yet published: a thin overlay that a writer reads through, so
/// that its second operation on an item sees its first.
///
/// Only the written registers are stored, each with its position in the total order, so that reads are
/// correct over a base that has applied other replicas' commits meanwhile.
package struct WriteOverlay: Sendable {
  struct Membership: PendingWrite, Sendable {
    let isFavorite: Bool
    let favoritedDate: Milliseconds
    let position: EventPosition

    var value: Conflict.Value { .comparable(isFavorite: isFavorite, favoritedDate: favoritedDate) }
  }

  fileprivate struct Item: Sendable {
    let library: String
    let id: String
    let hash: Int
    var membership: Membership?
    var fields = OverlayFields()

    mutating func merge(_ other: Item) {
      assert(
        id.hasSameBytes(as: other.id) && library.hasSameBytes(as: other.library),
        "writes to one item are merged")
      membership = .later(membership, other.membership)
      fields.take(other.fields)
    }
  }

  /// The writes of two overlays to one item.
  struct Written {
    fileprivate let mine: Item?
    fileprivate let other: Item?

    var membership: Membership? { .later(mine?.membership, other?.membership) }

    /// Sorted by the bytes of their names.
    fileprivate var fields: [OverlayFields.Write] {
      var both = mine?.fields ?? OverlayFields()
      if let other { both.take(other.fields) }
      return both.sorted
    }

    /// The later write to a field. No other pending write is accessed.
    subscript(name: String) -> OverlayFields.Write? { .later(mine?.fields[name], other?.fields[name]) }
  }

  private var items: [Item] = []
  /// Open addressing over `items`: a power of two of slots, at most half of them used; -1 is free.
  private var slots: [Int32] = []

  /// Creates an overlay that changes nothing.
  package init() {}

  /// Whether it changes nothing.
  package var isEmpty: Bool { items.isEmpty }

  /// The number of items it writes to.
  package var itemCount: Int { items.count }

  /// Applies an event of a commit that is in progress.
  package mutating func apply(_ event: Event, at position: EventPosition, wallTime: Milliseconds) {
    guard event.action.isFavorite != nil || !event.fields.isEmpty else { return }
    let index = intern(event.item, in: event.library)
    assert(items[index].id.hasSameBytes(as: event.item), "an item is found by its own id")
    if let isFavorite = event.action.isFavorite {
      items[index].membership = .later(
        items[index].membership,
        Membership(
          isFavorite: isFavorite, favoritedDate: event.favoritedDate ?? wallTime, position: position))
    }
    if items[index].fields.writes.isEmpty {
      items[index].fields = OverlayFields(event.fields, at: position)
    } else {
      for field in event.fields { items[index].fields.take(.init(field: field, position: position)) }
    }
  }

  /// Applies the events of a commit.
  package mutating func apply(_ commit: Commit) {
    var index = 0
    commit.contents.forEach { record in
      let id = commit.eventID(at: index)
      index += 1
      guard case .event(let event) = record else { return }
      apply(
        event, at: EventPosition(stamp: commit.stamp, replica: id.replica, sequence: id.sequence),
        wallTime: commit.wallTime)
    }
  }

  /// Merges another overlay; if both wrote a register, the later write is kept.
  package mutating func merge(_ other: WriteOverlay) {
    guard !isEmpty else {
      self = other
      return
    }
    for item in other.items { items[intern(item.id, in: item.library)].merge(item) }
  }

  /// Removes all writes and keeps the memory.
  package mutating func removeAll() {
    guard !items.isEmpty else { return }
    items.removeAll(keepingCapacity: true)
    for slot in slots.indices { slots[slot] = -1 }
  }

  /// The ids of a library's items that were written to, in no particular order.
  package func ids(in library: String) -> [String] {
    items.lazy.filter { $0.library.hasSameBytes(as: library) }.map(\.id)
  }

  /// The last write of every register, sorted as `RegisterWrite.precedes` says.
  package var registers: [RegisterWrite] {
    // Indices, because moving items counts references.
    let sorted = items.indices.sorted { a, b in
      items[a].library.hasSameBytes(as: items[b].library)
        ? items[a].id.bytesPrecede(items[b].id) : items[a].library.bytesPrecede(items[b].library)
    }
    var found: [RegisterWrite] = []
    for index in sorted {
      let item = items[index]
      func append(
        _ register: Conflict.Register, _ position: EventPosition, _ value: Conflict.Value, _ isQuiet: Bool
      ) {
        found.append(
          RegisterWrite(
            library: item.library, item: item.id, register: register,
            write: Conflict.Write(position: position, value: value), isQuiet: isQuiet))
      }
      if let write = item.membership { append(.membership, write.position, write.value, false) }
      for write in item.fields.sorted {
        append(.field(write.field.name), write.position, .field(write.field.value), write.field.isQuiet)
      }
    }
    return found
  }

  // MARK: - Reading through

  /// An item as it will be once the pending writes and those of `draft` are published; nil if it was never written to.
  package func item(
    _ id: String, in library: String, over base: FavoritesState, under draft: WriteOverlay = WriteOverlay()
  ) -> ItemState? {
    let below = base.item(id, in: library)
    guard let pending = written(id, in: library, under: draft) else { return below }

    var isFavorite = below?.isFavorite ?? false
    var favoritedMoment = below?.favoritedMoment
    if let write = pending.membership,
      write.isLater(than: base.membershipPosition(of: id, in: library))
    {
      isFavorite = write.isFavorite
      favoritedMoment = FavoritedMoment(date: write.favoritedDate, position: write.position)
    }
    var fields: [Field] = []
    var held = Array(below?.fields ?? [])[...]
    for write in pending.fields {
      let name = write.field.name
      while let field = held.first, field.name.bytesPrecede(name) { fields.append(held.removeFirst()) }
      guard write.isLater(than: base.position(ofField: name, of: id, in: library)) else { continue }
      if let field = held.first, field.name.hasSameBytes(as: name) { held.removeFirst() }
      if !write.field.value.isNull { fields.append(Field(name: name, value: write.field.value)) }
    }
    fields += held
    return ItemState(
      id: id, isFavorite: isFavorite, favoritedMoment: favoritedMoment, fields: ItemFields(fields))
  }

  /// Whether an item will be a favorite once the pending writes and those of `draft` are published.
  package func isFavorite(
    _ id: String, in library: String, over base: FavoritesState, under draft: WriteOverlay
  ) -> Bool {
    guard let write = written(id, in: library, under: draft)?.membership,
      write.isLater(than: base.membershipPosition(of: id, in: library))
    else { return base.isFavorite(id, in: library) }
    return write.isFavorite
  }

  /// The writes to an item, here and in `draft`; nil if there are none.
  func written(_ id: String, in library: String, under draft: WriteOverlay) -> Written? {
    guard !isEmpty || !draft.isEmpty else { return nil }
    let mine = find(id, in: library).map { items[$0] }
    let other = draft.find(id, in: library).map { draft.items[$0] }
    return mine == nil && other == nil ? nil : Written(mine: mine, other: other)
  }

  // MARK: - The table

  /// Random, so that chosen ids cannot be made to collide.
  private static let seed = UInt64.random(in: .min ... .max)

  private static func hash(_ id: String, in library: String) -> Int {
    var hash = seed
    library.withUTF8Bytes { $0.hashed(into: &hash) }
    id.withUTF8Bytes { $0.hashed(into: &hash) }
    return Int(truncatingIfNeeded: hash)
  }

  private func find(_ id: String, in library: String) -> Int? {
    guard !items.isEmpty else { return nil }
    let found = slots[slot(of: id, in: library, hash: Self.hash(id, in: library))]
    return found < 0 ? nil : Int(found)
  }

  private mutating func intern(_ id: String, in library: String) -> Int {
    if (items.count + 1) * 2 > slots.count { grow() }
    let hash = Self.hash(id, in: library)
    let slot = slot(of: id, in: library, hash: hash)
    if slots[slot] >= 0 { return Int(slots[slot]) }
    slots[slot] = Int32(items.count)
    items.append(Item(library: library, id: id, hash: hash))
    assert(items.count * 2 <= slots.count, "a search soon reaches a free slot")
    return items.count - 1
  }

  /// The slot of the item, or the free slot where it would be inserted.
  private func slot(of id: String, in library: String, hash: Int) -> Int {
    assert(slots.count.nonzeroBitCount == 1 && items.count < slots.count, "a search reaches a free slot")
    let mask = slots.count - 1
    var slot = hash & mask
    while slots[slot] >= 0 {
      // A copy of the item would count references.
      let index = Int(slots[slot])
      if items[index].hash == hash, items[index].id.hasSameBytes(as: id),
        items[index].library.hasSameBytes(as: library)
      {
        break
      }
      slot = (slot + 1) & mask
    }
    return slot
  }

  private mutating func grow() {
    let mask = max(16, slots.count * 2) - 1
    slots = [Int32](repeating: -1, count: mask + 1)
    for (index, item) in items.enumerated() {
      var slot = item.hash & mask
      while slots[slot] >= 0 { slot = (slot + 1) & mask }
      slots[slot] = Int32(index)
    }
  }
}

/// A write to a register that is not yet published.
protocol PendingWrite {
  var position: EventPosition { get }
}

extension PendingWrite {
  /// The later of two writes to one register, which wins.
  static func later(_ a: Self?, _ b: Self?) -> Self? {
    guard let a, let b else { return a ?? b }
    return b.isLater(than: a.position) ? b : a
  }

  /// Whether it wins over a write at a position; nil means a register that was never written.
  func isLater(than position: EventPosition?) -> Bool { position.map { $0 < self.position } ?? true }
}

/// The fields of one item that are written and not yet published, each with its position in the total order.
struct OverlayFields: Sendable {
  struct Write: PendingWrite, Sendable {
    let field: Field
    let position: EventPosition
  }

  /// Up to this many are compared one by one; with more, their indices are looked up, so that a commit that writes many fields of one item
  /// takes time proportional to their number.
  private static let comparedMax = 64

  /// In the order in which they were first written, one per name.
  private(set) var writes: [Write] = []
  /// Used if there are more than `comparedMax`.
  private var indices: [UTF8Key: Int] = [:]

  /// - Parameter fields: no two of them have the same name.
  init(_ fields: [Field], at position: EventPosition) {
    assert(Set(fields.map { UTF8Key($0.name) }).count == fields.count, "a field is written once")
    writes = fields.map { Write(field: $0, position: position) }
    if writes.count > Self.comparedMax { findIndices() }
  }

  init() {}

  /// The write to a field.
  subscript(name: String) -> Write? { index(of: name).map { writes[$0] } }

  /// Adds a write; of two to one field the later one is kept.
  mutating func take(_ new: Write) {
    let name = new.field.name
    if let index = index(of: name) {
      if new.isLater(than: writes[index].position) { writes[index] = new }
      return
    }
    writes.append(new)
    switch writes.count {
    case ...Self.comparedMax: break
    case Self.comparedMax + 1: findIndices()
    default: indices[UTF8Key(name)] = writes.count - 1
    }
    assert(writes.count <= Self.comparedMax || indices.count == writes.count, "each field has one write")
  }

  mutating func take(_ others: OverlayFields) {
    if writes.isEmpty { return self = others }
    for write in others.writes { take(write) }
  }

  /// Sorted by the bytes of their names.
  var sorted: [Write] {
    FieldVisits.note(writes.count)
    return writes.sorted { $0.field.name.bytesPrecede($1.field.name) }
  }

  private func index(of name: String) -> Int? {
    guard writes.count <= Self.comparedMax else {
      FieldVisits.note(1)
      return indices[UTF8Key(name)]
    }
    FieldVisits.note(writes.count)
    return writes.firstIndex { $0.field.name.hasSameBytes(as: name) }
  }

  private mutating func findIndices() {
    FieldVisits.note(writes.count)
    indices.reserveCapacity(writes.count)
    for (index, write) in writes.enumerated() { indices[UTF8Key(write.field.name)] = index }
  }
}

/// The number of pending fields accessed: debug builds count them for tests, which check a bound on the work.
enum FieldVisits {
  #if DEBUG
    final class Counter: Sendable {
      private let visits = Atomic<Int>(0)

      var count: Int { visits.load(ordering: .relaxed) }

      fileprivate func add(_ count: Int) { visits.add(count, ordering: .relaxed) }
    }

    @TaskLocal static var counter: Counter?
  #endif

  @inline(__always)
  static func note(_ count: Int) {
    #if DEBUG
      counter?.add(count)
    #endif
  }
}
