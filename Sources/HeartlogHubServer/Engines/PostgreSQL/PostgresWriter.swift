import Dispatch
import Heartlog
import HeartlogHub
import Synchronization

/// Writes objects of the vaults of one shard. What waits while a statement runs goes into the next one, with which it is committed.
final class PostgresWriter: Sendable {
  struct Job: Sendable {
    enum Change: Sendable {
      case put([UInt8], @Sendable (Result<PutOutcome, HeartlogError>) -> Void)
      case remove(@Sendable (Result<Void, HeartlogError>) -> Void)
    }

    let member: VaultMember
    let name: String
    /// What the object is found by: of the name.
    let digest: [UInt8]
    let change: Change

    var isPut: Bool { if case .put = change { true } else { false } }

    /// Ends a job that was not done, or of which that is not known.
    func fail(_ error: HeartlogError) {
      switch change {
      case .put(_, let done): done(.failure(error))
      case .remove(let done): done(.failure(error))
      }
    }
  }

  private struct State {
    var waiting: [Job] = []
    var isRunning = false
    var isClosed = false
  }

  static let batchMax = 64
  /// The most bytes of a statement that has more than one object.
  private static let batchBytesMax = 16 << 20

  private let connections: PostgresConnections
  private let quotaBytes: Int
  private let queue = DispatchQueue(label: "heartlog.hub.writer")
  private let state = Mutex(State())
  /// Called with the vaults in which objects were put, after each commit.
  private let stored: @Sendable (Set<VaultID>) -> Void

  init(
    _ connections: PostgresConnections, quotaBytes: Int, stored: @escaping @Sendable (Set<VaultID>) -> Void
  ) {
    self.connections = connections
    self.quotaBytes = quotaBytes
    self.stored = stored
  }

  func add(_ job: Job) {
    let isClosed = state.withLock { state in
      guard !state.isClosed else { return true }
      state.waiting.append(job)
      if !state.isRunning {
        state.isRunning = true
        queue.async { self.run() }
      }
      return false
    }
    if isClosed { job.fail(HeartlogError(.inputOutput, "the hub stops")) }
  }

  /// Writes what waits, and takes nothing more.
  func close() {
    state.withLock { $0.isClosed = true }
    queue.sync {}
  }

  private func run() {
    while let batch = next() {
      do throws(HeartlogError) {
        try connections.use { (connection) throws(HeartlogError) in
          if batch[0].isPut { try put(batch, connection) } else { try remove(batch, connection) }
        }
      } catch {
        for job in batch { job.fail(error) }
      }
    }
  }

  /// The first jobs that one statement can do: of one kind, and each of another object.
  private func next() -> [Job]? {
    state.withLock { state in
      var objects: Set<[UInt8]> = []
      var bytes = 0
      var count = 0
      for job in state.waiting.prefix(Self.batchMax) {
        if case .put(let content, _) = job.change { bytes += content.count }
        guard job.isPut == state.waiting[0].isPut, count == 0 || bytes <= Self.batchBytesMax,
          objects.insert(job.member.vault.bytes + job.digest).inserted
        else { break }
        count += 1
      }
      guard count > 0 else {
        state.isRunning = false
        return nil
      }
      let batch = Array(state.waiting.prefix(count))
      state.waiting.removeFirst(count)
      return batch
    }
  }

  private func put(_ batch: [Job], _ connection: PostgresConnection) throws(HeartlogError) {
    let rows = try connection.run(
      .put,
      [
        .array(.uuid, batch.map(\.member.vault.bytes)), .array(.uuid, batch.map(\.digest)),
        .array(.text, batch.map { Array($0.name.utf8) }),
        .array(.bytes, batch.map { if case .put(let bytes, _) = $0.change { bytes } else { [] } }),
        .array(.uuid, batch.map(\.member.owner.bytes)), .int64(Int64(quotaBytes)),
        .int32(Int32(HubLimits.objectsMax)), .int64(Int64(HubLimits.keysRoomBytes)),
        .int32(Int32(HubLimits.keysRoomObjects)),
      ])
    var outcomes = [PutOutcome?](repeating: nil, count: batch.count)
    for row in rows.indices {
      let place = Int(try rows.integer(row, 0)) - 1
      guard batch.indices.contains(place) else { continue }
      outcomes[place] =
        switch try rows.integer(row, 1) {
        case 0: .stored
        case 1: .same
        case 2: .different
        case 3: .full
        default: nil
        }
    }
    stored(Set(zip(batch, outcomes).filter { $1 == .stored }.map(\.0.member.vault)))
    for (job, outcome) in zip(batch, outcomes) {
      guard case .put(_, let done) = job.change else { continue }
      done(outcome.map { .success($0) } ?? .failure(VaultMember.notAdmitted))
    }
  }

  private func remove(_ batch: [Job], _ connection: PostgresConnection) throws(HeartlogError) {
    let rows = try connection.run(
      .remove,
      [
        .array(.uuid, batch.map(\.member.vault.bytes)), .array(.uuid, batch.map(\.digest)),
        .array(.uuid, batch.map(\.member.owner.bytes)),
      ])
    var admitted: Set<Int> = []
    for row in rows.indices { admitted.insert(Int(try rows.integer(row, 0)) - 1) }
    for (place, job) in batch.enumerated() {
      guard case .remove(let done) = job.change else { continue }
      done(admitted.contains(place) ? .success(()) : .failure(VaultMember.notAdmitted))
    }
  }
}
