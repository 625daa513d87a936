import HeartlogFormat

/// The current state: the projection of every applied commit.
///
/// Own writes, replay and other devices' commits are all applied by `apply(_:)`, which is commutative, idempotent
/// and associative: the same commits produce the same state, in any order and any number of times.
///
/// A value type. Copies share their storage until one of them is written to, which then copies what it
/// changes: the registers of a library as a whole.
public struct FavoritesState: Sendable {
  var replicas = ReplicaTable()
  var fieldNames = FieldNames()
  var libraryNames = InternTable<Key>()
  /// Indexed by library slot.
  var tables: [ItemTable] = []
  /// The library of the last event or lookup. Most are of the same library as the one before.
  var lastLibrary = LastLibrary()
  /// The last planned item, which is usually the next one written: its key, where it can be compared without reading the item.
  var planned: (table: Int, item: ItemSlot, key: Key)?
  /// The number of events applied, of all replicas, including withheld and unknown ones.
  public private(set) var eventCount: UInt64 = 0
  /// The number of commits applied, of all replicas.
  public private(set) var commitCount: UInt64 = 0
  /// The highest stamp seen; 0 before the first commit.
  public private(set) var lastStamp = HybridTimestamp(rawValue: 0)

  /// The applied commits that erase.
  package private(set) var erasingCommits: [ErasingCommit] = []
  /// The generation of the log's list of erased events when the state was begun. A state of another one may contain what was erased.
  package var erasedGeneration: UInt64

  /// The snapshot that the state was read from, except for the parts written to since.
  var snapshot: SnapshotSource?
  /// Whether the whole snapshot has been checked.
  var isLoaded = false
  /// Shared by all copies of a state with a snapshot.
  var share: Share?

  final class Share: Sendable {}

  /// The count of changed items that is in progress, or the last one.
  private var countings: UInt32 = 0
  private var countsChanges = false

  /// The state before the first commit: nothing is a favorite.
  public init() { self.init(erasedGeneration: 0) }

  /// The state before the first commit of a log with this generation of its list of erased events.
  package init(erasedGeneration: UInt64) { self.erasedGeneration = erasedGeneration }

  mutating func setCounts(events: UInt64, commits: UInt64, lastStamp: HybridTimestamp) {
    eventCount = events
    commitCount = commits
    self.lastStamp = lastStamp
  }

  /// Counts the items for which `body` changes the contents of any register.
  package mutating func countingChanges(_ body: (inout FavoritesState) -> Void) -> Int {
    // 0 means none. An item last counted four billion counts ago may be missed in one.
    countings = countings == .max ? 1 : countings + 1
    countsChanges = true
    for index in tables.indices { tables[index].beginCountingChanges(countings) }
    body(&self)
    countsChanges = false
    var count = 0
    for index in tables.indices { count += tables[index].endCountingChanges() }
    return count
  }

  /// Applies a commit. Commits may be applied in any order, including before their predecessors in the stream, and repeatedly.
  ///
  /// Fields are applied whatever the action, because a state follows the event. A record whose content is withheld
  /// or unknown counts as an event of its stream and changes nothing.
  ///
  /// - Returns: false if it was applied before.
  @discardableResult
  package mutating func apply(_ commit: Commit) -> Bool {
    guard let replica = begin(commit.header, heads: commit.heads) else { return false }
    var position = WritePosition(
      stamp: commit.stamp.rawValue, sequence: commit.firstSequence.rawValue, replica: replica)
    var hasOnlyEvents = true
    commit.contents.forEach { record in
      if case .event(let event) = record {
        apply(event, at: position, wallTime: commit.wallTime)
      } else {
        hasOnlyEvents = false
      }
      position.sequence += 1
    }
    if !hasOnlyEvents { noteErasing(commit) }
    return true
  }

  /// Applies an event of a commit or of a row.
  ///
  /// - Parameter found: the position of its item, if it has already been looked up.
  mutating func apply(
    _ event: some EventView, at position: WritePosition, wallTime: Milliseconds,
    found: (library: LibrarySlot, item: ItemSlot)? = nil
  ) {
    var library = LibrarySlot(index: -1)
    var item = ItemSlot(index: -1)
    if let found {
      (library, item) = found
    } else {
      event.withNames { libraryName, id in
        library = intern(library: libraryName)
        item = internPlanned(item: id, in: library)
      }
    }
    let table = Int(library.index)
    tables[table].eventCount &+= 1
    tables[table].makeOwnIfShared()
    tables[table].apply(
      event.header, to: item, favoritedDate: { event.favoritedDate ?? wallTime }, at: position,
      order: &replicas
    ) { write in
      event.forEachField { field in
        write(
          FieldWrite(name: fieldNames.intern(field.name), value: field.value, isQuiet: field.isQuiet))
      }
    }
  }
}

extension FavoritesState {
  /// Records what a commit erases, if anything.
  mutating func noteErasing(_ commit: Commit) {
    if let erasing = ErasingCommit(commit) { note(erasing) }
  }

  /// Records a commit that erases.
  mutating func note(_ erasing: ErasingCommit) { erasingCommits.append(erasing) }

  /// Records a commit; nil if it was applied before, in which case none of it may be written.
  mutating func begin(_ commit: CommitHeader, heads: [Head]) -> ReplicaSlot? {
    let slot = replicas.intern(commit.replica)
    return begin(commit, heads: heads, of: slot) ? slot : nil
  }

  /// Records a commit; false if it was applied before, in which case none of it may be written.
  mutating func begin(_ commit: CommitHeader, heads: [Head], of replica: ReplicaSlot) -> Bool {
    guard replicas.note(commit, of: replica) else { return false }
    if !heads.isEmpty { replicas.note(heads, seenBy: commit.number, of: replica) }
    commitCount &+= 1
    eventCount &+= UInt64(commit.eventCount)
    lastStamp = max(lastStamp, commit.stamp)
    return true
  }

  /// Counts commits that were recorded together.
  mutating func noteRun(commits: Int, events: Int, lastStamp: HybridTimestamp) {
    commitCount &+= UInt64(commits)
    eventCount &+= UInt64(events)
    self.lastStamp = max(self.lastStamp, lastStamp)
  }

  mutating func intern(library name: UnsafeRawBufferPointer) -> LibrarySlot {
    let key = Key(name)
    if lastLibrary.isNamed(key) { return LibrarySlot(index: lastLibrary.number) }
    let number = libraryNames.intern(name)
    lastLibrary = LastLibrary(key: key, number: number)
    if Int(number) == tables.count {
      tables.append(ItemTable())
      if countsChanges { tables[Int(number)].beginCountingChanges(countings) }
    }
    return LibrarySlot(index: number)
  }

  /// `intern` of an item that is probably the last planned one.
  private mutating func internPlanned(
    item id: UnsafeRawBufferPointer, in library: LibrarySlot
  ) -> ItemSlot {
    if let planned, planned.table == Int(library.index), planned.key == Key(id), planned.key.isInline {
      return planned.item
    }
    return intern(item: id, in: library)
  }

  mutating func intern(item id: UnsafeRawBufferPointer, in library: LibrarySlot) -> ItemSlot {
    tables[Int(library.index)].intern(id)
  }

  mutating func intern(fieldName name: UnsafeRawBufferPointer) -> FieldNameSlot {
    fieldNames.intern(name)
  }

  /// Counts events that name a library, each once.
  mutating func countEvents(_ count: UInt64, in library: LibrarySlot) {
    tables[Int(library.index)].eventCount &+= count
  }
}
