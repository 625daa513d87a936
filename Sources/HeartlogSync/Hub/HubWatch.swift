import Heartlog
import HeartlogFiles
import HeartlogFormat

/// An event stream of a hub that stays open while objects are put and read over other connections: "Changes" in docs/hub.md.
///
/// A sync that follows a watch lists what the stream has told, without asking the hub. What this device put itself is no news.
final class HubWatch: Sendable {
  private let connection: HubConnection
  private let changes = ChangeBuffer()

  init(_ connection: HubConnection) { self.connection = connection }

  deinit { changes.stop() }

  /// Ends the connection. A later wait opens another one.
  func close() { changes.stop() }

  /// Waits until the hub tells of something that was put after a cursor.
  ///
  /// - Returns: False if the time is over before.
  func wait(
    after cursor: PlaceCursor, milliseconds: Int, isOver: () -> Bool
  ) throws(HeartlogError) -> Bool {
    if changes.restart(after: cursor) {
      let (connection, changes) = (connection, changes)
      do throws(HeartlogError) {
        try WorkerThread { Self.run(connection, changes) }.leave()
      } catch {
        changes.end(nil)
        throw error
      }
    }
    return try changes.wait(milliseconds: milliseconds, isOver: isOver)
  }

  /// Lists what was put after a cursor: what the stream told, if it told all since a watch ended, else what `ask` returns.
  func list(
    after cursor: PlaceCursor?, ask: () throws(HeartlogError) -> ObjectList
  ) throws(HeartlogError) -> ObjectList {
    if let list = changes.take(after: cursor) { return list }
    do throws(HeartlogError) {
      let list = try ask()
      changes.continue(from: list)
      return list
    } catch {
      changes.loseTrack()
      throw error
    }
  }

  /// Runs what puts an object. If it stores one, the event of that is no news.
  func whilePutting(
    _ name: String, _ put: () throws(HeartlogError) -> HTTPAnswer
  ) throws(HeartlogError) -> HTTPAnswer {
    changes.ignore(name)
    var isStored = false
    defer { if !isStored { changes.ignoreNoMore(name) } }
    let answer = try put()
    isStored = answer.status == 201
    return answer
  }

  /// Reads the stream, and opens it again when it ends, until nobody waits for it any more.
  private static func run(_ connection: HubConnection, _ changes: ChangeBuffer) {
    var pauses = Backoff()
    while !changes.isOver {
      var events = EventStream(bytesMax: HubLimits.jsonBytesMax)
      let start = MonotonicClock.nanoseconds()
      do throws(HeartlogError) {
        try connection.stream(
          {
            connection.path("changes" + (changes.position.map { "?after=\($0.text)" } ?? ""))
          }, isOver: { changes.isOver },
          receive: { bytes in
            for data in events.read(bytes) {
              changes.append((try? JSONValue.parse(data)).flatMap { HubPlace.list($0) })
            }
            return changes.noteBytes()
          },
          end: {
            events = EventStream(bytesMax: HubLimits.jsonBytesMax)
            changes.disconnect()
          })
      } catch {
        changes.end(error.isEarlyEnd ? nil : error)
        return
      }
      // A hub ends each stream with its session.
      if MonotonicClock.nanoseconds() - start > steadyNanoseconds { pauses.reset() }
      connection.pause(&pauses) { changes.isOver }
    }
    changes.end(nil)
  }

  /// A stream that was open for so long did not end because something is wrong.
  private static let steadyNanoseconds: UInt64 = 60 * 1_000_000_000
}

/// What a stream told and nobody took yet.
private final class ChangeBuffer: Sendable {
  private struct State {
    var isRunning = false
    var isStopped = false
    /// When bytes came last over the connection that is open; `nil` if none is.
    var lastBytes: UInt64?
    /// Whether a watch ended and nobody has listed since. Only then is it known that the stream told what there is.
    var isWatched = false
    /// Up to where everything was taken.
    var start: PlaceCursor?
    /// What was told after that, up to where the stream is.
    var entries: [ObjectList.Entry] = []
    var foreignCount = 0
    var end: PlaceCursor?
    /// Whether the hub must be asked: it may have more than it told.
    var isPartial = false
    /// Names that this device is putting, or put, and that were not told yet.
    var ignored: Set<String> = []
    var failure: HeartlogError?
    var waiters = 0
    var lastWait: UInt64 = 0

    var hasNews: Bool { isPartial || !entries.isEmpty || foreignCount > 0 }

    mutating func removeEntries() {
      entries = []
      foreignCount = 0
      end = nil
    }
  }

  private let monitor = Monitor(State())

  /// How long a stream stays open that nobody waits for.
  private static let idleNanoseconds: UInt64 = 300 * 1_000_000_000
  /// How long a connection counts as open without a byte. A hub sends a comment every 30 seconds at least.
  private static let silenceNanoseconds: UInt64 = 40 * 1_000_000_000
  private static let pollMilliseconds = 100
  private static let entriesMax = 1_000

  // MARK: - The thread of the stream

  /// Where the stream goes on.
  var position: PlaceCursor? { monitor.withLock { $0.end ?? $0.start } }

  var isOver: Bool {
    monitor.withLock { state in
      state.isStopped
        || state.waiters == 0 && MonotonicClock.nanoseconds() - state.lastWait > Self.idleNanoseconds
    }
  }

  /// - Returns: Whether the stream goes on.
  func noteBytes() -> Bool {
    monitor.withLock { $0.lastBytes = MonotonicClock.nanoseconds() }
    return !isOver
  }

  func disconnect() {
    monitor.withLock { state in
      state.lastBytes = nil
      state.ignored = []
    }
  }

  /// Takes what an event told; `nil` if it told not all.
  func append(_ list: ObjectList?) {
    monitor.withLock { state in
      guard let list, !list.startsOver, !list.hasMore,
        state.entries.count + list.entries.count <= Self.entriesMax
      else {
        state.removeEntries()
        state.isPartial = true
        monitor.notifyAll()
        return
      }
      state.end = list.cursor
      state.foreignCount += list.foreignCount
      for entry in list.entries where state.ignored.remove(entry.name) == nil { state.entries.append(entry) }
      if state.hasNews { monitor.notifyAll() }
    }
  }

  func end(_ failure: HeartlogError?) {
    monitor.withLock { state in
      state.isRunning = false
      state.lastBytes = nil
      state.failure = failure
      monitor.notifyAll()
    }
  }

  func stop() { monitor.withLock { $0.isStopped = true } }

  // MARK: - Who waits

  /// Begins to read after a cursor.
  ///
  /// - Returns: Whether a thread must be started.
  func restart(after cursor: PlaceCursor) -> Bool {
    monitor.withLock { state in
      if state.isRunning {
        // Somebody listed elsewhere.
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
    monitor.withLock { $0.waiters += 1 }
    defer {
      monitor.withLock { state in
        state.waiters -= 1
        state.lastWait = MonotonicClock.nanoseconds()
        state.isWatched = true
      }
    }
    while true {
      let failure: HeartlogError? = monitor.withLock { state in
        defer { state.failure = nil }
        return state.failure
      }
      if let failure { throw failure }
      if monitor.withLock({ $0.hasNews || !$0.isRunning }) { return true }
      guard !isOver() else { return false }
      let now = MonotonicClock.nanoseconds()
      guard now < end else {
        // Now and then the hub is asked, whatever it told.
        monitor.withLock { $0.isPartial = true }
        return false
      }
      monitor.withLock { state in
        if state.failure == nil, state.isRunning, !state.hasNews {
          monitor.wait(&state, milliseconds: min(Self.pollMilliseconds, Int((end - now) / 1_000_000) + 1))
        }
      }
    }
  }

  // MARK: - Who lists and puts

  /// Takes what was told after a cursor; `nil` if the hub must be asked.
  func take(after cursor: PlaceCursor?) -> ObjectList? {
    monitor.withLock { state in
      let isOpen =
        state.lastBytes.map { MonotonicClock.nanoseconds() - $0 < Self.silenceNanoseconds } ?? false
      let isWatched = state.isWatched
      state.isWatched = false
      defer { state.removeEntries() }
      guard isOpen, isWatched, !state.isPartial, let start = state.start, cursor == start else {
        // The answer contains what was told so far. What is told from now on may be missing in it.
        state.isPartial = false
        return nil
      }
      let end = state.end ?? start
      state.start = end
      return ObjectList(state.entries, cursor: end, startsOver: false, foreignCount: state.foreignCount)
    }
  }

  /// Goes on after the answer of the hub.
  func `continue`(from list: ObjectList) {
    monitor.withLock { state in
      state.start = list.cursor
      // Otherwise the rest would be passed over.
      if list.hasMore { state.isPartial = true }
    }
  }

  /// Notes that the hub was asked and did not answer.
  func loseTrack() { monitor.withLock { $0.isPartial = true } }

  func ignore(_ name: String) { monitor.withLock { if $0.lastBytes != nil { $0.ignored.insert(name) } } }

  func ignoreNoMore(_ name: String) { monitor.withLock { _ = $0.ignored.remove(name) } }
}

/// Reads the data of events from a stream of server-sent events (HTML, "Server-sent events").
struct EventStream {
  private var line: [UInt8] = []
  /// The data of the event that is not over yet; `nil` if it has none so far.
  private var data: [UInt8]?
  private var isAfterReturn = false
  /// Lines and events are read to their ends, and kept up to so many bytes.
  private let bytesMax: Int

  private static let name = Array("data".utf8)

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// Reads on.
  ///
  /// - Returns: The data of the events that ended. What is too long is cut off, so that it is no JSON.
  mutating func read(_ bytes: [UInt8]) -> [[UInt8]] {
    var events: [[UInt8]] = []
    for byte in bytes {
      // A line ends with CR, LF or both.
      defer { isAfterReturn = byte == 0x0D }
      if byte == 0x0A, isAfterReturn { continue }
      guard byte == 0x0A || byte == 0x0D else {
        if line.count < bytesMax { line.append(byte) }
        continue
      }
      if line.isEmpty {
        if let data { events.append(data) }
        data = nil
      } else {
        takeLine()
      }
      line.removeAll(keepingCapacity: true)
    }
    return events
  }

  private mutating func takeLine() {
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    guard name.elementsEqual(Self.name) else { return }
    var value = line.dropFirst(name.count + 1)
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    if data == nil { data = [] } else { data?.append(0x0A) }
    let room = max(0, bytesMax - (data?.count ?? 0))
    data?.append(contentsOf: value.prefix(room))
  }
}
