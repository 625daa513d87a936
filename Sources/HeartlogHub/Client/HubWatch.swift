import Heartlog
import HeartlogEvents
import HeartlogFiles
import HeartlogShipping

/// An event stream of a hub that stays open while objects are put and read over other connections: "Changes" in docs/hub.md.
///
/// What it tells need not be asked for, and what this device put itself is no news.
final class HubWatch: Sendable {
  private let connection: HubConnection
  private let told = HubTold()

  init(_ connection: HubConnection) { self.connection = connection }

  deinit { told.stop() }

  /// Waits until the hub tells of something that was put after a cursor.
  ///
  /// - Returns: False if the time is over before.
  func wait(
    after cursor: ObjectCursor, milliseconds: Int, isOver: () -> Bool
  ) throws(HeartlogError) -> Bool {
    if told.begins(after: cursor) {
      let (connection, told) = (connection, told)
      do throws(HeartlogError) {
        try WorkerThread { Self.run(connection, told) }.leave()
      } catch {
        told.end(nil)
        throw error
      }
    }
    return try told.wait(milliseconds: milliseconds, isOver: isOver)
  }

  /// What was told after a cursor; `nil` if the hub must be asked.
  func list(after cursor: ObjectCursor?) -> ObjectList? { told.list(after: cursor) }

  /// Notes the answer of the hub when it was asked.
  func note(_ list: ObjectList) { told.note(list) }

  /// Notes that this device is about to put an object.
  func expect(_ name: String) { told.expect(name) }

  /// Reads the stream, and opens it again when it ends, until nobody waits for it any more.
  private static func run(_ connection: HubConnection, _ told: HubTold) {
    var pauses = HubPauses()
    while let cursor = told.position {
      var events = EventStream(bytesMax: HubLimits.jsonBytesMax)
      do throws(HeartlogError) {
        try connection.stream(
          connection.path("changes?after=\(try HubObjects.text(of: cursor))"), isOver: { told.isOver },
          receive: { bytes in
            for data in events.read(bytes) {
              pauses.reset()
              told.take((try? JSONValue.parse(data)).flatMap { HubObjects.list($0) })
            }
            return told.connect()
          },
          end: {
            events = EventStream(bytesMax: HubLimits.jsonBytesMax)
            told.disconnect()
          })
      } catch {
        told.end(error.isEarlyEnd ? nil : error)
        return
      }
      connection.pause({ pauses.next($0) }, { told.isOver })
    }
    told.end(nil)
  }
}

/// What a stream told and nobody took yet.
private final class HubTold: Sendable {
  private struct State {
    var isRunning = false
    var isStopped = false
    /// Whether the stream is open now, so that silence means that there is nothing.
    var isConnected = false
    /// Up to where everything was handed over.
    var start: ObjectCursor?
    /// What was told after that, up to where the stream is.
    var entries: [ObjectList.Entry] = []
    var foreignCount = 0
    var end: ObjectCursor?
    /// Whether the hub must be asked: it has more than it told.
    var isPartial = false
    /// Names that this device put, and that were not told yet.
    var expected: Set<String> = []
    var failure: HeartlogError?
    var waiters = 0
    var lastWait: UInt64 = 0

    var hasNews: Bool { isPartial || !entries.isEmpty || foreignCount > 0 }
  }

  // Guarded by the condition.
  nonisolated(unsafe) private var state = State()
  private let condition = Condition()

  /// How long a stream stays open that nobody waits for.
  private static let idleNanoseconds: UInt64 = 300 * 1_000_000_000
  private static let pollMilliseconds = 100

  private func locked<R>(_ body: (inout State) -> R) -> R { condition.withLock { body(&state) } }

  // MARK: - The thread of the stream

  /// Where the stream goes on; `nil` if it should not.
  var position: ObjectCursor? { isOver ? nil : locked { $0.end ?? $0.start } }

  var isOver: Bool {
    locked { state in
      state.isStopped
        || state.waiters == 0 && MonotonicClock.nanoseconds() - state.lastWait > Self.idleNanoseconds
    }
  }

  /// - Returns: Whether the stream goes on.
  func connect() -> Bool {
    locked { $0.isConnected = true }
    return !isOver
  }

  func disconnect() {
    locked { state in
      state.isConnected = false
      state.expected = []
    }
  }

  /// Takes an event; `nil` for one that does not tell all.
  func take(_ list: ObjectList?) {
    locked { state in
      guard let list, !list.startsOver, !list.hasMore else {
        state.isPartial = true
        condition.notify()
        return
      }
      state.end = list.cursor
      state.foreignCount += list.foreignCount
      for entry in list.entries where state.expected.remove(entry.name) == nil { state.entries.append(entry) }
      if state.hasNews { condition.notify() }
    }
  }

  func end(_ failure: HeartlogError?) {
    locked { state in
      state.isRunning = false
      state.isConnected = false
      state.failure = failure
      condition.notify()
    }
  }

  func stop() { locked { $0.isStopped = true } }

  // MARK: - Who waits

  /// Goes on after a cursor.
  ///
  /// - Returns: Whether a thread must be started.
  func begins(after cursor: ObjectCursor) -> Bool {
    locked { state in
      if state.isRunning {
        // Somebody asked elsewhere.
        if state.start != cursor { state.isPartial = true }
        return false
      }
      state = State()
      state.isRunning = true
      state.start = cursor
      state.lastWait = MonotonicClock.nanoseconds()
      return true
    }
  }

  func wait(milliseconds: Int, isOver: () -> Bool) throws(HeartlogError) -> Bool {
    let end = MonotonicClock.nanoseconds() + UInt64(milliseconds) * 1_000_000
    locked { $0.waiters += 1 }
    defer {
      locked { state in
        state.waiters -= 1
        state.lastWait = MonotonicClock.nanoseconds()
      }
    }
    while true {
      let failure: HeartlogError? = locked { state in
        defer { state.failure = nil }
        return state.failure
      }
      if let failure { throw failure }
      if locked({ $0.hasNews || !$0.isRunning }) { return true }
      guard !isOver() else { return false }
      let now = MonotonicClock.nanoseconds()
      guard now < end else {
        // Now and then the hub is asked, whatever it told.
        locked { $0.isPartial = true }
        return false
      }
      condition.withLock {
        if state.failure == nil, !state.hasNews {
          condition.wait(milliseconds: min(Self.pollMilliseconds, Int((end - now) / 1_000_000) + 1))
        }
      }
    }
  }

  func list(after cursor: ObjectCursor?) -> ObjectList? {
    locked { state in
      guard state.isConnected, !state.isPartial, let start = state.start, cursor == start else {
        // What is told while the hub is asked is news again.
        state.isPartial = false
        return nil
      }
      let end = state.end ?? start
      defer {
        state.start = end
        state.entries = []
        state.foreignCount = 0
      }
      return ObjectList(state.entries, cursor: end, startsOver: false, foreignCount: state.foreignCount)
    }
  }

  func note(_ list: ObjectList) {
    locked { state in
      state.start = list.cursor
      // Otherwise the rest would be passed over.
      if list.hasMore { state.isPartial = true }
    }
  }

  func expect(_ name: String) { locked { if $0.isConnected { $0.expected.insert(name) } } }
}
