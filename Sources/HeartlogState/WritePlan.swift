import HeartlogFormat

/// What an operation writes, decided from the current item.
package struct WritePlan: Hashable, Sendable {
  /// The remaining write.
  package enum Outcome: Hashable, Sendable {
    /// The one event to write: only fields whose value differs from the current one.
    case event(Event)
    /// There is nothing to write.
    case nothing(Reason)
  }

  /// Why there is nothing to write.
  package enum Reason: Hashable, Sendable {
    /// An add of an item that is a favorite.
    case alreadyFavorite
    /// A removal of an item that is not a favorite.
    case notFavorite
    /// All fields already have these values.
    case nothingToChange
  }

  /// The remaining write, or why there is none.
  package let outcome: Outcome
  /// Fields were given where none are accepted: to a toggle that switches off, to an add of a favorite.
  package let ignoredFields: Bool
  /// The same for the favorited date.
  package let ignoredFavoritedDate: Bool

  init(_ outcome: Outcome, ignoredFields: Bool = false, ignoredFavoritedDate: Bool = false) {
    self.outcome = outcome
    self.ignoredFields = ignoredFields
    self.ignoredFavoritedDate = ignoredFavoritedDate
  }

  /// The event to write; nil if there is none.
  package var event: Event? {
    if case .event(let event) = outcome { event } else { nil }
  }

  /// `event`, of a plan that is no longer needed.
  package consuming func takeEvent() -> Event? {
    switch outcome {
    case .event(let event): event
    case .nothing: nil
    }
  }

  /// Why there is nothing to write; nil if there is an event to write.
  package var reason: Reason? {
    if case .nothing(let reason) = outcome { reason } else { nil }
  }
}

extension Operation {
  /// The fields written to an item: where they differ from its current ones, or all if the operation is exact.
  func takenFields(isFavorite: Bool) -> [Field] {
    switch self {
    case .add(let fields, _): isFavorite ? [] : fields
    case .toggle(let fields, _): isFavorite ? [] : fields
    case .set(let fields): fields
    case .remove, .overwrite: []
    case .exactly(let operation): operation.takenFields(isFavorite: isFavorite)
    }
  }

  /// Decides what this operation writes to `item`.
  ///
  /// - Parameters:
  ///   - isFavorite: whether the item is a favorite.
  ///   - differing: those of `takenFields` that are written, sorted by the bytes of their names.
  ///   - wallTime: the commit's wall time; a favorited date equal to it is omitted from the event.
  func plan(
    item: String, in library: String, isFavorite: Bool, differing: [Field], wallTime: Milliseconds
  ) -> WritePlan {
    func event(_ action: Action, _ fields: [Field] = [], _ date: Milliseconds? = nil) -> WritePlan.Outcome {
      .event(
        Event(
          library: library, item: item, action: action, favoritedDate: date == wallTime ? nil : date,
          fields: fields))
    }

    switch self {
    case .add(let fields, let date):
      guard isFavorite else { return WritePlan(event(.added, differing, date)) }
      return WritePlan(
        .nothing(.alreadyFavorite), ignoredFields: !fields.isEmpty, ignoredFavoritedDate: date != nil)

    case .remove:
      return WritePlan(isFavorite ? event(.removed) : .nothing(.notFavorite))

    case .toggle(let fields, let date):
      guard isFavorite else { return WritePlan(event(.toggled(on: true), differing, date)) }
      return WritePlan(
        event(.toggled(on: false)), ignoredFields: !fields.isEmpty, ignoredFavoritedDate: date != nil)

    case .set:
      return WritePlan(differing.isEmpty ? .nothing(.nothingToChange) : event(.changed, differing))

    case .overwrite(let membership, let fields):
      let action = membership.map { $0.isFavorite ? Action.added : .removed } ?? .changed
      let date = membership.flatMap { $0.isFavorite ? $0.favoritedDate : nil }
      return WritePlan(event(action, Self.sortedByName(fields), date))

    case .exactly(let operation):
      return operation.plan(
        item: item, in: library, isFavorite: isFavorite, differing: differing, wallTime: wallTime)
    }
  }

  /// Fields sorted by the bytes of their names; of several with one name the last. Those of an encoded item are already sorted.
  static func sortedByName(_ fields: [Field]) -> [Field] {
    if zip(fields, fields.dropFirst()).allSatisfy({ $0.name.bytesPrecede($1.name) }) { return fields }
    // Sorting is stable, so the last of several with one name is the last one given.
    let sorted = fields.sorted { $0.name.bytesPrecede($1.name) }
    return sorted.indices.filter { index in
      index + 1 == sorted.count || !sorted[index + 1].name.hasSameBytes(as: sorted[index].name)
    }.map { sorted[$0] }
  }
}
