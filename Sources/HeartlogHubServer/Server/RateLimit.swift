import Heartlog
import HeartlogFiles
import HeartlogHub

/// How many requests an address may make in a second. Unchecked: guarded by `condition`.
final class RateLimit: @unchecked Sendable {
  private struct Bucket {
    var requests: Double
    var time: UInt64
  }

  private let condition = Condition()
  private let rate: Double
  private let now: @Sendable () -> UInt64
  private var buckets: [String: Bucket] = [:]
  private static let bucketsMax = 65_536

  init(_ rate: Int, now: @escaping @Sendable () -> UInt64 = MonotonicClock.nanoseconds) {
    self.rate = Double(rate)
    self.now = now
  }

  /// Counts a request. Returns false if it is one too many.
  func admits(_ address: String) -> Bool {
    condition.withLock {
      let now = now()
      if buckets.count >= Self.bucketsMax {
        // Those that are full again are like new ones.
        buckets = buckets.filter { now < $0.value.time + 1_000_000_000 }
        if buckets.count >= Self.bucketsMax { buckets = [:] }
      }
      var bucket = buckets[address] ?? Bucket(requests: rate, time: now)
      bucket.requests = min(rate, bucket.requests + Double(now - bucket.time) / 1e9 * rate)
      bucket.time = now
      defer { buckets[address] = bucket }
      guard bucket.requests >= 1 else { return false }
      bucket.requests -= 1
      return true
    }
  }
}
