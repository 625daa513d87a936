// Small integers that stand for names inside one state. They mean nothing outside it; a snapshot contains slots of its own. Each has a type
// of its own, so that they cannot be mixed up.

struct LibrarySlot: Hashable, Sendable { let index: Int32 }

/// An item of one library.
struct ItemSlot: Hashable, Sendable { let index: Int32 }

struct FieldNameSlot: Hashable, Sendable { let index: Int32 }

struct ReplicaSlot: Hashable, Sendable {
  let index: Int32

  /// No replica: the register was never written.
  static let none = ReplicaSlot(index: -1)
}
