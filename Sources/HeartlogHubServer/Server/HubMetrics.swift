import HeartlogFiles
import HeartlogFormat

/// What `/metrics` tells. Unchecked: guarded by `monitor`.
final class HubMetrics: @unchecked Sendable {
  private let monitor = Monitor()
  private var requests: [String: [UInt32: Int]] = [:]
  private var puts = 0
  private var bytesIn = 0
  private var bytesOut = 0
  private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  private var buckets = [Int](repeating: 0, count: bounds.count + 1)
  private var seconds = 0.0

  /// Counts a request. Event streams have no duration.
  func count(method: String, status: UInt32, seconds: Double?) {
    monitor.withLock {
      requests[method, default: [:]][status, default: 0] += 1
      guard let seconds else { return }
      buckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
      self.seconds += seconds
    }
  }

  func countPut(_ byteCount: Int) {
    monitor.withLock {
      puts += 1
      bytesIn += byteCount
    }
  }

  func countGet(_ byteCount: Int) { monitor.withLock { bytesOut += byteCount } }

  /// Prometheus' text format, version 0.0.4.
  func text(streams: Int, vaults: Int?) -> String {
    monitor.withLock {
      var lines = ["# TYPE heartlog_hub_requests_total counter"]
      for (method, statuses) in requests.sorted(by: { $0.key < $1.key }) {
        for (status, count) in statuses.sorted(by: { $0.key < $1.key }) {
          lines.append("heartlog_hub_requests_total{method=\"\(method)\",status=\"\(status)\"} \(count)")
        }
      }
      func value(_ name: String, _ type: String, _ value: Int) {
        lines += ["# TYPE heartlog_hub_\(name) \(type)", "heartlog_hub_\(name) \(value)"]
      }
      value("objects_stored_total", "counter", puts)
      value("object_bytes_stored_total", "counter", bytesIn)
      value("object_bytes_read_total", "counter", bytesOut)
      value("open_streams", "gauge", streams)
      if let vaults { value("vaults", "gauge", vaults) }
      lines.append("# TYPE heartlog_hub_request_seconds histogram")
      var sum = 0
      for (bound, count) in zip(Self.bounds, buckets) {
        sum += count
        lines.append("heartlog_hub_request_seconds_bucket{le=\"\(bound)\"} \(sum)")
      }
      sum += buckets[Self.bounds.count]
      lines.append("heartlog_hub_request_seconds_bucket{le=\"+Inf\"} \(sum)")
      lines += ["heartlog_hub_request_seconds_sum \(seconds)", "heartlog_hub_request_seconds_count \(sum)"]
      return lines.joined(separator: "\n") + "\n"
    }
  }
}
