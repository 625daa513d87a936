import Heartlog
import HeartlogFormat

/// A place where devices leave objects for each other: bytes under names, which are never changed.
///
/// The names are those of the folder layout, `<writer>/<stream>/<file>`, wherever the place is. "Objects" in docs/shipping.md specifies
/// what each call promises. An object has one writer: only that device puts it, and only that device deletes it, or any once it writes
/// no more. Calls may come from any thread.
package protocol ObjectStore: Sendable {
  /// The name of the place, as shown to people.
  var description: String { get }

  /// What tells this place from all others, if reading an object again costs more than remembering that it was whole.
  var address: String? { get }

  /// Returns objects that were put after a cursor. An object may be told late and more than once, in any order, but each that stays is
  /// told at some time to whoever continues from the cursor of the answer before.
  ///
  /// - Parameter cursor: `nil` for the first list; otherwise that of the last answer.
  /// - Throws: `notAStore` if the place does not exist.
  func list(after cursor: ObjectCursor?) throws(HeartlogError) -> ObjectList

  /// Returns an object's bytes.
  func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent

  /// Stores an object, unless it is there already. It is durable when this returns. If this throws, it may be there nevertheless, and
  /// the same call again does no harm.
  ///
  /// - Throws: `exists` if there are other bytes under this name.
  func put(_ name: String, _ bytes: [UInt8]) throws(HeartlogError)

  /// Deletes an object. Does nothing if it is not there.
  func delete(_ name: String) throws(HeartlogError)

  /// Waits until there may be objects after a cursor, at most so long.
  ///
  /// - Returns: Whether there may be some.
  func watch(after cursor: ObjectCursor, milliseconds: Int) throws(HeartlogError) -> Bool

  /// Removes what interrupted calls of a writer left behind, and nobody lists.
  func removeRemains(of writer: ReplicaID) throws(HeartlogError)

  /// Lets the members of an encrypted vault in, by their keys. Does nothing if the place knows nobody by a key.
  func admit(_ members: [PublicKey]) throws(HeartlogError)
}

extension ObjectStore {
  /// `nil`: it is as near as the store.
  package var address: String? { nil }

  /// Whoever reaches the place is in.
  package func admit(_ members: [PublicKey]) {}
}

/// A position in the changes of an object store, as the store writes it. Only the store that made it understands it.
package struct ObjectCursor: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }
}

/// An answer of an object store.
package struct ObjectList: Sendable {
  package struct Entry: Hashable, Sendable {
    package let name: String
    /// The size; `nil` if the object is known to exist, but is not here yet.
    package let byteCount: UInt64?

    package init(_ name: String, byteCount: UInt64?) {
      self.name = name
      self.byteCount = byteCount
    }
  }

  package var entries: [Entry]
  /// The position after the entries.
  package let cursor: ObjectCursor
  /// Whether the store tells from its beginning again. What is not told again is gone.
  package let startsOver: Bool
  /// Whether another list would tell more at once.
  package let hasMore: Bool
  /// Things in the same place that are no objects.
  package let foreignCount: Int

  package init(
    _ entries: [Entry], cursor: ObjectCursor, startsOver: Bool, hasMore: Bool = false, foreignCount: Int = 0
  ) {
    self.entries = entries
    self.cursor = cursor
    self.startsOver = startsOver
    self.hasMore = hasMore
    self.foreignCount = foreignCount
  }
}

/// What `get` finds.
package enum ObjectContent: Hashable, Sendable {
  case bytes([UInt8])
  /// It does not exist any more, or is not here yet.
  case absent
  /// It was deleted. If it is put again, it is told again.
  case deleted
  /// It is here and cannot be read, or is larger than asked for.
  case unreadable
}
