import HeartlogStorage
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One commit under way: the events of a `write { }` closure, and what they change.
final class WriteTransaction: @unchecked Sendable {
  // Touched by the one thread that runs the closure alone: `isJoined` sees to that.
  private let store: FavoritesStore
  private let thread = pthread_self()
  private var isOpen = true

  let wallTime: Milliseconds
  private(set) var records: [EventRecord] = []
  private let queued: QueuedCommits
  private var changes = WriteOverlay()

  @TaskLocal static var current: WriteTransaction?

  /// - Parameter queued: the commits that the transaction builds on, beside what is published.
  init(_ store: FavoritesStore, over queued: QueuedCommits, wallTime: Milliseconds) {
    self.store = store
    self.queued = queued
    self.wallTime = wallTime
    store.openTransactions.add(1, ordering: .relaxed)
  }

  /// The transaction that a call on `store` belongs to; nil outside of `write { }`.
  ///
  /// A task that was started inside the closure inherits the task-local value; what it does is not part of it.
  @inline(__always)
  static func joined(by store: FavoritesStore) -> WriteTransaction? {
    // Most look-ups are made while nobody writes, and asking for a task's value costs as much as one. A thread sees what it added itself.
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

  /// What was written so far.
  var events: [Event] { records.compactMap(\.event) }

  /// An item as this transaction sees it.
  func item(_ id: String, in library: String) -> ItemState? {
    store.projection.item(id, in: library, over: queued, changes)
  }

  /// Whether an item is a favorite as this transaction sees it.
  func isFavorite(_ id: String, in library: String) -> Bool {
    store.projection.isFavorite(id, in: library, over: queued, changes)
  }

  /// All items of a library as this transaction sees them.
  func items(in library: String) -> [ItemState] {
    store.projection.items(in: library, over: queued, changes)
  }

  /// Decides what an operation writes, and writes it.
  func perform(_ operation: HeartlogState.Operation, on id: String, in library: String) throws(HeartlogError)
    -> WriteResult
  {
    let drafted = try store.draft(operation, on: id, in: library, over: queued, changes, wallTime: wallTime)
    guard let event = drafted.event else { return drafted.result }
    guard records.count < Limits.commitEventsMax else {
      throw HeartlogError(
        .invalid, "the commit has more than \(Limits.commitEventsMax) events; write it in parts")
    }
    // Later than everything, and in the order of the closure.
    let position = EventPosition(
      stamp: HybridTimestamp(rawValue: .max), replica: ReplicaID(high: .max, low: .max),
      sequence: SequenceNumber(rawValue: UInt64(records.count)))
    changes.apply(event, at: position, wallTime: wallTime)
    records.append(.event(event))
    return drafted.result
  }
}

extension FavoritesStore {
  /// Decides what an operation writes when everything that is queued and in `changes` is written, and holds it against the rules.
  func draft(
    _ operation: HeartlogState.Operation, on id: String, in library: String, over queued: QueuedCommits,
    _ changes: WriteOverlay, wallTime: Milliseconds
  ) throws(HeartlogError) -> (event: Event?, result: WriteResult) {
    do throws(MalformedError) {
      // What turns out to need no event is refused all the same where it breaks a rule.
      try NameRules.checkItem(id)
      for field in operation.fields { try NameRules.checkFieldName(field.name) }
    } catch {
      throw HeartlogError(.invalid, error.reason)
    }
    let (plan, wasFavorite) = try projection.plan(
      operation, on: id, in: library, over: queued, changes, wallTime: wallTime)
    let result = WriteResult(plan, wasFavorite: wasFavorite)
    guard let event = plan.takeEvent() else { return (nil, result) }
    // Here, so that the error names the call that is wrong.
    do throws(MalformedError) { try event.validateContent(wallTime: wallTime) } catch {
      throw HeartlogError(.invalid, error.reason)
    }
    return (event, result)
  }
}

/// What an operation came to.
public struct WriteResult: Hashable, Sendable {
  /// Whether an event was written.
  public let isChange: Bool
  /// Whether the item is a favorite now.
  public let isFavorite: Bool
  /// Fields, or a favorited date, were given where none are taken: to an add of a favorite, to a toggle that switched off.
  public let ignoredFields: Bool
  /// The same of a favorited date.
  public let ignoredFavoritedDate: Bool

  init(_ plan: WritePlan, wasFavorite: Bool) {
    switch plan.outcome {
    case .event(let event):
      isChange = true
      isFavorite = event.action.isFavorite ?? wasFavorite
    case .nothing:
      isChange = false
      isFavorite = wasFavorite
    }
    ignoredFields = plan.ignoredFields
    ignoredFavoritedDate = plan.ignoredFavoritedDate
  }
}
