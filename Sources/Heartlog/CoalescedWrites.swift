import HeartlogFiles
import HeartlogEngine

/// Fields of items that are written at most once in an interval: the values that were reported last wait.
///
/// What waits is written when the interval is over, by `flush`, and before the store rests or closes. It yields to a write of the same
/// field that is newer than the report, by another device, process or caller.
package final class CoalescedWrites: Sendable {
  /// Values of an item that wait to be written.
  package struct Waiting: Equatable, Sendable {
    package var fields: [Field]
    /// The stamp of a write at the time of the report. A write with a later stamp is newer.
    package var stamp: HybridTimestamp
    /// The values at the time of the report, which device-local fields are compared with: they have no stamp.
    var before: [Field]
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

  /// Notes values of an item without writing them. Those that are stored already do not wait.
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
    let waiting = Waiting(
      fields: differing, stamp: max(lastStamp, HybridTimestamp(milliseconds: max(0, now))),
      before: differing.map { Field(name: $0.name, value: stored?.value(of: $0.name) ?? .null) })
    let key = Key(library: library.name, id: UTF8Key(id))
    let (isDue, begins) = entries.withLock { entries in
      if entries.count >= Self.entriesMin {
        entries = entries.filter { $1.pending != nil || !$1.isDue(since: nil, at: now) }
      }
      let before = entries[key]
      let pending = Pending(waiting: waiting, library: library, write: write)
      let entry = Entry(
        interval: interval, pending: differing.isEmpty ? nil : pending, writtenAt: before?.writtenAt)
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
    return waiting.fields.isEmpty ? nil : waiting
  }

  /// Forgets the values of an item that wait.
  package func remove(_ id: String, in library: String) {
    _ = entries.withLock { $0.removeValue(forKey: Key(library: library, id: UTF8Key(id))) }
  }

  /// The values to which no newer write is stored.
  private func present(_ waiting: Waiting, of id: String, _ library: FavoritesLibrary) -> Waiting {
    let indices = waiting.fields.indices.filter { index in
      let name = waiting.fields[index].name
      if library.localFields.contains(name) {
        return (library.item(id)?.value(of: name) ?? .null) == waiting.before[index].value
      }
      let stamp = library.store.read { $0.position(ofField: name, of: id, in: library.name)?.stamp }
      return stamp.map { $0 <= waiting.stamp } ?? true
    }
    return Waiting(
      fields: indices.map { waiting.fields[$0] }, stamp: waiting.stamp,
      before: indices.map { waiting.before[$0] })
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
      $0.key.id.text.utf8.lexicographicallyPrecedes($1.key.id.text.utf8)
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
  /// Updates the stored fields of an item at most once in an interval, for values that change many times a second, such as a playback
  /// position.
  ///
  /// The first update is written at once. Of those that follow within the interval the last one waits, and reads show it once it is
  /// written: when the interval is over, at the next update after that, and by ``FavoritesStore/flush()``, `suspend()` and
  /// ``FavoritesStore/close()``. A crash loses what waits. A field that waits yields to a newer write of it, by another device or by any
  /// other call. Inside `write { }` it is `update(_:)`.
  ///
  /// - Parameters:
  ///   - item: the item with its new values.
  ///   - interval: the least time between two writes of the item.
  /// - Returns: whether any field was written now.
  /// - Throws: `invalidItem` or `invalid` if the item cannot be stored; any error of a write, after which the
  ///   values still wait: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func update(_ item: Item, coalescing interval: Duration) throws(HeartlogError) -> Bool {
    guard WriteTransaction.joined(by: library.store) == nil else { return try update(item) }
    let id = item.id.favoriteID
    let fields = try checkedFields(of: item)
    let isDue = library.store.coalesced.report(
      fields, of: id, in: library, stored: library.item(id), every: interval.wholeMilliseconds
    ) { (fields, _) throws(HeartlogError) in _ = try perform(.set(fields: fields), on: item.id) }
    if isDue { try library.store.coalesced.flush(id, in: library.name) }
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
