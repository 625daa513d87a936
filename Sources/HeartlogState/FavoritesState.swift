import HeartlogFormat

/// The current state: the projection of every applied commit.
///
/// Own writes, replay and other devices' commits are all applied by `apply(_:)`, which is commutative, idempotent
/// and associative: the same commits produce the same state, in any order and any number of times.
///
/// A value type. Copies share their storage until one of them is written to, which then copies what it
/// changes: the registers of a library as a whole.
public struct FavoritesState: Sendable {
  package internal(set) var replicas = ReplicaTable()
  var fieldNames = FieldNames()
  var libraryNames = InternTable<Key>()
  /// Indexed by library slot.
  var tables: [ItemTable] = []
  /// The library of the last event or lookup. Most are of the same library as the one before.
  var lastLibrary = LastLibrary()
  /// The last planned item, which is usually the next one written: its key, where it can be compared without reading the item.
  var planned: (table: Int, item: ItemSlot, key: Key)?
  /// The number of events applied, of all replicas, including withheld and unknown ones.
  public internal(set) var eventCount: UInt64 = 0
  /// The number of commits applied, of all replicas.
  package internal(set) var commitCount: UInt64 = 0
  /// The highest stamp seen; 0 before the first commit.
  package internal(set) var lastStamp = HybridTimestamp(rawValue: 0)

  /// The applied commits that erase.
  package internal(set) var erasingCommits: [ErasingCommit] = []
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
  package init() { self.init(erasedGeneration: 0) }

  /// The state before the first commit of a log with this generation of its list of erased events.
  package init(erasedGeneration: UInt64) { self.erasedGeneration = erasedGeneration }

  /// Counts the items for which `body` changes the contents of any register.
  package mutating func countingChanges(_ body: (inout FavoritesState) -> Void) -> Int {
    assert(!countsChanges, "one count is in progress at a time")
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
    let replica = replicas.intern(commit.replica)
    guard begin(commit.header, heads: commit.heads, of: replica) else { return false }
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

  /// Records what a commit erases, if anything.
  mutating func noteErasing(_ commit: Commit) {
    if let erasing = ErasingCommit(commit) { erasingCommits.append(erasing) }
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
    return tables[Int(library.index)].intern(id)
  }

  /// Applies commits from their rows, as `apply` of each does, without creating any of them.
  ///
  /// - Returns: the indices of those that had been applied before.
  @discardableResult
  package mutating func apply(_ rows: [CommitRow]) -> [Int] {
    let found = firstItems(of: rows)
    if let replica = beginRun(rows) {
      for (index, row) in rows.enumerated() { write(row, found[index], by: replica) }
      return []
    }
    var known: [Int] = []
    for (index, row) in rows.enumerated() {
      let replica = replicas.intern(row.header.replica)
      if begin(row.header, heads: row.heads, of: replica) {
        write(row, found[index], by: replica)
      } else {
        known.append(index)
      }
    }
    return known
  }

  /// Records all of the commits at once, if they follow each other and have seen nothing new; nil if they must be recorded one after
  /// the other.
  private mutating func beginRun(_ rows: [CommitRow]) -> ReplicaSlot? {
    guard let first = rows.first?.header else { return nil }
    var stream = StreamContinuity(
      replica: first.replica, next: first.number, nextSequence: first.firstSequence)
    var eventStarts: [Int32] = [0]
    eventStarts.reserveCapacity(rows.count + 1)
    var events: Int32 = 0
    for row in rows {
      guard !row.hasHeads, (try? stream.extend(by: row.header)) != nil else { return nil }
      events += Int32(row.header.eventCount)
      eventStarts.append(events)
    }
    let replica = replicas.intern(first.replica)
    let isNoted = beginRun(
      from: first.number, first.firstSequence, of: replica, lastStamp: stream.lastStamp, eventStarts[...])
    return isNoted ? replica : nil
  }

  /// Records commits of a stream that follow each other and have seen nothing new; false if they are not next.
  ///
  /// - Parameter eventStarts: the index of the first event of each commit, followed by the end of the last commit. A slice, because before
  ///   macOS 26 an array has no span of its own.
  private mutating func beginRun(
    from number: CommitNumber, _ sequence: SequenceNumber, of replica: ReplicaSlot,
    lastStamp: HybridTimestamp, _ eventStarts: ArraySlice<Int32>
  ) -> Bool {
    let starts = eventStarts.span
    guard
      replicas.note(
        from: number, of: replica, lastStamp: lastStamp, firstSequence: sequence, eventStarts: starts)
    else { return false }
    let (commits, events) = (starts.count - 1, Int(starts[starts.count - 1] - starts[0]))
    assert(commits > 0 && events >= commits, "each commit has an event")
    commitCount &+= UInt64(commits)
    eventCount &+= UInt64(events)
    self.lastStamp = max(self.lastStamp, lastStamp)
    return true
  }

  /// The position of the item of a commit's first event; nothing if it is absent.
  private struct FoundItem {
    var library = LibrarySlot(index: -1)
    var item: Int32 = -1
  }

  /// Looks up several items at a time, so that the processor waits for several memory addresses at once.
  private func firstItems(of rows: [CommitRow]) -> [FoundItem] {
    var found: [FoundItem] = []
    found.reserveCapacity(rows.count)
    var library = LibrarySlot(index: -1)
    var name = UnsafeRawBufferPointer(start: nil, count: 0)
    var finder: InternTable<ItemRecord>.Finder?
    let soughtTogether = InternTable<ItemRecord>.soughtTogether
    withUnsafeTemporaryAllocation(
      of: (finder: InternTable<ItemRecord>.Finder, sought: InternTable<ItemRecord>.Probe)?.self,
      capacity: soughtTogether
    ) { sought in
      while found.count < rows.count {
        let first = found.count
        let count = min(soughtTogether, rows.count - first)
        for index in 0..<count {
          var events = rows[first + index].events
          let event = events.next()
          if finder == nil || !event.library.hasSameBytes(as: name) {
            name = event.library
            library = LibrarySlot(index: libraryNames.find(name) ?? -1)
            finder = library.index < 0 ? nil : tables[Int(library.index)].ids.finder
          }
          found.append(FoundItem(library: library))
          sought.initializeElement(at: index, to: finder.map { ($0, $0.seek(event.item)) })
        }
        for index in 0..<count { if let (finder, sought) = sought[index] { finder.seekRecord(sought) } }
        for index in 0..<count {
          if let (finder, sought) = sought[index] { found[first + index].item = finder.find(sought) ?? -1 }
        }
      }
    }
    return found
  }

  /// - Parameter found: the position of the first event's item before any of the rows.
  private mutating func write(_ row: CommitRow, _ found: FoundItem, by replica: ReplicaSlot) {
    var position = WritePosition(
      stamp: row.header.stamp.rawValue, sequence: row.header.firstSequence.rawValue, replica: replica)
    var events = row.events
    var hasOnlyEvents = true
    for index in 0..<row.header.eventCount {
      let event = events.next()
      if event.header.isEvent {
        let isFound = index == 0 && found.item >= 0
        apply(
          event, at: position, wallTime: row.header.wallTime,
          found: isFound ? (found.library, ItemSlot(index: found.item)) : nil)
      } else {
        hasOnlyEvents = false
      }
      position.sequence += 1
    }
    if !hasOnlyEvents { noteErasing(row.commit()) }
  }

  /// Applies the commits of a block, as `apply` does one after the other, without creating any of them.
  ///
  /// - Returns: the number of commits that had not been applied before.
  @discardableResult
  package mutating func apply(_ block: ColumnBlock) -> Int {
    var new: [ClosedRange<CommitNumber>] = []
    apply(block, new: &new)
    return new.reduce(0) { $0 + Int($1.upperBound.rawValue - $1.lowerBound.rawValue) + 1 }
  }

  /// Applies the commits of a block.
  ///
  /// All commits are recorded first. Then their events are written, with each library and item looked up once: two short loops
  /// are faster than one that does both, and the result of a write does not depend on which later commits are known.
  ///
  /// - Parameter new: receives the commits that had not been applied before.
  package mutating func apply(_ block: ColumnBlock, new: inout [ClosedRange<CommitNumber>]) {
    let replica = replicas.intern(block.replica)
    let runs = begin(block, of: replica)
    guard !runs.isEmpty else { return }
    var player = BlockApplier(block, by: replica)
    for run in runs {
      player.play(run, on: &self)
      let first = block.number(at: run.lowerBound)
      let last = block.number(at: run.upperBound - 1)
      if let before = new.last, before.upperBound.next == first {
        new[new.count - 1] = before.lowerBound...last
      } else {
        new.append(first...last)
      }
      if block.columns.hasUnknownEvents {
        for commit in block.cut(to: first...last).commits() { noteErasing(commit) }
      }
    }
  }

  /// Records the commits of a block. Returns the indices of those that had not been applied before.
  private mutating func begin(_ block: ColumnBlock, of replica: ReplicaSlot) -> [Range<Int>] {
    let commits = block.columns.commits
    var number = block.firstCommit
    var sequence = block.firstSequence.rawValue
    var runs: [Range<Int>] = []
    let indices = block.commitIndices
    var firstNew = indices.lowerBound
    var nextHeads = commits.heads.firstIndex(from: indices.lowerBound)
    var indexOfHeads = commits.heads.commitIndex(at: nextHeads)
    var index = indices.lowerBound
    while index < indices.upperBound {
      // Up to the next commit that has seen something new, all can be recorded at once.
      let quiet = index..<(indexOfHeads < 0 ? indices.upperBound : min(indexOfHeads, indices.upperBound))
      if !quiet.isEmpty,
        beginRun(
          from: number, SequenceNumber(rawValue: sequence), of: replica,
          lastStamp: commits.stamps[quiet.upperBound - 1],
          commits.eventStarts[quiet.lowerBound...quiet.upperBound])
      {
        number = CommitNumber(rawValue: number.rawValue + UInt64(quiet.count))
        sequence += UInt64(commits.eventCount(in: quiet))
        index = quiet.upperBound
        continue
      }
      var heads: [Head] = []
      if index == indexOfHeads {
        heads = commits.heads.values[nextHeads]
        nextHeads += 1
        indexOfHeads = commits.heads.commitIndex(at: nextHeads)
      }
      let commit = block.header(at: index)
      let isNew = begin(commit, heads: heads, of: replica)
      number = number.next
      sequence += UInt64(commit.eventCount)
      if !isNew {
        if firstNew < index { runs.append(firstNew..<index) }
        firstNew = index + 1
      }
      index += 1
    }
    if firstNew < indices.upperBound { runs.append(firstNew..<indices.upperBound) }
    return runs
  }

  /// For each replica, its last commit before any gap, sorted by replica. A replica whose first commit is missing is left out.
  package var heads: [Head] {
    replicas.replicas.filter { $0.head > 0 }
      .map { Head(replica: $0.id, commit: CommitNumber(rawValue: $0.head)) }
      .sorted { $0.replica < $1.replica }
  }

  /// Returns a replica's last commit before any gap; nil if its first commit is missing.
  package func head(of replica: ReplicaID) -> CommitNumber? {
    guard let head = replicas.progress(of: replica)?.head, head > 0 else { return nil }
    return CommitNumber(rawValue: head)
  }

  /// Returns the number of the commit that contains an event; nil if it is not before any gap of its stream.
  package func commit(of event: EventID) -> CommitNumber? {
    guard let numbers = replicas.progress(of: event.replica)?.commitNumbers,
      event.sequence.rawValue >= 1, event.sequence.rawValue < numbers.next.sequence
    else { return nil }
    return CommitNumber(rawValue: numbers.commit(of: event.sequence.rawValue))
  }

  /// The number of applied events without content: withheld, or written by a later version. The digest does not cover them.
  package var eventsWithoutContent: UInt64 {
    // Only in a malformed snapshot do the libraries have more events than the state.
    let erasing = erasingCommits.reduce(0) { $0 &+ UInt64($1.erasures.count) }
    let withContent = tables.reduce(erasing) { $0 &+ $1.eventCount }
    return eventCount > withContent ? eventCount - withContent : 0
  }

  /// Returns the number of a replica's applied events, including withheld and unknown ones.
  package func eventCount(of replica: ReplicaID) -> UInt64 { replicas.progress(of: replica)?.eventCount ?? 0 }

  /// Returns the highest stamp of a replica's own commits; nil if none was applied.
  package func lastStamp(of replica: ReplicaID) -> HybridTimestamp? {
    replicas.progress(of: replica)?.lastStamp
  }
}
