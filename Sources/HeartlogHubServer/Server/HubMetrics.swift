import HeartlogFiles
import HeartlogFormat

/// What the hub counts, for Prometheus.
final class HubMetrics: Sendable {
  private struct Counts {
    var requests: [String: [UInt32: Int]] = [:]
    var puts = 0
    var bytesIn = 0
    var bytesOut = 0
    var buckets = [Int](repeating: 0, count: bounds.count + 1)
    var seconds = 0.0
  }

  private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  private let counts = Monitor(Counts())

  /// Counts a request. Event streams have no duration.
  func count(method: String, status: UInt32, seconds: Double?) {
    counts.withLock { counts in
      counts.requests[method, default: [:]][status, default: 0] += 1
      guard let seconds else { return }
      counts.buckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
      counts.seconds += seconds
    }
  }

  func countPut(_ byteCount: Int) {
    counts.withLock { counts in
      counts.puts += 1
      counts.bytesIn += byteCount
    }
  }

  func countGet(_ byteCount: Int) { counts.withLock { $0.bytesOut += byteCount } }

  /// Prometheus' text format, version 0.0.4.
  func text(streams: Int, vaults: Int?) -> String {
    let counts = counts.withLock { $0 }
    var lines = ["# TYPE heartlog_hub_requests_total counter"]
    for (method, statuses) in counts.requests.sorted(by: { $0.key < $1.key }) {
      for (status, count) in statuses.sorted(by: { $0.key < $1.key }) {
        lines.append("heartlog_hub_requests_total{method=\"\(method)\",status=\"\(status)\"} \(count)")
      }
    }
    func value(_ name: String, _ type: String, _ value: Int) {
      lines += ["# TYPE heartlog_hub_\(name) \(type)", "heartlog_hub_\(name) \(value)"]
    }
    value("objects_stored_total", "counter", counts.puts)
    value("object_bytes_stored_total", "counter", counts.bytesIn)
    value("object_bytes_read_total", "counter", counts.bytesOut)
    value("open_streams", "gauge", streams)
    if let vaults { value("vaults", "gauge", vaults) }
    lines.append("# TYPE heartlog_hub_request_seconds histogram")
    var sum = 0
    for (bound, count) in zip(Self.bounds, counts.buckets) {
      sum += count
      lines.append("heartlog_hub_request_seconds_bucket{le=\"\(bound)\"} \(sum)")
    }
    sum += counts.buckets[Self.bounds.count]
    lines.append("heartlog_hub_request_seconds_bucket{le=\"+Inf\"} \(sum)")
    lines += [
      "heartlog_hub_request_seconds_sum \(counts.seconds)", "heartlog_hub_request_seconds_count \(sum)",
    ]
    return lines.joined(separator: "\n") + "\n"
  }
}
