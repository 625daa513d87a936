import HeartlogFormat

/// An operation on one item. What it writes depends on the state of the item: see `WritePlan`.
///
/// Fields may come in any order; if a name occurs more than once, the last value counts.
package enum Operation: Hashable, Sendable {
  /// Makes the item a favorite. If `favoritedDate` is nil, the commit's wall time is used.
  case add(fields: [Field] = [], favoritedDate: Milliseconds? = nil)
  /// Removes the item from the favorites. Its fields stay.
  case remove
  /// Switches the stored membership. The fields and the date are used only when the item becomes a favorite.
  case toggle(fields: [Field] = [], favoritedDate: Milliseconds? = nil)
  /// Writes fields of an item, favorite or not. Null clears a field.
  case set(fields: [Field])
  /// Writes registers even if they are unchanged: the membership if it is given, and the fields. The event has seen all other writes of
  /// them, and so closes their conflicts.
  case overwrite(membership: Membership? = nil, fields: [Field] = [])
  /// An add, a toggle or a set whose fields are written even if they are unchanged, wherever it takes fields.
  indirect case exactly(Operation)

  /// A value of the membership.
  package struct Membership: Hashable, Sendable {
    package let isFavorite: Bool
    /// Ignored unless it is a favorite.
    package let favoritedDate: Milliseconds

    package init(isFavorite: Bool, favoritedDate: Milliseconds) {
      self.isFavorite = isFavorite
      self.favoritedDate = favoritedDate
    }
  }
}

extension Operation {
  /// The fields of the operation, whether they are written or not.
  package var fields: [Field] {
    switch self {
    case .add(let fields, _): fields
    case .toggle(let fields, _): fields
    case .set(let fields): fields
    case .remove: []
    case .overwrite(_, let fields): fields
    case .exactly(let operation): operation.fields
    }
  }

  /// The operation with other fields; a removal takes none.
  package func with(_ fields: [Field]) -> Operation {
    switch self {
    case .add(_, let date): .add(fields: fields, favoritedDate: date)
    case .remove: .remove
    case .toggle(_, let date): .toggle(fields: fields, favoritedDate: date)
    case .set: .set(fields: fields)
    case .overwrite(let membership, _): .overwrite(membership: membership, fields: fields)
    case .exactly(let operation): .exactly(operation.with(fields))
    }
  }

  var isExact: Bool { if case .exactly = self { true } else { false } }
}
