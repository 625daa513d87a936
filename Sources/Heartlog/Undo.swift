import HeartlogEngine

extension FavoritesStore {
  /// Undoes events, by new events that restore what the registers they wrote would show without them: memberships with their favorited
  /// dates, and fields, among them notes and positions in collections. The log is not rewritten.
  ///
  /// A register that another event wrote later is left alone: see ``UndoPlan/kept``. An undo can itself be undone.
  ///
  /// Reads the log, from the newest snapshot before the first undone event. Writes one commit; more than one for more than 50,000 items or
  /// 8 MiB, and then an error leaves the first ones written. What others wrote in the meantime is respected.
  ///
  /// - Parameters:
  ///   - scope: the events to undo.
  ///   - isDryRun: whether to write nothing, and only return what would be written.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Returns: what was written and what was left alone. Without a write there was nothing to undo.
  /// - Throws: `notFound` for an event, a library or a replica that the store does not have, and for one of `events` whose content is
  ///   withheld or that erased content; `newerFormat` for one of `events` that a later version wrote; `invalid` for less than one commit; `misuse` inside
  ///   `write { }`; `corrupt` if the log is damaged; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func undo(
    _ scope: UndoScope, isDryRun: Bool = false, progress: LogProgress? = nil
  ) throws(HeartlogError) -> UndoPlan {
    try undo(scope, isDryRun: isDryRun, progress: progress) { _ in }
  }

  /// - Parameters:
  ///   - scope: what is undone.
  ///   - isDryRun: whether to write nothing.
  ///   - progress: called while the log is read.
  ///   - eventsMax: the maximum number of events in a commit.
  ///   - didWrite: called after each commit.
  package func undo(
    _ scope: UndoScope, isDryRun: Bool, progress: LogProgress?, eventsMax: Int = Limits.commitEventsMax,
    didWrite: (Commit) -> Void
  ) throws(HeartlogError) -> UndoPlan {
    try refuseInsideWrite("undo")
    return try heartlogErrors {
      try refresh()
      let writer = replica
      let own = Head(replica: writer, commit: read { $0.head(of: writer) } ?? CommitNumber(rawValue: 0))
      // Commits of this device that come later are after all undone events, so the registers that they write are kept.
      func headsOfOthers() -> [Head] { read(\.heads).filter { $0.replica != writer } }
      func replay(_ progress: LogProgress?) throws -> UndoReplay {
        let selection = try UndoSelection(scope, in: self, own: own)
        return try UndoReplay(without: selection, of: self, progress: progress)
      }
      var heads = headsOfOthers()
      var replayed = try replay(progress)
      var left = replayed.undone.registers[...]
      var plan = UndoPlan()
      if isDryRun { try refresh() }
      repeat {
        let next = left.first
        func draft() throws -> UndoPlan {
          let current = headsOfOthers()
          if current != heads {
            // Commits were received since. While a commit is drafted, none are.
            heads = current
            replayed = try replay(nil)
            left = replayed.undone.registers.drop { register in next.map { register.precedes($0) } ?? false }
          }
          return try self.draft(&left, of: replayed, eventsMax: eventsMax)
        }
        let (part, commit) =
          if isDryRun { (try dryRun(draft).result, nil as Commit?) } else { try commit(draft) }
        plan.writes += part.writes
        plan.kept += part.kept
        if let commit {
          plan.events += commit.records.indices.map(commit.eventID)
          didWrite(commit)
        }
      } while !left.isEmpty
      plan.unreadable = replayed.unreadable
      plan.erasures = replayed.erasures
      return plan
    }
  }

  /// Writes registers in the current transaction until its commit is full, and removes them from `left`. The fields of an item are one
  /// event with its membership.
  private func draft(
    _ left: inout ArraySlice<RegisterWrite>, of replayed: UndoReplay, eventsMax: Int
  ) throws(HeartlogError) -> UndoPlan {
    guard let transaction = WriteTransaction.joined(by: self) else { preconditionFailure("no transaction") }
    var plan = UndoPlan()
    var bytes = 0
    while let first = left.first, transaction.records.count < eventsMax, bytes < Self.undoBytesMax {
      var membership: HeartlogState.Operation.Membership?
      var fields: [Field] = []
      while let undone = left.first, undone.isOfSameItem(as: first), bytes < Self.undoBytesMax {
        left.removeFirst()
        let (register, id, library) = (undone.register, undone.item, undone.library)
        guard let shown = transaction.shownWrite(of: register, of: id, in: library) else { continue }
        guard shown.position == undone.write.position else {
          plan.kept.append(
            UndoPlan.Kept(
              library: library, item: id, register: register, undone: undone.write.event, later: shown))
          continue
        }
        let value =
          replayed.rest.shownWrite(of: register, of: id, in: library, under: WriteOverlay())?.value
          ?? register.unwritten
        guard value != shown.value else { continue }
        switch (register, value) {
        case (.field(let name), .field(let value)):
          fields.append(Field(name: name, value: value, isQuiet: undone.isQuiet))
          bytes += name.utf8.count + value.byteCount
        case (_, .membership(let isFavorite, let date)):
          membership = .init(isFavorite: isFavorite, favoritedDate: date)
        case (.membership, .field): preconditionFailure("a membership with the value of a field")
        }
        plan.writes.append(
          UndoPlan.Write(library: library, item: id, register: register, value: value, replaced: shown))
      }
      guard membership != nil || !fields.isEmpty else { continue }
      bytes += first.library.utf8.count + first.item.utf8.count
      _ = try transaction.perform(
        .overwrite(membership: membership, fields: fields), on: first.item, in: LibraryKey(first.library))
    }
    return plan
  }

  /// Bytes of names and values after which a commit takes no more. The rest of an event's row is far smaller than what remains to the
  /// limit of a commit.
  private static let undoBytesMax = Limits.commitBytesMax / 2
}

/// The events that an undo takes back.
public enum UndoScope: Hashable, Sendable {
  /// These events, of any device.
  case events([EventID])
  /// This commit, of any device: that of a `Change`, for example.
  case commit(ReplicaID, CommitNumber)
  /// The last commits of this device: at least 1. If there are fewer, all of them.
  case lastCommits(Int)
  /// Everything from a moment on: the commits whose time is at or after a time, or a commit (that of an event, for example) and all
  /// commits after it in the total order. Of all libraries and devices, unless one is given.
  case since(LogMoment, library: String? = nil, replica: ReplicaID? = nil)
  /// Everything after a moment, which restores what was there then: what was not is removed, and fields that had no value are cleared. Of
  /// all libraries and devices, unless one is given.
  case after(LogMoment, library: String? = nil, replica: ReplicaID? = nil)
}

/// A scope, as commit numbers of the streams: decides which events are undone while the log is read.
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
  init(_ scope: UndoScope, in store: FavoritesStore, own: Head) throws(HeartlogError) {
    switch scope {
    case .after(let moment, let library, let replica):
      try self.init(after: moment, library: library, replica: replica, in: store)
    case .events(let ids):
      var numbers: [ReplicaID: [CommitNumber]] = [:]
      for id in ids { numbers[id.replica, default: []].append(try store.commit(of: id)) }
      self.init(.several(numbers.mapValues { $0.sorted() }), events: Set(ids))
    case .commit(let replica, let number):
      guard number.rawValue >= 1, let head = store.read({ $0.head(of: replica) }), number <= head else {
        throw HeartlogError(.notFound, "the log has no commit \(number) of \(replica)")
      }
      self.init(.several([replica: [number]]))
    case .lastCommits(let count):
      guard count >= 1 else { throw HeartlogError(.invalid, "an undo takes back at least one commit") }
      let head = own.commit.rawValue
      let before = CommitNumber(rawValue: head - min(head, UInt64(count)))
      self.init(.after([own.replica: before]), replica: own.replica)
    case .since(.milliseconds(let first), let library, let replica):
      try self.init(
        after: .milliseconds(max(first, .min + 1) - 1), library: library, replica: replica, in: store)
    case .since(.event(let id), let library, let replica):
      let commit = LogMoment.commit(id.replica, try store.commit(of: id))
      try self.init(.since(commit, library: library, replica: replica), in: store, own: own)
    case .since(.commit(let writer, let number), let library, let replica):
      // Nothing but the commit itself lies between the moment before it and the moment after it.
      try self.init(
        after: .commit(writer, number),
        but: Head(replica: writer, commit: CommitNumber(rawValue: max(1, number.rawValue) - 1)),
        library: library, replica: replica, in: store)
    }
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

/// What an undo wrote, or in a dry run would write, and what it left alone. One entry per register: a membership or a field.
///
/// Both lists are sorted by library, item and register, all by bytes; the membership comes before the fields.
public struct UndoPlan: Hashable, Sendable {
  /// A register that gets the value back that it would have without the undone events.
  public struct Write: Hashable, Sendable {
    /// The library of the item.
    public let library: String
    /// The item's id.
    public let item: String
    /// What is written of the item.
    public let register: Conflict.Register
    /// The value that is restored; null clears a field.
    public let value: Conflict.Value
    /// The undone write that the register shows before.
    public let replaced: Conflict.Write
  }

  /// A register that an undone event wrote, and that is left alone because a later event wrote it too.
  public struct Kept: Hashable, Sendable {
    /// The library of the item.
    public let library: String
    /// The item's id.
    public let item: String
    /// What is kept of the item.
    public let register: Conflict.Register
    /// The last undone event that wrote it.
    public let undone: EventID
    /// The write that it shows. It is not undone.
    public let later: Conflict.Write
  }

  /// What is written. Registers that have the restored value already are not.
  public internal(set) var writes: [Write] = []
  /// What is left alone.
  public internal(set) var kept: [Kept] = []
  /// The events in the scope that could not be undone as a whole, in no particular order: their content is withheld, they erased content, or
  /// they were written by a later version.
  public internal(set) var unreadable: [EventID] = []
  /// Those of `unreadable` that erased content.
  package internal(set) var erasures: [EventID] = []
  /// The events that were written; empty in a dry run. To undo the undo, undo them.
  public internal(set) var events: [EventID] = []
}

/// The log, split into the events that are undone and the state without them.
struct UndoReplay {
  /// The last undone write of each register.
  private(set) var undone = WriteOverlay()
  /// See `UndoPlan.unreadable`.
  private(set) var unreadable: [EventID] = []
  /// Those of them that erased content.
  private(set) var erasures: [EventID] = []
  /// The state that all other events produce.
  private(set) var rest = FavoritesState()
  /// Why one of several selected events cannot be undone.
  private var refusal: HeartlogError?

  /// - Throws: `corrupt` if the log cannot be read to its end; `notFound` or `newerFormat` for a selected single event without content.
  init(
    without selection: UndoSelection, of store: FavoritesStore, progress: LogProgress?
  ) throws {
    let log = try LogReplay(at: store.path, on: store.fileSystem, progress: progress)
    let first = CommitNumber(rawValue: 1)
    let (state, start, outcome) = try store.snapshots.replay(
      where: { $0.allSatisfy { !selection.mayTake(first...$0.commit, of: $0.replica) } }
    ) { state, positions in
      // A snapshot that proves to be damaged is read again without it.
      undone.removeAll()
      unreadable.removeAll()
      erasures.removeAll()
      refusal = nil
      return try log.run(from: positions) { take($0, selection, &state) }
    }
    if let start { store.snapshots.note(outcome.movedPositions, of: start) }
    if let finding = outcome.findings.damage.first { throw finding.error }
    if let refusal { throw refusal }
    rest = state
  }

  private mutating func take(
    _ piece: LogReplay.Piece, _ selection: UndoSelection, _ state: inout FavoritesState
  ) {
    switch piece {
    case .rows(let rows):
      guard let first = rows.first?.header, let last = rows.last?.header,
        selection.mayTake(first.number...last.number, of: first.replica)
      else {
        state.apply(piece)
        return
      }
      for row in rows { take(row.commit(), selection, &state) }
    case .block(let block):
      guard selection.mayTake(block.firstCommit...block.lastCommit, of: block.replica) else {
        state.apply(piece)
        return
      }
      for commit in block.commits() { take(commit, selection, &state) }
    }
  }

  /// Applies a commit to the state without its undone events: they count, and change nothing.
  private mutating func take(
    _ commit: Commit, _ selection: UndoSelection, _ state: inout FavoritesState
  ) {
    guard selection.mayTake(commit.number...commit.number, of: commit.replica) else {
      state.apply(commit)
      return
    }
    var records = commit.records
    for (index, record) in commit.records.enumerated() {
      let id = commit.eventID(at: index)
      guard selection.takes(id, record) else { continue }
      if let error = Self.refusal(of: record, id) {
        if selection.events != nil { refusal = refusal ?? error }
        unreadable.append(id)
        if record.erasedEvents != nil { erasures.append(id) }
      }
      guard let event = record.event else { continue }
      undone.apply(
        event, at: EventPosition(stamp: commit.stamp, replica: id.replica, sequence: id.sequence),
        wallTime: commit.wallTime)
      records[index] = .withheld(Self.anyHash)
    }
    state.apply(
      Commit(
        replica: commit.replica, number: commit.number, firstSequence: commit.firstSequence,
        stamp: commit.stamp, wallTime: commit.wallTime, heads: commit.heads, records: records))
  }

  /// States do not look at the hash of a withheld event.
  private static let anyHash = Digest([UInt8](repeating: 0, count: 32))

  /// Why an event cannot be undone as a whole; nil if it can.
  private static func refusal(of record: EventRecord, _ id: EventID) -> HeartlogError? {
    switch record {
    case .withheld:
      HeartlogError(.notFound, "the content of the event \(id) is withheld here, so it cannot be undone")
    case .unknown where record.erasedEvents != nil:
      HeartlogError(.notFound, "the event \(id) erased content, and an erasure cannot be undone")
    case .event(let event) where event.unknownMembers.isEmpty: nil
    case .unknown, .event:
      HeartlogError(.newerFormat, "the event \(id) was written by a later version, so it cannot be undone")
    }
  }
}
