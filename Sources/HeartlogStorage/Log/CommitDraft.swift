import HeartlogEvents

/// When a commit is acknowledged.
package enum Durability: Sendable {
  /// After fdatasync.
  case durable
  /// After the write; flushed within 100 ms, and when the store is closed.
  case buffered
}

/// A commit before it has its number and its stamp.
package struct CommitDraft: Sendable {
  package var wallTime: Milliseconds
  package var origin: String?
  package var contents: EventRecords
  /// Each record was held against the rules already, with this wall time: it is not looked at again.
  package var recordsAreChecked: Bool

  package init(
    wallTime: Milliseconds, origin: String?, records: [EventRecord], recordsAreChecked: Bool = false
  ) {
    self.init(
      wallTime: wallTime, origin: origin, contents: EventRecords(records),
      recordsAreChecked: recordsAreChecked)
  }

  package init(
    wallTime: Milliseconds, origin: String?, contents: EventRecords, recordsAreChecked: Bool = false
  ) {
    self.wallTime = wallTime
    self.origin = origin
    self.contents = contents
    self.recordsAreChecked = recordsAreChecked
  }

  /// The records, of which none are left.
  mutating func takeContents() -> EventRecords {
    var taken = EventRecords.several([])
    swap(&taken, &contents)
    return taken
  }
}

/// Who keeps the state that the log's commits make. All calls come one at a time.
package protocol CommitSink: AnyObject, Sendable {
  /// A commit from the log: at opening, from another process, from another replica.
  func receive(_ commit: Commit)
  /// The same of commits where they lie, which are there until the call returns: some that follow each other.
  func receive(_ rows: [CommitRow])
  /// A run of commits that follow each other, as `receive` of one: from the log, or just shipped here.
  ///
  /// - Returns: how many items it changed.
  @discardableResult
  func receive(_ block: ColumnBlock) -> Int
  /// Publishes commits of this process, which are acknowledged.
  func publish(_ commits: [CommitLog.PendingCommit])
  /// Some of what was received is part of the log no more: all of it comes again, between this call and `endRestart`.
  func beginRestart()
  func endRestart()
}

extension CommitSink {
  /// Makes commits of them.
  package func receive(_ rows: [CommitRow]) { for row in rows { receive(row.commit()) } }
}
