import HeartlogEvents

/// What an operation writes, decided from the item as it is.
public struct WritePlan: Hashable, Sendable {
  /// What is left to write.
  public enum Outcome: Hashable, Sendable {
    /// The one event to write: only fields whose value differs from the one held.
    case event(Event)
    /// Nothing is left to write.
    case nothing(Reason)
  }

  /// Why nothing is left to write.
  public enum Reason: Hashable, Sendable {
    /// An add of what is a favorite.
    case alreadyFavorite
    /// A removal of what is none.
    case notFavorite
    /// Fields that all have these values already.
    case nothingToChange
  }

  /// What is left to write, or why nothing is.
  public let outcome: Outcome
  /// Fields were given where none are taken: to a toggle that switches off, to an add of a favorite.
  public let ignoredFields: Bool
  /// The same of the favorited date.
  public let ignoredFavoritedDate: Bool

  init(_ outcome: Outcome, ignoredFields: Bool = false, ignoredFavoritedDate: Bool = false) {
    self.outcome = outcome
    self.ignoredFields = ignoredFields
    self.ignoredFavoritedDate = ignoredFavoritedDate
  }

  /// The event to write; nil where there is none.
  public var event: Event? {
    if case .event(let event) = outcome { event } else { nil }
  }

  /// Why there is nothing to write; nil where there is something.
  public var reason: Reason? {
    if case .nothing(let reason) = outcome { reason } else { nil }
  }
}

extension Operation {
  /// Decides what this operation writes to `item`.
  ///
  /// - Parameters:
  ///   - current: the item as it is, nil where it was never written to.
  ///   - wallTime: the commit's; a favorited date equal to it is left out of the event.
  public func plan(
    item: String, in library: String, current: ItemState?, wallTime: Milliseconds
  ) -> WritePlan {
    let isFavorite = current?.isFavorite ?? false
    func event(_ action: Action, _ fields: [Field] = [], _ date: Milliseconds? = nil) -> WritePlan {
      WritePlan(
        .event(
          Event(
            library: library, item: item, action: action, favoritedDate: date == wallTime ? nil : date,
            fields: fields)))
    }

    switch self {
    case .add(let fields, let date):
      guard !isFavorite else {
        return WritePlan(
          .nothing(.alreadyFavorite), ignoredFields: !fields.isEmpty, ignoredFavoritedDate: date != nil)
      }
      return event(.added, Self.differing(fields, from: current), date)

    case .remove:
      return isFavorite ? event(.removed) : WritePlan(.nothing(.notFavorite))

    case .toggle(let fields, let date):
      guard !isFavorite else {
        return WritePlan(
          event(.toggled(on: false)).outcome, ignoredFields: !fields.isEmpty,
          ignoredFavoritedDate: date != nil)
      }
      return event(.toggled(on: true), Self.differing(fields, from: current), date)

    case .set(let fields):
      let differing = Self.differing(fields, from: current)
      return differing.isEmpty ? WritePlan(.nothing(.nothingToChange)) : event(.changed, differing)

    case .settleMembership(let isFavorite, let date):
      return isFavorite ? event(.added, [], date) : event(.removed)

    case .settleField(let field):
      return event(.changed, [field])
    }
  }

  /// Those of `fields` whose value is not the one that `current` holds, sorted by the bytes of their names.
  /// A field that is not held is null.
  private static func differing(_ fields: [Field], from current: ItemState?) -> [Field] {
    // Sorting is stable, so the last of several with one name is the last that was given.
    let sorted = fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    let held = current?.fields ?? []
    var place = 0
    var differing: [Field] = []
    for (index, field) in sorted.enumerated() {
      let next = index + 1
      if next < sorted.count, sorted[next].name.utf8.elementsEqual(field.name.utf8) { continue }
      while place < held.count, held[place].name.utf8.lexicographicallyPrecedes(field.name.utf8) {
        place += 1
      }
      let isHeld = place < held.count && held[place].name.utf8.elementsEqual(field.name.utf8)
      let value = isHeld ? held[place].value : .null
      if value != field.value { differing.append(field) }
    }
    return differing
  }
}
