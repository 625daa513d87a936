import HeartlogFiles
import HeartlogFormat
import HeartlogHTTPServer
import Synchronization

/// The open event streams, and the thread that fills them.
final class EventStreams: Sendable {
  private struct State {
    var streams: [VaultID: [ObjectIdentifier: EventStream]] = [:]
    var due: [ObjectIdentifier: EventStream] = [:]
    var isEnding = false
    /// The streams that are not looked at yet in this cycle, and how many it began with. One after the other, so that comments to all of
    /// them never keep an event waiting.
    var cycle: [EventStream] = []
    var cycleCount = 0
    var lastTurn = MonotonicClock.nanoseconds()
    var thread: WorkerThread?

    func streams(of vault: VaultID) -> [EventStream] { streams[vault].map { Array($0.values) } ?? [] }

    /// Takes the next streams of the cycle, as many as the time since the last turn asks for.
    mutating func takeFromCycle(_ now: UInt64) -> [EventStream] {
      if cycle.isEmpty {
        cycle = streams.values.flatMap(\.values)
        cycleCount = cycle.count
      }
      let share = Double(now - lastTurn) / EventStreams.cycleNanoseconds * Double(cycleCount)
      lastTurn = now
      let taken = Array(cycle.suffix(max(1, Int(min(share, Double(cycleCount)).rounded(.up)))))
      cycle.removeLast(taken.count)
      return taken
    }
  }

  private let service: HubService
  private let monitor = Monitor(State())
  /// The most streams of a vault.
  private let vaultMax: Int

  init(_ service: HubService, vaultMax: Int) throws(HeartlogError) {
    self.service = service
    self.vaultMax = vaultMax
    service.engine.observe { [weak self] in self?.wake($0) }
    let thread = try WorkerThread { [weak self] in while self?.turn() ?? false {} }
    monitor.withLock { $0.thread = thread }
  }

  var count: Int { monitor.withLock { $0.streams.values.reduce(0) { $0 + $1.count } } }

  /// Adds a stream, for which another one of its session or its vault may end. Returns false if the hub stops.
  func add(_ stream: EventStream) -> Bool {
    monitor.withLock { state in
      if state.isEnding { return false }
      let vault = stream.session.member.vault
      let others = state.streams(of: vault)
      let own = others.filter { $0.session.token == stream.session.token }
      let surplus = own.count >= HubLimits.streamsMax ? own : others.count >= vaultMax ? others : []
      surplus.min { $0.start < $1.start }?.finish()
      state.streams[vault, default: [:]][ObjectIdentifier(stream)] = stream
      state.due[ObjectIdentifier(stream)] = stream
      monitor.notifyAll()
      return true
    }
  }

  func remove(_ stream: EventStream) {
    monitor.withLock { state in
      let vault = stream.session.member.vault
      state.streams[vault]?[ObjectIdentifier(stream)] = nil
      if state.streams[vault]?.isEmpty ?? false { state.streams[vault] = nil }
      state.due[ObjectIdentifier(stream)] = nil
    }
  }

  /// Looks at a vault in which objects were put, or whose keys have changed.
  func wake(_ vault: VaultID) {
    monitor.withLock { state in
      guard let streams = state.streams[vault] else { return }
      state.due.merge(streams) { $1 }
      monitor.notifyAll()
    }
  }

  /// Ends all streams, and takes no more.
  func close() {
    let thread = monitor.withLock { state in
      state.isEnding = true
      monitor.notifyAll()
      defer { state.thread = nil }
      return state.thread
    }
    thread?.join()
  }

  /// Within so long, each stream is looked at: whether its session is over, and whether it has been silent.
  private static let cycleNanoseconds = 5e9
  private static let pauseMilliseconds = 50

  /// Fills the streams that are due. Returns false at the end.
  private func turn() -> Bool {
    let (work, checked, left) = monitor.withLock { state in
      if state.due.isEmpty, !state.isEnding {
        monitor.wait(&state, milliseconds: state.streams.isEmpty ? 1_000 : Self.pauseMilliseconds)
      }
      defer { state.due = [:] }
      return (
        Array(state.due.values), state.takeFromCycle(MonotonicClock.nanoseconds()),
        state.isEnding ? state.streams.values.flatMap(\.values) : nil
      )
    }
    if let left {
      for stream in left { stream.finish() }
      return false
    }
    var late: [EventStream] = []
    for stream in work {
      do { if try !stream.send(from: service) { late.append(stream) } } catch { stream.finish() }
    }
    let now = MonotonicClock.nanoseconds()
    for stream in checked {
      stream.dropIfStuck(now)
      if now >= stream.session.end { stream.finish() } else if stream.keepAlive(now) { endIfOver(stream) }
    }
    if !late.isEmpty {
      monitor.withLock { state in
        for stream in late
        where state.streams[stream.session.member.vault]?[ObjectIdentifier(stream)] != nil {
          state.due[ObjectIdentifier(stream)] = stream
        }
        // A client that is slow is asked again soon.
        monitor.wait(&state, milliseconds: 50)
      }
    }
    return true
  }

  /// Ends a stream whose session is over. An engine that cannot say lets no more be read.
  private func endIfOver(_ stream: EventStream) {
    if (try? service.isOpen(stream.session.token)) != true { stream.finish() }
  }
}

/// One answer to `GET …/changes`: "Changes" in docs/hub.md.
final class EventStream: Sendable {
  let session: HubSession
  let start = MonotonicClock.nanoseconds()
  let connection: HTTPStream
  /// Closes the connection.
  private let drop: @Sendable () -> Void
  private let cursor: Mutex<ChangeCursor?>

  init(
    _ session: HubSession, after cursor: ChangeCursor?, connection: HTTPConnection,
    drop: @escaping @Sendable () -> Void
  ) {
    self.session = session
    self.cursor = Mutex(cursor)
    self.connection = HTTPStream(connection)
    self.drop = drop
  }

  static let listMax = 100
  /// Half of what the page promises, less a little.
  static let silence: UInt64 = 15 * 1_000_000_000
  /// How long a client may take for an event.
  private static let takingMax = UInt64(HubLimits.silenceSeconds) * 1_000_000_000

  /// Sends what was put after the cursor. Returns false if the client has not taken the event before.
  func send(from service: HubService) throws -> Bool {
    if connection.isBusy { return false }
    let list = try service.engine.list(
      after: cursor.withLock { $0 }, limit: Self.listMax, as: session.member)
    if list.entries.isEmpty, !list.startsOver {
      cursor.withLock { $0 = list.cursor }
      return true
    }
    var writer = JSONWriter()
    writer.beginObject()
    let isWhole = !list.hasMore && !list.startsOver
    if isWhole {
      list.append(to: &writer)
    } else {
      writer.member("cursor", list.head.description)
    }
    writer.endObject()
    let id = isWhole ? list.cursor : list.head
    cursor.withLock { $0 = id }
    connection.append(Array("id: \(id)\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8))
    return true
  }

  /// Sends a comment if nothing was sent for long. Returns whether it did.
  func keepAlive(_ now: UInt64) -> Bool {
    let isSilent = connection.isSilent(now, for: Self.silence)
    if isSilent { connection.append(Array(":\n\n".utf8)) }
    return isSilent
  }

  /// Closes the connection of a client that has not taken an event for too long.
  func dropIfStuck(_ now: UInt64) { if connection.isStuck(now, for: Self.takingMax) { drop() } }

  func finish() { connection.finish() }
}
