// The small integers that stand for names inside one state. They mean nothing outside it and are never
// written anywhere; each is a type of its own, so that they cannot be swapped.

struct LibrarySlot: Hashable, Sendable { let index: Int32 }

/// An item of one library.
struct ItemSlot: Hashable, Sendable { let index: Int32 }

struct FieldNameSlot: Hashable, Sendable { let index: Int32 }

struct ReplicaSlot: Hashable, Sendable {
  let index: Int32

  /// Nobody: the register was never written.
  static let none = ReplicaSlot(index: -1)
}
