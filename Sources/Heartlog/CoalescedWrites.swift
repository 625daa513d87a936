import HeartlogFiles
import HeartlogEngine

/// Fields of items that are written at most once in an interval: the values that were reported last wait.
///
/// What waits is written when the interval is over, by `flush`, and before the store rests or closes. It yields to a write of the same
/// field that is newer than the report, by another device, process or caller.
package final class CoalescedWrites: Sendable {
  /// Values of an item that wait to be written.
  package struct Waiting: Equatable, Sendable {
    struct Value: Equatable, Sendable {
      let field: Field
      /// The stamp of a write at the time of the report. A write with a later stamp is newer.
      let stamp: HybridTimestamp
      /// What was stored at the time of the report, which a device-local field is compared with: it has no stamp.
      let before: FieldValue
    }

    var values: [Value] = []

    package var fields: [Field] { values.map(\.field) }

    /// Puts other values in place of those of the same fields.
    mutating func replace(_ fields: [Field], with reported: [Value]) {
      values.removeAll { value in fields.contains { $0.name.hasSameBytes(as: value.field.name) } }
      values += reported
    }
  }

  /// Writes fields of an item.
  package typealias Write = @Sendable (_ fields: [Field], _ id: String) throws(HeartlogError) -> Void

  fileprivate struct Key: Hashable {
    let library: String
    let id: UTF8Key
  }

  /// What waits, and where it goes. It keeps the store open until it is written.
  private struct Pending {
    let waiting: Waiting
    let library: FavoritesLibrary
    let write: Write
  }

  private struct Entry {
    let interval: Milliseconds
    var pending: Pending?
    /// When the item was last written from here.
    var writtenAt: Milliseconds?

    /// Whether the interval since a write is over. If the clock was set back, nothing waits for it.
    func isDue(since write: Milliseconds?, at now: Milliseconds) -> Bool {
      (writtenAt ?? write).map { $0.distance(to: now).magnitude >= interval.magnitude } ?? true
    }
  }

  /// What was written and need not wait any longer, once its commit is acknowledged.
  package struct Written: Sendable {
    fileprivate var items: [(key: Key, waiting: Waiting)] = []
  }

  private let clock: @Sendable () -> Milliseconds
  private let scheduler: any Scheduler
  private let entries = Monitor<[Key: Entry]>([:])

  init(_ options: StoreOptions) {
    clock = options.clock
    scheduler = options.storage.scheduler
  }

  // MARK: - Reporting

  /// Notes values of an item without writing them, beside those of other fields that wait. Those that are stored already do not wait.
  ///
  /// - Parameters:
  ///   - stored: the item as it is stored.
  ///   - write: how they are written, inside a write of the store.
  /// - Returns: whether they should be written now.
  package func report(
    _ fields: [Field], of id: String, in library: FavoritesLibrary, stored: ItemState?,
    every interval: Milliseconds, write: @escaping Write
  ) -> Bool {
    let now = clock()
    let differing = fields.filter { (stored?.value(of: $0.name) ?? .null) != $0.value }
    let (lastStamp, lastWrite) = library.store.read { state in
      (
        state.lastStamp,
        differing.compactMap { state.position(ofField: $0.name, of: id, in: library.name)?.stamp }.max()
      )
    }
    let stamp = max(lastStamp, HybridTimestamp(milliseconds: max(0, now)))
    let reported = differing.map {
      Waiting.Value(field: $0, stamp: stamp, before: stored?.value(of: $0.name) ?? .null)
    }
    let key = Key(library: library.name, id: UTF8Key(id))
    let (isDue, begins) = entries.withLock { entries in
      if entries.count >= Self.entriesMin {
        entries = entries.filter { $1.pending != nil || !$1.isDue(since: nil, at: now) }
      }
      let before = entries[key]
      var waiting = before?.pending?.waiting ?? Waiting()
      waiting.replace(fields, with: reported)
      let pending = Pending(waiting: waiting, library: library, write: write)
      let entry = Entry(
        interval: interval, pending: waiting.values.isEmpty ? nil : pending, writtenAt: before?.writtenAt)
      entries[key] = entry
      let isDue = entry.pending != nil && entry.isDue(since: lastWrite?.milliseconds, at: now)
      return (isDue, entry.pending != nil && before?.pending == nil && !isDue)
    }
    guard begins else { return isDue }
    let isTimed = scheduler.run(afterMilliseconds: Int(clamping: interval)) { [weak self, scheduler] in
      // After an error the values still wait, and the next report or `flush` throws it.
      scheduler.run { [weak self] in
        guard let now = self?.clock() else { return }
        try? self?.flush { $1.isDue(since: nil, at: now) }
      }
    }
    return isDue || !isTimed
  }

  /// With fewer items, those that were written long ago are not forgotten.
  private static let entriesMin = 256

  /// The values of an item that wait, and to which no newer write is stored.
  package func waiting(_ id: String, in library: String) -> Waiting? {
    let key = Key(library: library, id: UTF8Key(id))
    guard let pending = entries.withLock({ $0[key]?.pending }) else { return nil }
    let waiting = present(pending.waiting, of: id, pending.library)
    return waiting.values.isEmpty ? nil : waiting
  }

  /// Forgets the values of an item that wait.
  package func remove(_ id: String, in library: String) {
    _ = entries.withLock { $0.removeValue(forKey: Key(library: library, id: UTF8Key(id))) }
  }

  /// The values to which no newer write is stored.
  private func present(_ waiting: Waiting, of id: String, _ library: FavoritesLibrary) -> Waiting {
    Waiting(
      values: waiting.values.filter { value in
        let name = value.field.name
        if library.localFields.contains(name) {
          return (library.item(id)?.value(of: name) ?? .null) == value.before
        }
        // Inside a write, its own changes are newer than anything that waits.
        let stamp =
          if let transaction = WriteTransaction.joined(by: library.store) {
            transaction.shownWrites(ofFields: [name], of: id, in: library.name)[0]?.stamp
          } else {
            library.store.read { $0.position(ofField: name, of: id, in: library.name)?.stamp }
          }
        return stamp.map { $0 <= value.stamp } ?? true
      })
  }

  // MARK: - Writing

  /// Writes what waits in one commit: everything, or that of one library, or of one of its items.
  ///
  /// - Throws: the errors of a write, after which the values still wait.
  package func flush(_ id: String? = nil, in library: String? = nil) throws(HeartlogError) {
    let id = id.map(UTF8Key.init)
    try flush { key, _ in library ?? key.library == key.library && id ?? key.id == key.id }
  }

  private func flush(_ isWanted: (Key, Entry) -> Bool) throws(HeartlogError) {
    let wanted = waiting(isWanted)
    guard let store = wanted.values.first?.library.store else { return }
    let written = try store.writeAsOne { () throws(HeartlogError) in try write(wanted) { $1 } }
    forget(written)
  }

  /// Writes everything that waits in a library. Must be called inside a write.
  ///
  /// - Parameter replacing: gives the values to write in place of those that wait; nil for none.
  package func write(
    in library: String, replacing: (_ id: String, _ waiting: Waiting) -> Waiting?
  ) throws(HeartlogError) -> Written {
    try write(waiting { key, _ in key.library == library }, replacing)
  }

  private func waiting(_ isWanted: (Key, Entry) -> Bool) -> [Key: Pending] {
    entries.withLock { $0.filter(isWanted).compactMapValues(\.pending) }
  }

  private func write(
    _ wanted: [Key: Pending], _ replacing: (String, Waiting) -> Waiting?
  ) throws(HeartlogError) -> Written {
    var written = Written()
    for (key, pending) in wanted.sorted(by: {
      $0.key.id.text.bytesPrecede($1.key.id.text)
    }) {
      let id = key.id.text
      written.items.append((key, pending.waiting))
      guard let waiting = replacing(id, pending.waiting) else { continue }
      let fields = present(waiting, of: id, pending.library).fields
      if !fields.isEmpty { try pending.write(fields, id) }
    }
    return written
  }

  /// Notes that values were written. Newer ones that were reported since then still wait.
  package func forget(_ written: Written) {
    let now = clock()
    entries.withLock { entries in
      for (key, waiting) in written.items {
        entries[key]?.writtenAt = now
        if entries[key]?.pending?.waiting == waiting { entries[key]?.pending = nil }
      }
    }
  }
}

extension Favorites {
  /// Changes the stored item with this id at most once in an interval, for values that change many times a second, such as a playback
  /// position.
  ///
  /// ```swift
  /// try episodes.update(id, coalescing: .seconds(5)) { $0.position = player.position }
  /// ```
  ///
  /// The first change is written at once. Of those that follow within the interval, the last value of each property waits. ``item(_:)``
  /// returns it; a query and every other read show it once it is written: when the interval is over, at the next change after that, and
  /// by ``FavoritesStore/flush()``, `suspend()` and ``FavoritesStore/close()``. A crash loses what waits. What waits yields to a newer
  /// write of the same property, by another device or by any other call. Inside `write { }` this is `update(_:_:)`.
  ///
  /// - Parameters:
  ///   - id: the item's id.
  ///   - interval: the least time between two writes of the item.
  ///   - change: changes the item, but not its id.
  /// - Returns: whether anything was written now.
  /// - Throws: as `update(_:_:)`. After an error of a write, the values still wait.
  @discardableResult
  public func update(
    _ id: Item.ID, coalescing interval: Duration, _ change: (inout Item) throws -> Void
  ) throws -> Bool {
    guard WriteTransaction.joined(by: library.store) == nil else { return try update(id, change) }
    var item = try stored(id)
    let before = try fields(of: item, isWritten: false)
    try apply(change, to: &item, id)
    let changed = try checkedFields(of: item).filter { !before.contains($0) }
    guard !changed.isEmpty else { return false }
    let text = id.favoriteID
    let isDue = library.store.coalesced.report(
      changed, of: text, in: library, stored: library.item(text), every: interval.wholeMilliseconds
    ) { [id] (fields, _) throws(HeartlogError) in _ = try perform(.set(fields: fields), on: id) }
    if isDue { try library.store.coalesced.flush(text, in: library.name) }
    return isDue
  }
}

extension Duration {
  /// At least 0, without the rest.
  package var wholeMilliseconds: Milliseconds {
    let (seconds, attoseconds) = max(.zero, self).components
    return min(seconds, .max / 2_000) * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}
