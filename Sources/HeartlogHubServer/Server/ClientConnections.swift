import HeartlogFiles
import HeartlogFormat

/// The connections of clients, what each holds, and when it must have made progress: "Limits" in docs/hub.md.
///
/// Connections and the memory for bodies are shared out: among addresses, then among the vaults of an address, then among the sessions of
/// a vault. When one of them is used up, whoever holds most gives way to whoever would still hold less.
final class ClientConnections: Sendable {
  struct Limits: Sendable {
    var connections = 4_096
    /// Bytes of all bodies that are in memory at a time.
    var bodyBytes = 256 << 20

    var connectionsOfAddress: Int { max(8, connections / 4) }
  }

  /// Connections beyond the limit, on which only requests for the hub's health are answered.
  static let spareCount = 16
  private static let spareSeconds = 5

  /// Who holds something.
  private struct Owner: Hashable {
    let address: String
    var vault: VaultID?
    var session: Digest?

    /// The owner with its first parts only.
    func prefix(_ count: Int) -> Owner {
      Owner(address: address, vault: count > 1 ? vault : nil, session: count > 2 ? session : nil)
    }

    static let partCount = 3
  }

  private struct Connection {
    enum State {
      /// No whole header of a request has come.
      case waiting
      case receiving
      /// The engine has the request.
      case working
      case sending
      case streaming(end: @Sendable () -> Void)
    }

    let descriptor: Int32
    var owner: Owner
    var state = State.waiting
    /// When it is closed, on the clock; `nil` for never.
    var deadline: UInt64?
    /// Bytes of its body or its answer that are in memory.
    var held = 0
    let isSpare: Bool
    var isDropped = false

    /// Whether closing it frees what it holds.
    var isReleasable: Bool {
      switch state {
      case .receiving, .sending: !isDropped
      case .waiting, .working, .streaming: false
      }
    }
  }

  /// All of them.
  private struct Table {
    let shutDown: @Sendable (_ descriptor: Int32) -> Void
    var free: Int
    var connections: [Int: Connection] = [:]
    /// Those that were not dropped, in the order in which they came.
    var open: [String: [Int]] = [:]
    var openCount = 0
    var lastID = 0

    /// Closes the first connection of an address that waits for a request, or else its first stream.
    ///
    /// - Returns: Whether it was a spare one; `nil` if there is none.
    mutating func dropFirst(of address: String, streams: Bool) -> Bool? {
      func first(where isWanted: (Connection.State) -> Bool) -> Int? {
        open[address]?.first { connections[$0].map { isWanted($0.state) } ?? false }
      }
      let found =
        first { if case .waiting = $0 { true } else { false } }
        ?? (streams ? first { if case .streaming = $0 { true } else { false } } : nil)
      guard let found else { return nil }
      drop(found)
      return connections[found]?.isSpare
    }

    mutating func drop(_ id: Int) {
      guard let connection = connections[id], !connection.isDropped else { return }
      forget(id)
      if connection.isReleasable {
        free += connection.held
        connections[id]?.held = 0
      }
      connections[id]?.isDropped = true
      connections[id]?.deadline = nil
      shutDown(connection.descriptor)
      // A suspended connection does not look at its socket.
      if case .streaming(let end) = connection.state { end() }
    }

    /// Counts a connection no more among those that are open.
    mutating func forget(_ id: Int) {
      guard let connection = connections[id], !connection.isDropped else { return }
      let address = connection.owner.address
      if let place = open[address]?.firstIndex(of: id) {
        open[address]?.remove(at: place)
        openCount -= 1
      }
      if open[address]?.isEmpty ?? false { open[address] = nil }
    }

    /// The connections that give way so that another one may hold more bytes; `nil` if it holds its share already.
    func victims(_ byteCount: Int, for id: Int) -> [Int]? {
      guard let taker = connections[id]?.owner else { return nil }
      let holders = connections.filter { $0.value.held > 0 }
      var missing = byteCount - free
      var victims: [Int] = []
      for partCount in 1...Owner.partCount {
        let outer = taker.prefix(partCount - 1)
        var groups: [Owner: [(id: Int, held: Int, isReleasable: Bool)]] = [:]
        for (id, holder) in holders where partCount == 1 || holder.owner.prefix(partCount - 1) == outer {
          groups[holder.owner.prefix(partCount), default: []].append((id, holder.held, holder.isReleasable))
        }
        let own = groups.removeValue(forKey: taker.prefix(partCount)) ?? []
        let share = own.reduce(byteCount) { $0 + $1.held }
        while missing > 0 {
          let largest = groups.map { (owner: $0, held: $1.reduce(0) { $0 + $1.held }) }.max {
            $0.held < $1.held
          }
          guard let largest, largest.held > share else { break }
          let victim = groups[largest.owner]?.filter(\.isReleasable).max { $0.held < $1.held }
          guard let victim else {
            groups[largest.owner] = nil
            continue
          }
          groups[largest.owner]?.removeAll { $0.id == victim.id }
          victims.append(victim.id)
          missing -= victim.held
        }
        if missing <= 0 { return victims }
      }
      return nil
    }
  }

  private let limits: Limits
  private let now: @Sendable () -> UInt64
  private let monitor: Monitor<Table>

  /// - Parameter shutDown: Ends both directions of a socket. The one who opened it closes it.
  init(
    _ limits: Limits, now: @escaping @Sendable () -> UInt64 = MonotonicClock.nanoseconds,
    shutDown: @escaping @Sendable (_ descriptor: Int32) -> Void = { _ = shutdown($0, Int32(SHUT_RDWR)) }
  ) {
    self.limits = limits
    self.now = now
    monitor = Monitor(Table(shutDown: shutDown, free: limits.bodyBytes))
  }

  // MARK: Deadlines

  /// Closes the connections whose deadlines are over. Called every second.
  func closeLate() {
    monitor.withLock { table in
      let now = now()
      for (id, connection) in table.connections {
        if let deadline = connection.deadline, deadline <= now { table.drop(id) }
      }
    }
  }

  private func deadline(_ seconds: Int, byteCount: Int = 0) -> UInt64 {
    now() + UInt64(seconds + byteCount / HubLimits.bytesPerSecond) * 1_000_000_000
  }

  // MARK: Connections

  /// Adds a connection. If there are too many, another one is closed for it, or it is a spare one.
  func add(_ descriptor: Int32, of address: String) -> Int {
    monitor.withLock { table in
      let count = (table.open[address]?.count ?? 0) + 1
      var isSpare = false
      if count > limits.connectionsOfAddress {
        isSpare = table.dropFirst(of: address, streams: false) ?? true
      } else if table.openCount >= limits.connections {
        let largest = table.open.max { $0.value.count < $1.value.count }
        let giver = largest.flatMap { $0.value.count > count ? $0.key : nil }
        isSpare = table.dropFirst(of: giver ?? address, streams: giver != nil) ?? true
      }
      table.lastID += 1
      table.connections[table.lastID] = Connection(
        descriptor: descriptor, owner: Owner(address: address),
        deadline: deadline(isSpare ? Self.spareSeconds : HubLimits.silenceSeconds), isSpare: isSpare)
      table.open[address, default: []].append(table.lastID)
      table.openCount += 1
      return table.lastID
    }
  }

  /// Forgets a connection. Its descriptor is valid until this returns.
  func remove(_ id: Int) {
    monitor.withLock { table in
      table.forget(id)
      table.free += table.connections.removeValue(forKey: id)?.held ?? 0
    }
  }

  /// A whole header has come.
  ///
  /// - Returns: Whether requests of all kinds are answered on this connection.
  func begin(_ id: Int) -> Bool {
    work(id)
    return monitor.withLock { $0.connections[id]?.isSpare == false }
  }

  /// A request was answered, or given up.
  func end(_ id: Int) {
    monitor.withLock { table in
      guard var connection = table.connections[id] else { return }
      table.free += connection.held
      connection.held = 0
      connection.owner = connection.owner.prefix(1)
      connection.state = .waiting
      connection.deadline = deadline(HubLimits.silenceSeconds)
      table.connections[id] = connection
    }
  }

  /// An answer is sent that has so many bytes.
  func send(_ id: Int, byteCount: Int) {
    let deadline = deadline(HubLimits.silenceSeconds, byteCount: byteCount)
    monitor.withLock { table in
      table.connections[id]?.state = .sending
      table.connections[id]?.deadline = deadline
    }
  }

  /// An event stream is sent.
  ///
  /// - Parameter end: Ends it. Called from any thread.
  func stream(_ id: Int, end: @escaping @Sendable () -> Void) {
    monitor.withLock { $0.connections[id]?.state = .streaming(end: end) }
  }

  /// Closes a connection whose client is too slow.
  func close(_ id: Int) { monitor.withLock { $0.drop(id) } }

  // MARK: Bodies

  /// A body of so many bytes is announced, in a session if there is one.
  ///
  /// - Returns: Whether there would be room for it. It takes none before it comes.
  func receive(_ id: Int, _ byteCount: Int, _ session: HubSession?) -> Bool {
    monitor.withLock { table in
      table.connections[id]?.owner.vault = session?.member.vault
      table.connections[id]?.owner.session = session?.token
      if byteCount > 0 {
        table.connections[id]?.state = .receiving
        table.connections[id]?.deadline = deadline(HubLimits.silenceSeconds)
      }
      return byteCount <= table.free || table.victims(byteCount, for: id) != nil
    }
  }

  /// Takes memory for bytes that came or will be sent. If there is none, other connections may be closed for them.
  ///
  /// - Returns: False if there is no room for them.
  func take(_ id: Int, _ byteCount: Int) -> Bool {
    monitor.withLock { table in
      guard let connection = table.connections[id], !connection.isDropped else { return false }
      if byteCount > table.free {
        guard let victims = table.victims(byteCount, for: id) else { return false }
        for victim in victims { table.drop(victim) }
      }
      table.free -= byteCount
      table.connections[id]?.held += byteCount
      if let deadline = connection.deadline {
        // Bytes are worth the time that they may take.
        let nanoseconds = UInt64(byteCount) * 1_000_000_000 / UInt64(HubLimits.bytesPerSecond)
        table.connections[id]?.deadline = deadline + nanoseconds
      }
      return true
    }
  }

  /// The body is there: the engine takes it.
  func work(_ id: Int) {
    monitor.withLock { table in
      table.connections[id]?.state = .working
      table.connections[id]?.deadline = nil
    }
  }

}

/// How many requests an address may make in a second.
final class RateLimit: Sendable {
  private let rate: Int
  /// The requests of this second, by address.
  private let counts = Monitor((second: UInt64(0), counts: [String: Int]()))

  init(_ rate: Int) { self.rate = rate }

  /// Counts a request. Returns false if it is one too many.
  func admits(_ address: String) -> Bool {
    counts.withLock { state in
      let second = MonotonicClock.nanoseconds() / 1_000_000_000
      if second != state.second { state = (second, [:]) }
      state.counts[address, default: 0] += 1
      return state.counts[address, default: 0] <= rate
    }
  }
}
