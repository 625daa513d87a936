/// The events that an undo takes back.
public enum UndoScope: Hashable, Sendable {
  /// These events, of any device.
  case events([EventID])
  /// This commit, of any device: the one that ``FavoritesStore/writeReturningCommit(origin:durability:time:_:)`` returned, for example.
  case commit(ReplicaID, CommitNumber)
  /// The last commits of this device: at least 1. If there are fewer, all of them.
  case lastCommits(Int)
  /// Everything from a moment on: the commits whose time is at or after a time, or a commit (that of an event, for example) and all
  /// commits after it in the total order. Of all libraries and devices, unless one is given.
  case since(LogMoment, library: String? = nil, replica: ReplicaID? = nil)
}

/// What an undo takes back: a scope, or for a restore everything after a moment.
package enum UndoTarget {
  case scope(UndoScope)
  case after(LogMoment, library: String?)
}

/// A target, as commit numbers of the streams: decides which events are undone while the log is read.
struct UndoSelection {
  private enum Commits {
    /// These numbers, ascending.
    case several([ReplicaID: [CommitNumber]])
    /// All after these heads.
    case after([ReplicaID: CommitNumber])
  }

  private let commits: Commits
  /// The only events; all if nil.
  let events: Set<EventID>?
  private let library: String?
  private let replica: ReplicaID?

  private init(
    _ commits: Commits, events: Set<EventID>? = nil, library: String? = nil, replica: ReplicaID? = nil
  ) {
    self.commits = commits
    self.events = events
    self.library = library
    self.replica = replica
  }

  /// - Throws: `notFound` for an event, a library or a replica that the store does not have.
  ///
  /// - Parameter own: the last commit of this device.
  init(_ target: UndoTarget, in store: FavoritesStore, own: Head) throws(HeartlogError) {
    switch target {
    case .after(let moment, let library): try self.init(after: moment, library: library, in: store)
    case .scope(.events(let ids)):
      var numbers: [ReplicaID: [CommitNumber]] = [:]
      for id in ids { numbers[id.replica, default: []].append(try store.commit(of: id)) }
      self.init(.several(numbers.mapValues { $0.sorted() }), events: Set(ids))
    case .scope(.commit(let replica, let number)):
      guard number.rawValue >= 1, let head = store.read({ $0.head(of: replica) }), number <= head else {
        throw HeartlogError(.notFound, "the log has no commit \(number) of \(replica)")
      }
      self.init(.several([replica: [number]]))
    case .scope(.lastCommits(let count)):
      guard count >= 1 else { throw HeartlogError(.invalid, "an undo takes back at least one commit") }
      let head = own.commit.rawValue
      let before = CommitNumber(rawValue: head - min(head, UInt64(count)))
      self.init(.after([own.replica: before]), replica: own.replica)
    case .scope(.since(.milliseconds(let first), let library, let replica)):
      try self.init(
        after: .milliseconds(max(first, .min + 1) - 1), library: library, replica: replica, in: store)
    case .scope(.since(.event(let id), let library, let replica)):
      try self.init(
        since: try store.commit(of: id), of: id.replica, library: library, replica: replica, in: store)
    case .scope(.since(.commit(let writer, let number), let library, let replica)):
      try self.init(since: number, of: writer, library: library, replica: replica, in: store)
    }
  }

  /// A commit and everything after it in the total order.
  private init(
    since number: CommitNumber, of writer: ReplicaID, library: String?, replica: ReplicaID?,
    in store: FavoritesStore
  ) throws(HeartlogError) {
    // Nothing but the commit itself lies between the moment before it and the moment after it.
    try self.init(
      after: .commit(writer, number),
      but: Head(replica: writer, commit: CommitNumber(rawValue: max(1, number.rawValue) - 1)),
      library: library, replica: replica, in: store)
  }

  /// Everything after a moment.
  ///
  /// - Parameter head: replaces the head of its replica at that moment.
  init(
    after moment: LogMoment, but head: Head? = nil, library: String?, replica: ReplicaID? = nil,
    in store: FavoritesStore
  ) throws(HeartlogError) {
    if let library {
      _ = try store.library(library)
      guard store.read({ $0.libraries.contains { $0.hasSameBytes(as: library) } }) else {
        throw HeartlogError(.notFound, "nothing was ever written to the library \(library)")
      }
    }
    if let replica, !store.read({ $0.heads.contains { $0.replica == replica } }) {
      throw HeartlogError(.notFound, "there is no replica \(replica) in this store")
    }
    let heads = try store.state(at: moment).heads + [head].compactMap { $0 }
    self.init(
      .after(Dictionary(heads.map { ($0.replica, $0.commit) }, uniquingKeysWith: { $1 })), library: library,
      replica: replica)
  }

  /// Whether commits of a stream may contain an event to undo.
  func mayTake(_ numbers: ClosedRange<CommitNumber>, of stream: ReplicaID) -> Bool {
    guard replica.map({ $0 == stream }) ?? true else { return false }
    switch commits {
    case .after(let heads): return heads[stream].map { numbers.upperBound > $0 } ?? true
    case .several(let wanted):
      guard let wanted = wanted[stream] else { return false }
      let first = wanted.partitionPoint { $0 >= numbers.lowerBound }
      return first < wanted.count && wanted[first] <= numbers.upperBound
    }
  }

  /// Whether an event of a commit that may be taken is undone. An event without content may be of any library.
  func takes(_ id: EventID, _ record: EventRecord) -> Bool {
    guard events?.contains(id) ?? true else { return false }
    guard let library, let event = record.event else { return true }
    return event.library.hasSameBytes(as: library)
  }
}

extension FavoritesStore {
  fileprivate func commit(of event: EventID) throws(HeartlogError) -> CommitNumber {
    guard let number = read({ $0.commit(of: event) }) else {
      throw HeartlogError(.notFound, "the log has no event \(event)")
    }
    return number
  }
}
