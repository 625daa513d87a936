import HeartlogEngine

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Change {
  /// When it was written, by the clock of the device that wrote it.
  public var date: Date { Date(milliseconds: wallTime) }
}

extension FavoritesLibrary {
  /// All that was ever done to an item, on any device, the earliest first. What was erased is left out.
  ///
  /// It reads the log, so do not call it while a user waits for a tap.
  ///
  /// - Throws: `inputOutput` if a file cannot be read.
  public func history(of id: String) throws(HeartlogError) -> [Change] {
    try heartlogErrors { try store.readLog().changes(of: id, in: name) }
  }
}

extension Favorites {
  /// All that was ever done to an item, on any device, the earliest first. What was erased is left out.
  ///
  /// It reads the log, so do not call it while a user waits for a tap; in a task, await it in `store.run { }`.
  ///
  /// - Throws: `inputOutput` if a file cannot be read.
  public func history(of id: Item.ID) throws(HeartlogError) -> [Change] {
    try library.history(of: id.favoriteID)
  }
}

/// All writes of one item, by register: what each register shows, where that came from, and what it overrode.
package struct ItemHistory: Sendable {
  /// An event as the writer of one register.
  package struct Write: Sendable {
    /// The event with its stamp.
    package let position: EventPosition
    /// Its commit.
    package let commit: CommitNumber
    /// The wall time of the device that wrote it.
    package let wallTime: Milliseconds
    /// What wrote it: `cli`, or an app's name; nil if the commit names nothing.
    package let origin: String?
    /// What it wrote.
    package let value: Conflict.Value
    /// Whether it never opens a conflict.
    package let isQuiet: Bool

    package var event: EventID { EventID(replica: position.replica, sequence: position.sequence) }

    /// Whether two writes could be the sides of a conflict: neither is quiet, and they say different things.
    fileprivate func contradicts(_ other: Write) -> Bool {
      guard !isQuiet, !other.isQuiet else { return false }
      if case (.membership(let isFavorite, _), .membership(let other, _)) = (value, other.value) {
        return isFavorite != other
      }
      return value != other.value
    }
  }

  /// The membership or a field of the item.
  package struct Register: Sendable {
    /// Which of them.
    package let register: Conflict.Register
    /// At least one write, in the total order. The last one is shown.
    package fileprivate(set) var writes: [Write]
    /// Indices into `writes`, ascending: the writes that no other one supersedes. The last of them is the last write.
    package fileprivate(set) var kept: [Int] = []
    /// By the index of a lost write, the index of the write that it lost to: the first later one that says something else, by a writer who
    /// had not seen it, if no writer before had seen it.
    package fileprivate(set) var losses: [Int: Int] = [:]

    /// The write that is shown.
    package var shown: Write { writes[writes.count - 1] }

    /// The write before the one that is shown, in the total order; nil if there is none.
    package var overridden: Write? { writes.dropLast().last }

    /// The writes that the shown one won against without having seen them, and that nothing superseded since; the last one first.
    package var rivals: [Write] { kept.dropLast().reversed().map { writes[$0] } }

    /// The sides of the open conflict, the shown one first; empty if there is none.
    package var sides: [Write] {
      let open = kept.reversed().map { writes[$0] }.filter { !$0.isQuiet }
      guard let first = open.first, open.contains(where: { $0.contradicts(first) }) else { return [] }
      return open
    }
  }

  /// The membership first if it was ever written, then the fields, sorted by the bytes of their names.
  package private(set) var registers: [Register] = []

  /// Reads the history of an item from a log, up to its current end.
  ///
  /// - Parameters:
  ///   - id: the item.
  ///   - library: the item's library.
  ///   - log: a log from its beginning.
  ///   - store: the store of the log. It is brought up to date.
  package init(of id: String, in library: String, from log: LogReader, of store: FavoritesStore) throws {
    for change in try log.changes(of: id, in: library) { take(change) }
    registers.sort { a, b in
      switch (a.register, b.register) {
      case (.membership, .field): true
      case (.field(let a), .field(let b)): a.bytesPrecede(b)
      default: false
      }
    }
    try store.refresh()
    var order = store.read(\.replicas)
    for index in registers.indices { Self.compare(&registers[index], by: &order) }
  }

  private mutating func take(_ change: Change) {
    let event = change.event
    let position = EventPosition(
      stamp: change.stamp, replica: change.id.replica, sequence: change.id.sequence)
    func write(_ value: Conflict.Value, isQuiet: Bool) -> Write {
      Write(
        position: position, commit: change.commit, wallTime: change.wallTime, origin: change.origin,
        value: value, isQuiet: isQuiet)
    }
    if let isFavorite = event.action.isFavorite {
      let date = event.favoritedDate ?? change.wallTime
      add(write(.membership(isFavorite: isFavorite, favoritedDate: date), isQuiet: false), to: .membership)
    }
    for field in event.fields {
      add(write(.field(field.value), isQuiet: field.isQuiet), to: .field(field.name))
    }
  }

  private mutating func add(_ write: Write, to register: Conflict.Register) {
    if let index = registers.firstIndex(where: { $0.register == register }) {
      registers[index].writes.append(write)
    } else {
      registers.append(Register(register: register, writes: [write]))
    }
  }

  private static func compare(_ register: inout Register, by order: inout ReplicaTable) {
    let writes = register.writes
    for (index, write) in writes.enumerated() {
      register.kept.removeAll { order.supersedes(write.position, writes[$0].position) }
      register.kept.append(index)
      for later in writes.indices[(index + 1)...] {
        if order.supersedes(writes[later].position, write.position) { break }
        guard writes[later].contradicts(write) else { continue }
        register.losses[index] = later
        break
      }
    }
  }
}

extension ItemHistory {
  /// What became of the writes of one event.
  package struct Fate: Sendable {
    /// A register that the event wrote.
    package let register: Conflict.Register
    /// The other sides of the open conflict that its write is a side of; empty if there is none.
    package let opponents: [EventID]
    /// Whether its write is the one that is shown.
    package let isShown: Bool
    /// The event that its write lost to; nil if it did not lose.
    package let lostTo: EventID?
  }

  /// The registers in which an event is a side of an open conflict, or lost.
  package func fates(of event: EventID) -> [Fate] {
    registers.compactMap { register in
      guard let index = register.writes.firstIndex(where: { $0.event == event }) else { return nil }
      let sides = register.sides.map(\.event)
      let fate = Fate(
        register: register.register, opponents: sides.contains(event) ? sides.filter { $0 != event } : [],
        isShown: index == register.writes.count - 1,
        lostTo: register.losses[index].map { register.writes[$0].event })
      return fate.opponents.isEmpty && fate.lostTo == nil ? nil : fate
    }
  }
}
