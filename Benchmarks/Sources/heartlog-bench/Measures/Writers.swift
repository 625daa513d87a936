import CPeers
import Dispatch
import Synchronization

/// Many writers at once, each with items of its own, one event a commit, each waited for.
struct Writers {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let before = try arguments.number("before")
    let writers = try arguments.number("writers")
    let trace = try Trace(try arguments.text("trace"), limit: try arguments.number("count"))
    let store = try open(peer, try arguments.text("folder"), trace, .durable)
    try store.commit(0..<before, by: 1_000)
    let parts = trace.parts(writers, of: before..<trace.count)
    let duration = UInt64(try arguments.number("milliseconds")) * 1_000_000

    let started = bench_now()
    let all =
      peer == "heartlog-awaited"
      ? try awaited(store, parts, until: started + duration)
      : try waiting(store, parts, until: started + duration)
    let seconds = Double(bench_now() - started) / 1e9
    let sorted = Times(all)
    let name = "\(writers) writers"
    Sample(measure: "writers", peer: peer, name: name, unit: "commits/s", value: Double(all.count) / seconds)
      .report()
    Sample(
      measure: "writers", peer: peer, name: name + ", p99", unit: "µs", value: sorted.quantile(0.99) / 1_000
    ).report()
  }

  /// Threads that wait for their commits.
  private static func waiting(_ store: any Peer, _ parts: [[Int]], until deadline: UInt64) throws
    -> [UInt64]
  {
    let connections = parts.map { _ in store.connection() }
    let results = Mutex<(times: [UInt64], failure: (any Error)?)>(([], nil))
    let threads = zip(connections, parts).map { connection, part in
      Thread {
        var times: [UInt64] = []
        do {
          for place in part {
            let started = bench_now()
            if started >= deadline { break }
            try connection.commit(place..<place + 1)
            times.append(bench_now() - started)
          }
          results.withLock { $0.times += times }
        } catch {
          results.withLock { $0.failure = error }
        }
      }
    }
    for thread in threads { thread.join() }
    return try results.withLock { results in
      if let failure = results.failure { throw failure }
      return results.times
    }
  }

  /// Tasks that await them, on the threads that tasks have.
  private static func awaited(_ store: any Peer, _ parts: [[Int]], until deadline: UInt64) throws -> [UInt64]
  {
    let outcome = Mutex<Result<[UInt64], any Error>>(.success([]))
    let done = DispatchSemaphore(value: 0)
    Task {
      do {
        let times = try await times(store, parts, until: deadline)
        outcome.withLock { $0 = .success(times) }
      } catch {
        outcome.withLock { $0 = .failure(error) }
      }
      done.signal()
    }
    done.wait()
    return try outcome.withLock { $0 }.get()
  }

  private static func times(_ store: any Peer, _ parts: [[Int]], until deadline: UInt64) async throws
    -> [UInt64]
  {
    try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for part in parts {
        group.addTask {
          var times: [UInt64] = []
          for place in part {
            let started = bench_now()
            if started >= deadline { break }
            try await store.commitAwaited(place)
            times.append(bench_now() - started)
          }
          return times
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
  }
}
