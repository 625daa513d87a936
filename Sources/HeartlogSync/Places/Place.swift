import Heartlog
import HeartlogFiles
import HeartlogFormat

/// A place where devices leave objects for each other: bytes under names, which are never changed.
///
/// The names are those of the folder layout, `<writer>/<stream>/<file>`, wherever the place is. "Objects" in docs/shipping.md specifies
/// what each call promises. An object has one writer: only that device puts it, and only that device deletes it, or any once it writes
/// no more. Calls may come from any thread.
package protocol Place: Sendable {
  /// The name of the place, as shown to people.
  var description: String { get }

  /// What tells this place from all others, if reading an object again costs more than remembering that it was whole.
  var address: String? { get }

  /// Returns objects that were put after a cursor. An object may be told late and more than once, in any order, but each that stays is
  /// told at some time to whoever continues from the cursor of the answer before.
  ///
  /// - Parameter cursor: `nil` for the first list; otherwise that of the last answer.
  /// - Throws: `notAStore` if the place does not exist.
  func list(after cursor: PlaceCursor?) throws(HeartlogError) -> ObjectList

  /// Returns an object's bytes.
  func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent

  /// Stores an object, unless it is there already. It is durable when this returns. If this throws, it may be there nevertheless, and
  /// the same call again does no harm.
  ///
  /// - Throws: `exists` if there are other bytes under this name.
  func put(_ name: String, _ bytes: [UInt8]) throws(HeartlogError)

  /// Deletes an object. Does nothing if it is not there.
  func delete(_ name: String) throws(HeartlogError)

  /// Lets the members of an encrypted vault in, by their keys. Does nothing if the place knows nobody by a key.
  func admit(_ members: [PublicKey]) throws(HeartlogError)
}

extension Place {
  /// `nil`: it is as near as the store.
  package var address: String? { nil }

  /// Whoever reaches the place is in.
  package func admit(_ members: [PublicKey]) {}
}

/// A position in the changes of a place, as the place writes it. Only the place that made it understands it.
package struct PlaceCursor: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// A hash of all names and sizes, for a place that has no numbers for its changes.
  init(hashing entries: [ObjectList.Entry]) {
    var hasher = SHA256Hasher()
    for entry in entries {
      hasher.update(Array("\(entry.name)\n\(entry.byteCount.map { String($0) } ?? "")\n".utf8))
    }
    text = hasher.finish().description
  }
}

/// An answer of a place.
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
  package let cursor: PlaceCursor
  /// Whether the store tells from its beginning again. What is not told again is gone.
  package let startsOver: Bool
  /// Whether another list would tell more at once.
  package let hasMore: Bool
  /// Things in the same place that are no objects.
  package let foreignCount: Int

  package init(
    _ entries: [Entry], cursor: PlaceCursor, startsOver: Bool, hasMore: Bool = false, foreignCount: Int = 0
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
  /// A run file, or the next part of one, from a place that makes them of its own streams.
  case file(RunFile)
  /// It does not exist any more, or is not here yet.
  case absent
  /// It was deleted. If it is put again, it is told again.
  case deleted
  /// It is here and cannot be read, or is larger than asked for.
  case unreadable
  /// What is left of it cannot be read, because the place's own streams are damaged. Why, as a phrase.
  case lost(String)
}

/// The names of a place, as far as it told them.
///
/// A name that another device has deleted since may remain. Where reading finds that it is absent, it stays, because it may as well be late;
/// where the place knows that it was deleted, it goes.
struct ObjectCatalogue: Sendable {
  /// By name.
  private(set) var entries: [String: ObjectList.Entry] = [:]
  private(set) var foreignCount = 0
  /// The position after the last update.
  private(set) var cursor: PlaceCursor?

  /// Continues from where the last update ended.
  ///
  /// - Parameter options: End it between two answers.
  /// - Throws: `inputOutput` if there are more than `directoryNamesMax` names.
  mutating func update(from place: any Place, _ options: SyncOptions) throws(HeartlogError) {
    var hasMore = true
    var listedCount = 0
    while hasMore {
      let list = try place.list(after: cursor)
      if list.startsOver {
        entries.removeAll(keepingCapacity: true)
        foreignCount = 0
      }
      for entry in list.entries { add(entry) }
      foreignCount += list.foreignCount
      cursor = list.cursor
      // Whoever may put objects may put any number, and a server may list them without end.
      listedCount += list.entries.count + list.foreignCount
      guard entries.count <= directoryNamesMax, listedCount <= 2 * directoryNamesMax else {
        throw HeartlogError(
          .inputOutput, "cannot list \(place.description): more than \(directoryNamesMax) objects are there"
        )
      }
      hasMore = list.hasMore && !options.isOver
    }
  }

  /// Notes an object that was told, or that this device has put: it may be told later.
  mutating func add(_ entry: ObjectList.Entry) {
    // A folder may have a placeholder beside the file that was downloaded in its place.
    guard entry.byteCount != nil || entries[entry.name]?.byteCount == nil else { return }
    entries[entry.name] = entry
  }

  /// Forgets an object that was deleted.
  mutating func remove(_ name: String) { entries[name] = nil }
}
