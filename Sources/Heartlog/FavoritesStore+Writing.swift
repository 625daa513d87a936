import HeartlogEngine

extension FavoritesStore {
  /// Writes everything that `body` does to this store as one commit: one stamp, one fsync, all or nothing.
  ///
  /// ```swift
  /// try store.write {
  ///   try papers.add(a)
  ///   try papers.remove(b)
  /// }
  /// ```
  ///
  /// Device-local values are written when the commit is acknowledged. A crash in between leaves the former ones, and an error is thrown
  /// although the commit is there.
  ///
  /// Other writers wait while `body` runs, so it should be short. If it throws, nothing is written. Inside another `write` of the same
  /// store, it becomes part of that commit.
  ///
  /// - Parameters:
  ///   - origin: who writes, or nil for the origin in the options.
  ///   - durability: when the commit is acknowledged, or nil for the durability in the options.
  ///   - time: replaces the clock: whole milliseconds since 1970, up to the end of the year 2199.
  ///   - body: runs on this thread. A task that it starts is not part of the commit.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws, and what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func write<R>(
    origin: String? = nil, durability: Durability? = nil, time: Milliseconds? = nil, _ body: () throws -> R
  ) throws -> R {
    try commit(origin: origin, durability: durability, time: time, body).result
  }

  /// Like `write`, but also returns the commit. The commit is nil if there was nothing to write, or inside another `write`, whose commit
  /// includes the changes.
  ///
  /// - Throws: what `body` throws, and what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  package func commit<R>(
    origin: String? = nil, durability: Durability? = nil, time: Milliseconds? = nil, _ body: () throws -> R
  ) throws -> (result: R, commit: Commit?) {
    if WriteTransaction.joined(by: self) != nil { return (try body(), nil) }
    return try finish(try stage(origin: origin, durability: durability, time: time) { _ in try body() })
  }

  /// Runs `body` as `write` does, on the current state, and discards its changes. Use it for a dry run.
  ///
  /// It takes no lock of the store, and also works on one that is open read-only. For an item type with a schema it waits for a write in
  /// progress in this process.
  ///
  /// - Parameters:
  ///   - time: replaces the clock: whole milliseconds since 1970, up to the end of the year 2199.
  ///   - body: the changes to try.
  /// - Returns: what `body` returned, and the events that the commit would contain.
  package func dryRun<R>(time: Milliseconds? = nil, _ body: () throws -> R) throws -> (
    result: R, events: [Event]
  ) {
    try refuseInsideWrite("dryRun")
    refreshForReading()
    let transaction = WriteTransaction(self, over: nil, wallTime: try wallTime(time), isDryRun: true)
    defer { transaction.close() }
    let result = try WriteTransaction.$current.withValue(transaction) { try body() }
    return (result, transaction.events)
  }

  /// The time at which a person asked for what is being written: the wall time of its commits, in place of the clock's.
  @TaskLocal package static var timeOfTap: Milliseconds?

  /// The wall time of a commit that is drafted now: the clock's, or `time` if it is given.
  private func wallTime(_ time: Milliseconds?) throws(HeartlogError) -> Milliseconds {
    let wallTime = time ?? Self.timeOfTap ?? options.clock()
    guard wallTime >= 0, wallTime <= Limits.clockMillisecondsMax else {
      throw .refusing(wallTime, isClock: time == nil)
    }
    return wallTime
  }

  /// `write { }` for a body that only throws `HeartlogError`.
  @discardableResult
  package func writeAsOne<R>(
    origin: String? = nil, _ body: () throws(HeartlogError) -> R
  ) throws(HeartlogError) -> R {
    try heartlogErrors { try write(origin: origin) { try body() } }
  }

  /// Runs one operation, either as its own commit or as part of the current transaction.
  func perform(
    _ operation: HeartlogState.Operation, on id: String, in library: LibraryKey
  ) throws(HeartlogError) -> WriteResult {
    if let transaction = WriteTransaction.joined(by: self) {
      return try transaction.perform(operation, on: id, in: library)
    }
    return try log.write(
      operation, on: id, in: library, durability: options.durability, origin: options.origin
    ) { () throws(HeartlogError) in try wallTime(nil) }
  }

  /// Runs `body` and queues its writes as one commit. `finish` waits for the outcome.
  func stage<R>(
    origin: String?, durability: Durability?, time: Milliseconds?, _ body: (WriteTransaction) throws -> R
  ) throws -> (result: R, pending: CommitLog.PendingCommit?, local: LocalChanges) {
    let (pending, staged) = try log.stage(durability ?? options.durability) {
      let transaction = WriteTransaction(self, over: log.queuedCommits, wallTime: try wallTime(time))
      defer { transaction.close() }
      let result = try WriteTransaction.$current.withValue(transaction) { try body(transaction) }
      let draft =
        transaction.records.isEmpty
        ? nil
        : CommitDraft(
          wallTime: transaction.wallTime, origin: origin ?? options.origin, records: transaction.records,
          recordsAreChecked: true)
      return (draft, (result, transaction.localChanges))
    }
    var (result, local) = staged
    local.durability = durability
    return (result, pending, local)
  }

  func finish<R>(
    _ staged: (result: R, pending: CommitLog.PendingCommit?, local: LocalChanges)
  ) throws(HeartlogError) -> (result: R, commit: Commit?) {
    let commit = try staged.pending.map { pending throws(HeartlogError) in
      try log.finish(pending)
    }
    try localStore.write(staged.local)
    return (staged.result, commit)
  }
}

extension HeartlogError {
  /// The error for a wall time that other replicas would reject. Nothing is written with it.
  fileprivate static func refusing(_ wallTime: Milliseconds, isClock: Bool) -> HeartlogError {
    let shown = RFC3339.text(min(max(wallTime, Limits.dateMillisecondsMin), Limits.dateMillisecondsMax))
    guard isClock else { return HeartlogError(.invalid, "the time is before 1970 or after 2199: \(shown)") }
    return HeartlogError(.wrongClock, "this device's clock says \(shown); set it right and try again")
  }
}
