import HeartlogStorage

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
    try undo(.scope(scope), isDryRun: isDryRun, progress: progress)
  }

  /// Makes favorites, favorited dates and fields equal to those at a moment, by new events: undoes everything after it, of all devices.
  /// What was not there then is removed, and fields that had no value then are cleared.
  ///
  /// - Parameters:
  ///   - moment: the moment to restore.
  ///   - library: the only library to restore; all if nil.
  ///   - isDryRun: whether to write nothing, and only return what would be written.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Returns: what was written.
  /// - Throws: as `undo(_:isDryRun:progress:)`.
  @discardableResult
  public func restore(
    to moment: LogMoment, library: String? = nil, isDryRun: Bool = false, progress: LogProgress? = nil
  ) throws(HeartlogError) -> UndoPlan {
    try undo(.after(moment, library: library), isDryRun: isDryRun, progress: progress)
  }

  /// - Parameters:
  ///   - target: what is undone.
  ///   - isDryRun: whether to write nothing.
  ///   - progress: called while the log is read.
  ///   - eventsMax: the maximum number of events in a commit.
  ///   - didWrite: called after each commit.
  package func undo(
    _ target: UndoTarget, isDryRun: Bool, progress: LogProgress?, eventsMax: Int = Limits.commitEventsMax,
    didWrite: (Commit) -> Void = { _ in }
  ) throws(HeartlogError) -> UndoPlan {
    try refuseInsideWrite("undo")
    return try heartlogErrors {
      try refresh()
      let writer = replica
      let own = Head(replica: writer, commit: read { $0.head(of: writer) } ?? CommitNumber(rawValue: 0))
      // Commits of this device that come later are after all undone events, so the registers that they write are kept.
      func headsOfOthers() -> [Head] { read(\.heads).filter { $0.replica != writer } }
      func replay(_ progress: LogProgress?) throws -> UndoReplay {
        let selection = try UndoSelection(target, in: self, own: own)
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
          if isDryRun { (try dryRun(draft).result, nil as Commit?) } else { try writeReturningCommit(draft) }
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
