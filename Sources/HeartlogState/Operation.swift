import HeartlogEvents

/// What a caller asks of one item. What it writes depends on what is true of the item: see `WritePlan`.
///
/// Fields may come in any order; of two with one name the last counts.
package enum Operation: Hashable, Sendable {
  /// Makes a favorite of it. `favoritedDate` nil: the commit's wall time.
  case add(fields: [Field] = [], favoritedDate: Milliseconds? = nil)
  /// Takes it from the favorites; its fields stay as they are.
  case remove
  /// Flips membership as the state holds it. Fields and date count only where it switches on.
  case toggle(fields: [Field] = [], favoritedDate: Milliseconds? = nil)
  /// Writes fields, of a favorite or not; null clears one.
  case set(fields: [Field])
  /// Writes a membership, also where it is held just so already: an event that has seen all others, and so closes a conflict.
  case resolveMembership(isFavorite: Bool, favoritedDate: Milliseconds)
  /// The same of a field.
  case resolveField(Field)
}

extension Operation {
  /// The fields that were given, whether they are written or not.
  package var fields: [Field] {
    switch self {
    case .add(let fields, _): fields
    case .toggle(let fields, _): fields
    case .set(let fields): fields
    case .remove, .resolveMembership: []
    case .resolveField(let field): [field]
    }
  }
}
