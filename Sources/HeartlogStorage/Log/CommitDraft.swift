import HeartlogFormat

/// A commit before its number and stamp are assigned.
package struct CommitDraft: Sendable {
  package var wallTime: Milliseconds
  package var origin: String?
  package var contents: EventRecords
  /// True if each record was already validated with this wall time. Records are not validated again.
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

  /// Moves the records out of the draft.
  mutating func takeContents() -> EventRecords {
    var taken = EventRecords.several([])
    swap(&taken, &contents)
    return taken
  }
}

/// Maintains the state that results from the log's commits. Calls are never concurrent.
package protocol CommitSink: AnyObject, Sendable {
  /// Receives a commit from the log: when the store is opened, from another process, or from another replica.
  func receive(_ commit: Commit)
  /// Like `receive` of a commit, for consecutive commits in place. The rows are only valid until the call returns.
  func receive(_ rows: [CommitRow])
  /// Like `receive` of a commit, for a run of consecutive commits that are from the log or were just shipped here.
  ///
  /// - Returns: the number of items that changed.
  @discardableResult
  func receive(_ block: ColumnBlock) -> Int
  /// Publishes acknowledged commits of this process.
  func publish(_ commits: [CommitLog.PendingCommit])
  /// Some received commits are no longer part of the log, or have less content. The whole log is received again between this call and
  /// `endRestart`.
  ///
  /// - Parameter erasedGeneration: that of the log's list of erased events.
  func beginRestart(erasedGeneration: UInt64)
  func endRestart()
}

extension CommitSink {
  /// Converts the rows to commits, and receives each of them.
  package func receive(_ rows: [CommitRow]) { for row in rows { receive(row.commit()) } }
}
