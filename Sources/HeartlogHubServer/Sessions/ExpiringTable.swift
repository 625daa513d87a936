/// Values that go at a time. All have about the same time to live, so the first ones in go first; `subscript` may return
/// one that is over.
struct ExpiringTable<Key: Hashable, Value> {
  private var values: [Key: (value: Value, end: UInt64)] = [:]
  private var queue: [(key: Key, end: UInt64)] = []
  private var queueStart = 0
  private let countMax: Int

  /// - Parameter countMax: The most values; more push out the oldest.
  init(countMax: Int) { self.countMax = countMax }

  var count: Int { values.count }

  subscript(key: Key) -> Value? { values[key]?.value }

  mutating func insert(_ value: Value, for key: Key, until end: UInt64) {
    while values.count >= countMax, queueStart < queue.count { removeFirst() }
    values[key] = (value, end)
    queue.append((key, end))
  }

  mutating func remove(_ key: Key) -> Value? { values.removeValue(forKey: key)?.value }

  mutating func removeAll(where isGone: (Value) -> Bool) {
    values = values.filter { !isGone($0.value.value) }
  }

  mutating func expire(_ now: UInt64) {
    while queueStart < queue.count, queue[queueStart].end <= now { removeFirst() }
  }

  private mutating func removeFirst() {
    values[queue[queueStart].key] = nil
    queueStart += 1
    guard queueStart > 1_024, queueStart > queue.count / 2 else { return }
    queue.removeFirst(queueStart)
    queueStart = 0
  }
}
