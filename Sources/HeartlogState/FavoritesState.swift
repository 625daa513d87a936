import HeartlogEvents

/// What is true now: the projection of every commit that was applied.
///
/// Own writes, replay and other devices' commits all come through `apply(_:)`, which is commutative, idempotent
/// and associative: the same commits leave the same state, in whatever order and however often they came.
///
/// It is a value. Copies share their storage until one of them is written to, which then copies what it
/// changes: the registers of a library as a whole.
public struct FavoritesState: Sendable {
  var replicas = ReplicaTable()
  var fieldNames = FieldNames()
  var libraryNames = InternTable<Key>()
  /// By library slot.
  var tables: [ItemTable] = []
  /// The library of the last event or look-up; 0 before the first.
  var lastLibrary: Int32 = 0
  /// Where the item is that was planned last: a hint.
  var planned: (table: Int, slot: Int)?
  /// Events applied, of all replicas: withheld and unknown ones count.
  public private(set) var eventCount: UInt64 = 0
  /// Commits applied, of all replicas.
  public private(set) var commitCount: UInt64 = 0
  /// The highest stamp seen; 0 before the first commit.
  public private(set) var lastStamp = HybridTimestamp(rawValue: 0)

  /// What the state was read from, as far as it was not written to since.
  var snapshot: SnapshotSource?
  /// All of the snapshot was checked.
  var isLoaded = false
  /// What copies of a state with a snapshot have in common.
  var share: Share?

  final class Share: Sendable {}

  /// The count of changed items that is under way, or the last one.
  private var countings: UInt32 = 0
  private var countsChanges = false

  /// The state before the first commit: nothing is a favorite.
  public init() {}

  mutating func setCounts(events: UInt64, commits: UInt64, lastStamp: HybridTimestamp) {
    eventCount = events
    commitCount = commits
    self.lastStamp = lastStamp
  }

  /// Counts the items of which `body` changes what any register holds.
  package mutating func countingChanges(_ body: (inout FavoritesState) -> Void) -> Int {
    // 0 stands for none. An item that was last counted four billion counts ago may be missed in one.
    countings = countings == .max ? 1 : countings + 1
    countsChanges = true
    for index in tables.indices { tables[index].beginCountingChanges(countings) }
    body(&self)
    countsChanges = false
    var count = 0
    for index in tables.indices { count += tables[index].endCountingChanges() }
    return count
  }

  /// Applies a commit, which may come at any time: before those that precede it in its stream, and again.
  ///
  /// Fields are applied whatever the action, for a state follows the event. A record whose content is withheld
  /// or unknown counts as an event of its stream and changes nothing.
  ///
  /// - Returns: false where it was applied before.
  @discardableResult
  package mutating func apply(_ commit: Commit) -> Bool {
    guard let replica = begin(commit) else { return false }
    var position = WritePosition(
      stamp: commit.stamp.rawValue, sequence: commit.firstSequence.rawValue, replica: replica)
    switch commit.contents {
    case .one(let single): apply(single.record, at: position, wallTime: commit.wallTime)
    case .several(let records):
      for record in records {
        apply(record, at: position, wallTime: commit.wallTime)
        position.sequence += 1
      }
    }
    return true
  }

  private mutating func apply(_ record: EventRecord, at position: WritePosition, wallTime: Milliseconds) {
    switch record {
    case .event(let event): apply(event, at: position, wallTime: wallTime)
    case .withheld, .unknown: break
    }
  }

  private mutating func apply(_ event: Event, at position: WritePosition, wallTime: Milliseconds) {
    let library = event.library.withBytes { intern(library: $0) }
    let item = event.item.withBytes { internPlanned(item: $0, in: library) }
    countEvents(1, in: library)
    if let isFavorite = event.action.isFavorite {
      writeMembership(
        of: item, in: library, isFavorite: isFavorite, favoritedDate: event.favoritedDate ?? wallTime,
        at: position)
    }
    for field in event.fields {
      let name = field.name.withBytes { intern(fieldName: $0) }
      field.value.withBorrowed {
        writeField(name, of: item, in: library, value: $0, isQuiet: field.isQuiet, at: position)
      }
    }
  }
}

// The one way in: `apply` takes a commit event by event, and a block column by column.
extension FavoritesState {
  /// Takes note of a commit; nil where it was applied before, and then nothing of it may be written.
  mutating func begin(_ commit: Commit) -> ReplicaSlot? {
    let slot = replicas.intern(commit.replica)
    let isNew = begin(
      commit.number, of: slot, stamp: commit.stamp, firstSequence: commit.firstSequence,
      eventCount: commit.eventCount, heads: commit.heads)
    return isNew ? slot : nil
  }

  /// Takes note of a commit; false where it was applied before, and then nothing of it may be written.
  mutating func begin(
    _ number: CommitNumber, of replica: ReplicaSlot, stamp: HybridTimestamp,
    firstSequence: SequenceNumber, eventCount count: Int, heads: [Head]
  ) -> Bool {
    let isNew = replicas.note(
      number, of: replica, stamp: stamp, firstSequence: firstSequence, eventCount: count)
    guard isNew else { return false }
    if !heads.isEmpty { replicas.note(heads, seenBy: number, of: replica) }
    commitCount &+= 1
    eventCount &+= UInt64(count)
    lastStamp = max(lastStamp, stamp)
    return true
  }

  /// Counts commits that were noted together.
  mutating func noteRun(commits: Int, events: Int, lastStamp: HybridTimestamp) {
    commitCount &+= UInt64(commits)
    eventCount &+= UInt64(events)
    self.lastStamp = max(self.lastStamp, lastStamp)
  }

  mutating func intern(library name: UnsafeRawBufferPointer) -> LibrarySlot {
    if isLastLibrary(name) { return LibrarySlot(index: lastLibrary) }
    let number = libraryNames.intern(name)
    lastLibrary = number
    if Int(number) == tables.count {
      tables.append(ItemTable())
      if countsChanges { tables[Int(number)].beginCountingChanges(countings) }
    }
    return LibrarySlot(index: number)
  }

  /// Mostly the library is the one that the last event was of.
  @inline(__always)
  func isLastLibrary(_ name: UnsafeRawBufferPointer) -> Bool {
    Int(lastLibrary) < tables.count && libraryNames.withBytes(of: lastLibrary) { $0.hasSameBytes(as: name) }
  }

  /// `intern` of an item that most likely is the one that was planned last: one record is looked at instead of a table.
  private mutating func internPlanned(
    item id: UnsafeRawBufferPointer, in library: LibrarySlot
  ) -> ItemSlot {
    if let planned, planned.table == Int(library.index), id.count <= Key.inlineBytesMax,
      tables[planned.table].ids.finder.records.read(planned.slot).pointee.key == Key(id)
    {
      return ItemSlot(index: Int32(planned.slot))
    }
    return intern(item: id, in: library)
  }

  mutating func intern(item id: UnsafeRawBufferPointer, in library: LibrarySlot) -> ItemSlot {
    tables[Int(library.index)].intern(id)
  }

  mutating func intern(fieldName name: UnsafeRawBufferPointer) -> FieldNameSlot {
    fieldNames.intern(name)
  }

  /// Counts events that name a library, once each.
  mutating func countEvents(_ count: UInt64, in library: LibrarySlot) {
    tables[Int(library.index)].eventCount &+= count
  }

  /// Writes a membership register, unless a later write is there.
  mutating func writeMembership(
    of item: ItemSlot, in library: LibrarySlot, isFavorite: Bool, favoritedDate: Milliseconds,
    at position: WritePosition
  ) {
    tables[Int(library.index)].writeMembership(
      item, isFavorite: isFavorite, favoritedDate: favoritedDate, at: position, order: &replicas)
  }

  /// Writes a field register, unless a later write is there.
  mutating func writeField(
    _ name: FieldNameSlot, of item: ItemSlot, in library: LibrarySlot, value: BorrowedValue, isQuiet: Bool,
    at position: WritePosition
  ) {
    tables[Int(library.index)].writeField(
      item, name: name, value: value, isQuiet: isQuiet, at: position, order: &replicas)
  }
}
