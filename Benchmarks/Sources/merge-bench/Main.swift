import Heartlog

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Two devices know the same, go apart, and meet again: what each part of that costs, an event.
///
/// Arguments: events (50000), items (10000), runs (5), a file to write the trace to, as lines of JSON for `peers.py`.
@main
struct Main {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    func number(_ place: Int, _ standard: Int) -> Int {
      arguments.dropFirst(place).first.flatMap { Int($0) } ?? standard
    }
    let events = number(0, 50_000)
    let items = number(1, 10_000)
    let rounds = max(1, number(2, 5))

    var trace = Trace(items: items, seed: 7)
    let base = trace.steps(events)
    var other = trace.forked(seed: 11)
    let mine = trace.steps(events)
    let theirs = other.steps(events)
    if let file = arguments.dropFirst(3).first { try TraceFile.write([base, mine, theirs], to: file) }

    let meeting = Meeting(base: base, mine: mine, theirs: theirs)
    var measured: [String: [Double]] = [:]
    for _ in 0..<rounds {
      for (name, value) in try meeting.measure() { measured[name, default: []].append(value) }
    }
    for name in Meeting.names {
      let sorted = (measured[name] ?? []).sorted()
      guard let median = sorted.dropFirst(sorted.count / 2).first else { continue }
      print("heartlog\t\(name)\t\((median * 10).rounded() / 10)")
    }
  }
}

/// Nanoseconds that the process has computed, on all its threads: what else runs on the machine does not count.
func nanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
