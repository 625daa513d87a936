#if Tracing
  import HeartlogFiles
  import Synchronization

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Writes what stores measure as OpenTelemetry's JSON lines, which collectors read.
  ///
  /// ```swift
  /// var options = StoreOptions()
  /// options.tracer = try OpenTelemetryTracer(folder: folder, service: "reader")
  /// ```
  ///
  /// Each span is a trace of its own, counters are cumulative sums, and `heartlog.batch.size` is a histogram of the commits in a batch. The
  /// format is that of OpenTelemetry's file exporter (OTLP/JSON): https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
  public final class OpenTelemetryTracer: StoreTracer {
    /// A kind of data. A file contains only one kind.
    public enum Signal: String, CaseIterable, Sendable {
      /// Spans.
      case traces
      /// Counters.
      case metrics
      /// Events.
      case logs
    }

    private struct State {
      var lines: [Signal: String] = [:]
      var beginnings: [UInt64: UInt64] = [:]
      var counts: [StoreCounter: UInt64] = [:]
      var batches = Histogram()
      /// Whether a counter has grown since the counters were written.
      var hasNewCounts = false
      var failure: String?
    }

    /// Lines are collected up to this size, so that most calls write nothing.
    private static let lineBytesMax = 64 << 10

    private let resource: Resource
    private let start: UInt64
    private let write: @Sendable (Signal, String) throws -> Void
    private let clock: @Sendable () -> UInt64
    private let random: @Sendable () -> UInt64
    private let state = Mutex(State())

    /// Creates a tracer that writes lines into a folder: into `traces-ID.jsonl`, `metrics-ID.jsonl` and `logs-ID.jsonl`. The id is random,
    /// so that several processes can use one folder.
    ///
    /// - Parameters:
    ///   - folder: the file URL of an existing folder.
    ///   - service: the name of the app or process, in the resource attribute `service.name`.
    public convenience init(folder: URL, service: String) {
      let files = LineFiles(folder: folder.path)
      self.init(service: service, write: { try files.append($1, to: $0) })
    }

    /// Creates a tracer that passes lines on.
    ///
    /// - Parameters:
    ///   - service: the name of the app or process, in the resource attribute `service.name`.
    ///   - write: receives one or more lines of one kind, each with a line feed. It must not call a store.
    public convenience init(service: String, write: @escaping @Sendable (Signal, String) throws -> Void) {
      // Spans are measured by a clock that nobody sets.
      let start = UInt64(StoreOptions.systemTime()) * 1_000_000 &- MonotonicClock.nanoseconds()
      self.init(
        service: service, write: write, clock: { start &+ MonotonicClock.nanoseconds() },
        random: { .random(in: 1 ... .max) })
    }

    package init(
      service: String, write: @escaping @Sendable (Signal, String) throws -> Void,
      clock: @escaping @Sendable () -> UInt64, random: @escaping @Sendable () -> UInt64
    ) {
      resource = Resource(attributes: [Attribute("service.name", service)])
      self.write = write
      self.clock = clock
      self.random = random
      start = clock()
    }

    deinit { flush() }

    /// Why the last write failed; nil if all succeeded. The lines of a failed write are lost, and the store is not affected.
    public var failure: String? { state.withLock { $0.failure } }

    /// Writes the collected lines, and the counters if they have grown.
    public func flush() {
      state.withLock { state in
        if state.hasNewCounts {
          state.hasNewCounts = false
          let metrics = metrics(of: state, at: clock())
          add(MetricLine(resourceMetrics: [.init(resource: resource, metrics: metrics)]), .metrics, &state)
        }
        for signal in Signal.allCases { writeLines(of: signal, &state) }
      }
    }

    public func begin(_ span: StoreSpan) -> UInt64 {
      let (id, now) = (random(), clock())
      state.withLock { $0.beginnings[id] = now }
      return id
    }

    public func end(_ span: StoreSpan, _ id: UInt64, error: String?) {
      let now = clock()
      state.withLock { state in
        guard let begin = state.beginnings.removeValue(forKey: id) else { return }
        let span = Span(
          traceId: Hex.of(random()) + Hex.of(id), spanId: Hex.of(id), name: "heartlog.\(span.rawValue)",
          startTimeUnixNano: String(begin), endTimeUnixNano: String(now),
          status: error.map { Status(message: $0) })
        add(TraceLine(resourceSpans: [.init(resource: resource, spans: [span])]), .traces, &state)
      }
    }

    public func count(_ counter: StoreCounter, by amount: UInt64) {
      state.withLock { state in
        state.counts[counter, default: 0] += amount
        state.hasNewCounts = true
        if counter == .commits { state.batches.add(amount) }
      }
    }

    public func record(_ event: StoreEvent) {
      let record = LogRecord(
        timeUnixNano: String(clock()), eventName: "heartlog.\(event.kind.rawValue)",
        body: Value(stringValue: event.detail))
      state.withLock {
        add(LogLine(resourceLogs: [.init(resource: resource, logRecords: [record])]), .logs, &$0)
      }
    }

    private func metrics(of state: State, at now: UInt64) -> [Metric] {
      let (start, now) = (String(start), String(now))
      var metrics = StoreCounter.allCases.compactMap { counter in
        state.counts[counter].map { count in
          let point = NumberPoint(startTimeUnixNano: start, timeUnixNano: now, asInt: String(count))
          return Metric(
            name: "heartlog.\(counter.rawValue)", unit: counter.unit, sum: Sum(dataPoints: [point]))
        }
      }
      if state.batches.count > 0 {
        let batches = state.batches
        let point = HistogramPoint(
          startTimeUnixNano: start, timeUnixNano: now, count: String(batches.count), sum: Double(batches.sum),
          bucketCounts: batches.buckets.map(String.init), explicitBounds: Histogram.bounds.map { Double($0) })
        metrics.append(
          Metric(
            name: "heartlog.batch.size", unit: "{commit}", histogram: HistogramOfPoints(dataPoints: [point])))
      }
      return metrics
    }

    private func add(_ line: some Encodable, _ signal: Signal, _ state: inout State) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      do {
        let json = try encoder.encode(line)
        state.lines[signal, default: ""] += String(decoding: json, as: UTF8.self) + "\n"
      } catch {
        state.failure = String(describing: error)
      }
      if let lines = state.lines[signal], lines.utf8.count >= Self.lineBytesMax {
        writeLines(of: signal, &state)
      }
    }

    private func writeLines(of signal: Signal, _ state: inout State) {
      guard let lines = state.lines.removeValue(forKey: signal) else { return }
      do { try write(signal, lines) } catch { state.failure = String(describing: error) }
    }
  }

  /// The files that a tracer writes, each created by its first line.
  private final class LineFiles: Sendable {
    private struct File {
      let file: any OpenFile
      var bytes: UInt64 = 0
    }

    private let folder: String
    private let id = Hex.of(.random(in: 0 ... .max))
    private let files = Mutex<[OpenTelemetryTracer.Signal: File]>([:])

    init(folder: String) { self.folder = folder }

    func append(_ lines: String, to signal: OpenTelemetryTracer.Signal) throws {
      try files.withLock { files in
        let path = "\(folder)/\(signal.rawValue)-\(id).jsonl"
        var open = try files[signal] ?? File(file: try POSIXFileSystem().open(path, .createNew))
        let bytes = Array(lines.utf8)
        try open.file.write(bytes, at: open.bytes)
        open.bytes += UInt64(bytes.count)
        files[signal] = open
      }
    }
  }

  /// How often values were at most each bound, and greater than the one before.
  private struct Histogram {
    static let bounds: [UInt64] = [1, 2, 4, 8, 16, 32, 64, 128, 256]

    private(set) var buckets = [UInt64](repeating: 0, count: bounds.count + 1)
    private(set) var count: UInt64 = 0
    private(set) var sum: UInt64 = 0

    mutating func add(_ value: UInt64) {
      buckets[Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count] += 1
      count += 1
      sum += value
    }
  }

  private enum Hex {
    /// 16 digits.
    static func of(_ number: UInt64) -> String {
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
  }

  extension StoreCounter {
    /// The unit in UCUM, as OpenTelemetry has it.
    fileprivate var unit: String {
      switch self {
      case .commits, .receivedCommits, .sentCommits: "{commit}"
      case .events: "{event}"
      case .writtenBytes, .receivedBytes, .sentBytes: "By"
      case .conflicts: "{conflict}"
      }
    }
  }

  // MARK: - OTLP/JSON

  // The messages of OTLP: 64-bit numbers are strings, enumerations are numbers, ids are hexadecimal.

  private struct Value: Encodable { var stringValue: String }

  private struct Attribute: Encodable {
    var key: String
    var value: Value

    init(_ key: String, _ value: String) {
      self.key = key
      self.value = Value(stringValue: value)
    }
  }

  private struct Resource: Encodable { var attributes: [Attribute] }

  private struct Scope: Encodable { var name = "heartlog" }

  private struct TraceLine: Encodable {
    struct Spans: Encodable {
      var scope = Scope()
      var spans: [Span]
    }

    struct OfResource: Encodable {
      var resource: Resource
      var scopeSpans: [Spans]

      init(resource: Resource, spans: [Span]) {
        self.resource = resource
        scopeSpans = [Spans(spans: spans)]
      }
    }

    var resourceSpans: [OfResource]
  }

  private struct Span: Encodable {
    var traceId: String
    var spanId: String
    var name: String
    /// SPAN_KIND_INTERNAL.
    var kind = 1
    var startTimeUnixNano: String
    var endTimeUnixNano: String
    var status: Status?
  }

  private struct Status: Encodable {
    /// STATUS_CODE_ERROR.
    var code = 2
    var message: String
  }

  private struct MetricLine: Encodable {
    struct Metrics: Encodable {
      var scope = Scope()
      var metrics: [Metric]
    }

    struct OfResource: Encodable {
      var resource: Resource
      var scopeMetrics: [Metrics]

      init(resource: Resource, metrics: [Metric]) {
        self.resource = resource
        scopeMetrics = [Metrics(metrics: metrics)]
      }
    }

    var resourceMetrics: [OfResource]
  }

  private struct Metric: Encodable {
    var name: String
    var unit: String
    var sum: Sum?
    var histogram: HistogramOfPoints?
  }

  private struct Sum: Encodable {
    /// AGGREGATION_TEMPORALITY_CUMULATIVE.
    var aggregationTemporality = 2
    var isMonotonic = true
    var dataPoints: [NumberPoint]
  }

  private struct NumberPoint: Encodable {
    var startTimeUnixNano: String
    var timeUnixNano: String
    var asInt: String
  }

  private struct HistogramOfPoints: Encodable {
    var aggregationTemporality = 2
    var dataPoints: [HistogramPoint]
  }

  private struct HistogramPoint: Encodable {
    var startTimeUnixNano: String
    var timeUnixNano: String
    var count: String
    var sum: Double
    var bucketCounts: [String]
    var explicitBounds: [Double]
  }

  private struct LogLine: Encodable {
    struct Records: Encodable {
      var scope = Scope()
      var logRecords: [LogRecord]
    }

    struct OfResource: Encodable {
      var resource: Resource
      var scopeLogs: [Records]

      init(resource: Resource, logRecords: [LogRecord]) {
        self.resource = resource
        scopeLogs = [Records(logRecords: logRecords)]
      }
    }

    var resourceLogs: [OfResource]
  }

  private struct LogRecord: Encodable {
    var timeUnixNano: String
    /// SEVERITY_NUMBER_WARN.
    var severityNumber = 13
    var eventName: String
    var body: Value
  }
#endif
