import HeartlogEngine
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A commit in progress: the events of a `write { }` closure, and what they change.
final class WriteTransaction: @unchecked Sendable {
  // Only accessed by the thread that runs the closure, as `joined` ensures. No access to `records` or `changes` runs code of the
  // app, so two accesses never overlap, and they are not checked at run time: that would take 4 percent of a batch.
  private let store: FavoritesStore
  private let thread = pthread_self()
  private var isOpen = true

  let wallTime: Milliseconds
  @exclusivity(unchecked) private(set) var records: [EventRecord] = []
  /// The bytes of the names and values in `records`.
  @exclusivity(unchecked) private var contentBytes = 0
  /// Whether a field with one of the names was written that the store fills in.
  @exclusivity(unchecked) private(set) var wroteReserved = false
  private let queued: QueuedCommits?
  /// Whether it is run outside the log, to be discarded.
  private let isDryRun: Bool
  @exclusivity(unchecked) private var changes = WriteOverlay()
  @exclusivity(unchecked) var localChanges = LocalChanges()

  @TaskLocal static var current: WriteTransaction?

  /// - Parameter queued: the commits that the transaction builds on, in addition to the published ones.
  init(_ store: FavoritesStore, over queued: QueuedCommits?, wallTime: Milliseconds, isDryRun: Bool = false) {
    self.store = store
    self.queued = queued
    self.isDryRun = isDryRun
    self.wallTime = wallTime
    store.openTransactions.add(1, ordering: .relaxed)
  }

  /// The transaction that a call on `store` belongs to, or nil outside of `write { }`.
  ///
  /// A task that was started inside the closure inherits the task-local value, but its calls are not part of the transaction.
  @inline(__always)
  static func joined(by store: FavoritesStore) -> WriteTransaction? {
    // Most lookups are made while no thread is writing, and reading a task-local value costs as much as a lookup. A thread always sees its
    // own increment.
    guard store.openTransactions.load(ordering: .relaxed) > 0 else { return nil }
    return current(of: store)
  }

  @inline(never)
  private static func current(of store: FavoritesStore) -> WriteTransaction? {
    guard let current, current.store === store, pthread_equal(current.thread, pthread_self()) != 0,
      current.isOpen
    else { return nil }
    return current
  }

  func close() {
    isOpen = false
    store.openTransactions.subtract(1, ordering: .relaxed)
  }

  /// Whether writes that may go to another commit should. Another event still fits, unless it is the 50,001st: the rest of the events'
  /// rows is far smaller than what remains to the limit of a commit.
  var isFull: Bool {
    max(records.count, localChanges.items.count) >= Limits.commitEventsMax
      || contentBytes >= Limits.commitBytesMax / 2
  }

  /// The events that were written so far.
  var events: [Event] { records.compactMap(\.event) }

  /// An item as this transaction sees it.
  func item(_ id: String, in library: String) -> ItemState? {
    store.projection.item(id, in: library, over: queued, changes)
  }

  /// Whether an item is a favorite as this transaction sees it.
  func isFavorite(_ id: String, in library: String) -> Bool {
    store.projection.isFavorite(id, in: library, over: queued, changes)
  }

  /// The write that a register shows before this transaction; nil if it was never written.
  func shownWrite(of register: Conflict.Register, of id: String, in library: String) -> Conflict.Write? {
    store.projection.shownWrites(of: [register], of: id, in: library, over: queued)[0]
  }

  /// The writes that fields of an item show in this transaction; nil for a field that was never written.
  func shownWrites(ofFields names: [String], of id: String, in library: String) -> [Conflict.Write?] {
    store.projection.shownWrites(
      of: names.map { .field($0) }, of: id, in: library, over: queued, changes)
  }

  /// The replica that writes, and the replicas whose streams have ended.
  var ownAndEndedReplicas: (own: ReplicaID, ended: Set<ReplicaID>) {
    isDryRun ? store.log.ownAndEndedReplicas : store.log.ownAndEndedReplicasOfDraft
  }

  /// All items of a library as this transaction sees them.
  func items(in library: String) -> [ItemState] {
    store.projection.items(in: library, over: queued, changes)
  }

  /// Decides what an operation writes, and writes it.
  func perform(
    _ operation: HeartlogState.Operation, on id: String, in library: LibraryKey
  ) throws(HeartlogError) -> WriteResult {
    let plan = try store.projection.plan(
      operation, on: id, in: library, over: queued, changes, wallTime: wallTime)
    guard let record = plan.record, case .event(let event) = record.record else { return plan.result }
    guard records.count < Limits.commitEventsMax else {
      throw HeartlogError(
        .invalid, "the commit has more than \(Limits.commitEventsMax) events; write it in parts")
    }
    // After everything else, and in the order of the closure.
    changes.apply(event, at: .draft(UInt64(records.count)), wallTime: wallTime)
    contentBytes += event.contentByteCount
    if event.fields.contains(where: { FieldKey.isSupplied($0.name) }) { wroteReserved = true }
    records.append(record.record)
    return plan.result
  }
}

extension EventPosition {
  /// The position of a write that has none yet: after all that have one.
  ///
  /// - Parameter number: decides between two of them.
  static func draft(_ number: UInt64) -> EventPosition {
    EventPosition(
      stamp: HybridTimestamp(rawValue: .max), replica: ReplicaID(high: .max, low: .max),
      sequence: SequenceNumber(rawValue: number))
  }
}

extension Event {
  /// The bytes of its names and values, without what encodes them.
  fileprivate var contentByteCount: Int {
    fields.reduce(library.utf8.count + item.utf8.count) { $0 + $1.name.utf8.count + $1.value.byteCount }
  }
}

extension FieldValue {
  /// The bytes of its content.
  var byteCount: Int {
    switch self {
    case .null, .bool: 1
    case .int64, .double: 8
    case .string(let text): text.utf8.count
    case .json(let json): json.text.utf8.count
    case .unknown(_, let bytes): bytes.count
    }
  }
}
