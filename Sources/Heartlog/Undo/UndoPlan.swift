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
