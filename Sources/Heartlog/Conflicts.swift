import HeartlogStorage

extension FavoritesStore {
  /// The open conflicts: registers to which devices gave different values without having seen each other's. One value is shown, the last in
  /// the total order; the others are not lost before somebody has seen them all and written again.
  ///
  /// Sorted by library, item and register. They follow from the commits alone, and so are the same on every device that has these.
  ///
  /// - Complexity: a look at each register to which concurrent writes came.
  public var conflicts: [Conflict] { read { $0.conflicts } }

  /// Closes a conflict in favor of one of its sides, the one that is shown or another: writes its value again, as an event that has seen
  /// them all.
  ///
  /// - Throws: `HeartlogError`; `invalid` for a write that is no side of the conflict.
  public func resolve(_ conflict: Conflict, with write: Conflict.Write) throws(HeartlogError) {
    guard conflict.writes.contains(write) else {
      throw HeartlogError(.invalid, "\(write.event) is no side of this conflict")
    }
    let operation: HeartlogState.Operation
    switch (conflict.register, write.value) {
    case (.field(let name), .field(let value)): operation = .resolveField(Field(name: name, value: value))
    case (_, .membership(let isFavorite, let date)):
      operation = .resolveMembership(isFavorite: isFavorite, favoritedDate: date)
    case (.membership, .field): throw HeartlogError(.invalid, "a value of a field for a membership")
    }
    _ = try perform(operation, on: conflict.item, in: conflict.library)
  }

  /// Closes every open conflict of which an event is a side, in its favor, as one commit.
  ///
  /// - Returns: the conflicts that were closed; none where the event is no side of any.
  @discardableResult
  public func resolveConflicts(inFavorOf event: EventID) throws(HeartlogError) -> [Conflict] {
    try writeAsOne { () throws(HeartlogError) -> [Conflict] in
      let mine = conflicts.filter { $0.writes.contains { $0.event == event } }
      for conflict in mine {
        guard let write = conflict.writes.first(where: { $0.event == event }) else { continue }
        try resolve(conflict, with: write)
      }
      return mine
    }
  }
}
