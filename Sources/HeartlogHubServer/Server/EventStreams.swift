import Heartlog
import HeartlogFiles
import HeartlogHub

/// The open event streams, and the thread that fills them. Unchecked: guarded by `condition`.
final class EventStreams: @unchecked Sendable {
  private let service: HubService
  private let condition = Condition()
  private var streams: [VaultID: [ObjectIdentifier: EventStream]] = [:]
  private var due: [ObjectIdentifier: EventStream] = [:]
  /// Vaults of which keys were removed.
  private var unsure: Set<VaultID> = []
  private var isEnding = false
  /// The streams that are not looked at yet in this cycle, and how many it began with. One after the other, so that comments to all of them
  /// never keep an event waiting.
  private var cycle: [EventStream] = []
  private var cycleCount = 0
  private var lastTurn = MonotonicClock.nanoseconds()
  private var thread: WorkerThread?

  /// The most streams of a vault.
  private let vaultMax: Int

  init(_ service: HubService, vaultMax: Int) throws(HeartlogError) {
    self.service = service
    self.vaultMax = vaultMax
    service.engine.observe { [weak self] in self?.tell($0) }
    thread = try WorkerThread { [weak self] in while self?.turn() ?? false {} }
  }

  var count: Int { condition.withLock { streams.values.reduce(0) { $0 + $1.count } } }

  /// Adds a stream, for which another one of its session or its vault may end. Returns false if the hub stops.
  func add(_ stream: EventStream) -> Bool {
    condition.withLock {
      if isEnding { return false }
      let others = streams[stream.member.vault].map { Array($0.values) } ?? []
      let own = others.filter { $0.token == stream.token }
      let surplus = own.count >= HubLimits.streamsMax ? own : others.count >= vaultMax ? others : []
      surplus.min { $0.start < $1.start }?.finish()
      streams[stream.member.vault, default: [:]][ObjectIdentifier(stream)] = stream
      due[ObjectIdentifier(stream)] = stream
      condition.notify()
      return true
    }
  }

  func remove(_ stream: EventStream) {
    condition.withLock {
      streams[stream.member.vault]?[ObjectIdentifier(stream)] = nil
      if streams[stream.member.vault]?.isEmpty ?? false { streams[stream.member.vault] = nil }
      due[ObjectIdentifier(stream)] = nil
    }
  }

  /// Objects were put in a vault.
  private func tell(_ vault: VaultID) {
    condition.withLock {
      guard let streams = streams[vault] else { return }
      due.merge(streams) { $1 }
      condition.notify()
    }
  }

  /// Sessions of a vault may be over.
  func check(_ vault: VaultID) {
    condition.withLock {
      unsure.insert(vault)
      condition.notify()
    }
  }

  /// Ends all streams, and takes no more.
  func close() {
    let thread = condition.withLock {
      isEnding = true
      condition.notify()
      defer { self.thread = nil }
      return self.thread
    }
    thread?.join()
  }

  /// Within so long, each stream is looked at: whether its session is over, and whether it has been silent.
  private static let cycleNanoseconds = 5e9
  private static let pauseMilliseconds = 50

  /// Takes the next streams of the cycle, as many as the time since the last turn asks for. - Precondition: The mutex is held.
  private func takeFromCycle(_ now: UInt64) -> [EventStream] {
    if cycle.isEmpty {
      cycle = streams.values.flatMap(\.values)
      cycleCount = cycle.count
    }
    let share = Double(now - lastTurn) / Self.cycleNanoseconds * Double(cycleCount)
    lastTurn = now
    let taken = Array(cycle.suffix(max(1, Int(min(share, Double(cycleCount)).rounded(.up)))))
    cycle.removeLast(taken.count)
    return taken
  }

  /// Fills the streams that are due. Returns false at the end.
  private func turn() -> Bool {
    let (work, checked, unsure) = condition.withLock { () -> ([EventStream], [EventStream], [EventStream]) in
      if due.isEmpty, self.unsure.isEmpty, !isEnding {
        condition.wait(milliseconds: streams.isEmpty ? 1_000 : Self.pauseMilliseconds)
      }
      defer {
        due = [:]
        self.unsure = []
      }
      return (
        Array(due.values), takeFromCycle(MonotonicClock.nanoseconds()),
        self.unsure.flatMap { streams[$0].map { Array($0.values) } ?? [] }
      )
    }
    let left = condition.withLock { isEnding ? streams.values.flatMap(\.values) : nil }
    if let left {
      for stream in left { stream.finish() }
      return false
    }
    var late: [EventStream] = []
    for stream in work {
      do throws(HubRefusal) { if try !stream.send(from: service) { late.append(stream) } } catch {
        stream.finish()
      }
    }
    let now = MonotonicClock.nanoseconds()
    for stream in unsure { endIfOver(stream) }
    for stream in checked {
      stream.dropIfStuck(now)
      if now >= stream.end { stream.finish() } else if stream.keepAlive(now) { endIfOver(stream) }
    }
    if !late.isEmpty {
      condition.withLock {
        for stream in late where streams[stream.member.vault]?[ObjectIdentifier(stream)] != nil {
          due[ObjectIdentifier(stream)] = stream
        }
        // A client that is slow is asked again soon.
        condition.wait(milliseconds: 50)
      }
    }
    return true
  }

  /// Ends a stream whose session is over. An engine that cannot say lets no more be read.
  private func endIfOver(_ stream: EventStream) {
    do throws(HubRefusal) { if try !service.isOpen(stream.token) { stream.finish() } } catch {
      stream.finish()
    }
  }
}
