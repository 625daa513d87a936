import Heartlog
import HeartlogSync
import Synchronization

/// Objects in memory, for tests: a store that numbers its changes, and has the faults that a network has.
package final class MemoryPlace: Place {
  /// What goes wrong, each in so many of a hundred calls.
  package struct Faults: Sendable {
    /// A call is not made: it throws.
    package var lostCalls = 0
    /// A call is made, and throws nevertheless: its answer is lost.
    package var lostAnswers = 0
    /// A list ends at an earlier change than the last one.
    package var lateLists = 0
    /// A list repeats some of its entries, and some that were told before, deleted ones among them.
    package var repeatedEntries = 0
    /// The entries of a list are in any order.
    package var shuffledLists = 0
    /// An object that was told is not here yet.
    package var lateObjects = 0

    package init() {}

    /// All of them, equally often.
    package init(each percent: Int) {
      lostCalls = percent
      lostAnswers = percent
      lateLists = percent
      repeatedEntries = percent
      shuffledLists = percent
      lateObjects = percent
    }
  }

  private struct State {
    var objects: [String: [UInt8]] = [:]
    /// What each change put, from the first one on.
    var changes: [ObjectList.Entry] = []
    /// Changes when the numbers begin anew, as after the loss of everything.
    var generation = 0
    var faults = Faults()
    var putCount = 0
    var missCount = 0
  }

  package let description = "memory"
  /// The most entries of a list.
  private let pageMax: Int
  private let random: @Sendable () -> UInt64
  private let state = Mutex(State())

  package init(pageMax: Int = 1_000, random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }) {
    self.pageMax = pageMax
    self.random = random
  }

  package var faults: Faults {
    get { state.withLock { $0.faults } }
    set { state.withLock { $0.faults = newValue } }
  }

  /// The names and bytes of all objects.
  package var objects: [String: [UInt8]] { state.withLock { $0.objects } }

  /// How many objects were put that were not there.
  package var putCount: Int { state.withLock { $0.putCount } }

  /// How many objects were asked for that were not there.
  package var missCount: Int { state.withLock { $0.missCount } }

  /// Replaces the bytes of an object, or puts it, whoever its writer is. `nil` loses it.
  package func replace(_ name: String, with bytes: [UInt8]?) {
    state.withLock { state in
      if let bytes, state.objects[name] == nil {
        state.changes.append(ObjectList.Entry(name, byteCount: UInt64(bytes.count)))
      }
      state.objects[name] = bytes
    }
  }

  /// Loses everything.
  package func loseAll() {
    state.withLock { state in
      state.objects = [:]
      state.changes = []
      state.generation += 1
    }
  }

  // MARK: - Place

  package func list(after cursor: PlaceCursor?) throws(HeartlogError) -> ObjectList {
    try answering("list") { state in
      let known = Self.position(cursor, in: state)
      let start = known ?? 0
      var end = min(state.changes.count, start + pageMax)
      let hasMore = end < state.changes.count
      let isLate = happens(state.faults.lateLists)
      if isLate { end = start + Int(random() % UInt64(end - start + 1)) }
      var entries = state.changes[start..<end].filter { state.objects[$0.name] != nil }
      if happens(state.faults.repeatedEntries) {
        entries += state.changes[..<end].filter { _ in happens(30) }
      }
      if happens(state.faults.shuffledLists) {
        for index in entries.indices.reversed() { entries.swapAt(index, Int(random() % UInt64(index + 1))) }
      }
      return ObjectList(
        entries, cursor: Self.cursor(end, in: state), startsOver: known == nil, hasMore: hasMore && !isLate)
    }
  }

  package func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent {
    try answering("get") { state in
      guard !happens(state.faults.lateObjects) else { return .absent }
      guard let bytes = state.objects[name] else {
        state.missCount += 1
        return .deleted
      }
      return bytes.count <= bytesMax ? .bytes(bytes) : .unreadable
    }
  }

  package func put(_ name: String, _ bytes: [UInt8]) throws(HeartlogError) {
    let isSame = try answering("put") { state in
      if let present = state.objects[name] { return present == bytes }
      state.objects[name] = bytes
      state.changes.append(ObjectList.Entry(name, byteCount: UInt64(bytes.count)))
      state.putCount += 1
      return true
    }
    guard isSame else { throw HeartlogError(.exists, "\(name) exists already, with other bytes") }
  }

  package func delete(_ name: String) throws(HeartlogError) {
    try answering("delete") { $0.objects[name] = nil }
  }

  /// Whether there may be objects after a cursor.
  package func hasMore(after cursor: PlaceCursor) -> Bool {
    state.withLock { state in Self.position(cursor, in: state).map { $0 < state.changes.count } ?? true }
  }

  // MARK: - Parts

  private func happens(_ percent: Int) -> Bool { percent > 0 && random() % 100 < UInt64(percent) }

  /// Makes a call, unless it or its answer is lost.
  private func answering<R: Sendable>(_ call: String, _ body: (inout State) -> R) throws(HeartlogError) -> R {
    let answer: R? = state.withLock { state in
      guard !happens(state.faults.lostCalls) else { return nil }
      let answer = body(&state)
      return happens(state.faults.lostAnswers) ? nil : answer
    }
    guard let answer else { throw HeartlogError(.inputOutput, "no answer to \(call)") }
    return answer
  }

  private static func cursor(_ position: Int, in state: State) -> PlaceCursor {
    PlaceCursor("\(state.generation):\(position)")
  }

  /// The position of a cursor; `nil` if it is none of these numbers.
  private static func position(_ cursor: PlaceCursor?, in state: State) -> Int? {
    guard let cursor, cursor.text.hasPrefix("\(state.generation):") else { return nil }
    return Int(cursor.text.dropFirst("\(state.generation):".count))
  }
}
