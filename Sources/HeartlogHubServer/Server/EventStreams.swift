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
  private var thread: WorkerThread?

  init(_ service: HubService) throws(HeartlogError) {
    self.service = service
    service.engine.observe { [weak self] in self?.tell($0) }
    thread = try WorkerThread { [weak self] in while self?.turn() ?? false {} }
  }

  var count: Int { condition.withLock { streams.values.reduce(0) { $0 + $1.count } } }

  /// Adds a stream. Returns false if the hub stops.
  func add(_ stream: EventStream) -> Bool {
    condition.withLock {
      if isEnding { return false }
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

  /// Fills the streams that are due. Returns false at the end.
  private func turn() -> Bool {
    let (work, all, unsure, isEnding) = condition.withLock {
      () -> ([EventStream], [EventStream], Set<VaultID>, Bool) in
      if due.isEmpty, self.unsure.isEmpty, !self.isEnding { condition.wait(milliseconds: 1_000) }
      let work = Array(due.values)
      defer {
        due = [:]
        self.unsure = []
      }
      return (work, streams.values.flatMap(\.values), self.unsure, self.isEnding)
    }
    if isEnding {
      for stream in all { stream.finish() }
      return false
    }
    var late: [EventStream] = []
    for stream in work {
      do throws(HubRefusal) { if try !stream.send(from: service) { late.append(stream) } } catch {
        stream.finish()
      }
    }
    let now = MonotonicClock.nanoseconds()
    for stream in all {
      if now >= stream.end {
        stream.finish()
      } else if unsure.contains(stream.member.vault) || stream.keepAlive(now) {
        // An engine that cannot say whether the session is over lets no more be read.
        do throws(HubRefusal) { if try !service.isOpen(stream.token) { stream.finish() } } catch {
          stream.finish()
        }
      }
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
}
