#if Tracing
  import Foundation
  import Synchronization
  import Testing

  @testable import Heartlog

  @Suite("OpenTelemetry's JSON lines")
  struct OpenTelemetryTests {
    private final class Lines: Sendable {
      private let lines = Mutex<[OpenTelemetryTracer.Signal: String]>([:])

      func append(_ text: String, to signal: OpenTelemetryTracer.Signal) {
        lines.withLock { $0[signal, default: ""] += text }
      }

      func text(of signal: OpenTelemetryTracer.Signal) -> String? { lines.withLock { $0[signal] } }
    }

    /// A tracer whose clock goes on by a microsecond at each look, and whose random numbers are 1, 2, 3…
    private func tracer(_ lines: Lines) -> OpenTelemetryTracer {
      let time = Mutex<UInt64>(1_700_000_000_000_000_000)
      let number = Mutex<UInt64>(0)
      return OpenTelemetryTracer(
        service: "reader", write: { lines.append($1, to: $0) },
        clock: {
          time.withLock {
            $0 += 1_000
            return $0
          }
        },
        random: {
          number.withLock {
            $0 += 1
            return $0
          }
        })
    }

    @Test("spans are written as the specification has them")
    func spans() {
      let lines = Lines()
      let tracer = tracer(lines)
      tracer.end(.commit, tracer.begin(.commit), error: nil)
      tracer.end(.sync, tracer.begin(.sync), error: "the peer is \"away\"")
      #expect(lines.text(of: .traces) == nil, "lines are collected")
      tracer.flush()
      #expect(
        lines.text(of: .traces) == """
          {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"reader"}}]},\
          "scopeSpans":[{"scope":{"name":"heartlog"},"spans":[{"endTimeUnixNano":"1700000000000003000","kind":1,\
          "name":"heartlog.commit","spanId":"0000000000000001","startTimeUnixNano":"1700000000000002000",\
          "traceId":"00000000000000020000000000000001"}]}]}]}
          {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"reader"}}]},\
          "scopeSpans":[{"scope":{"name":"heartlog"},"spans":[{"endTimeUnixNano":"1700000000000005000","kind":1,\
          "name":"heartlog.sync","spanId":"0000000000000003","startTimeUnixNano":"1700000000000004000",\
          "status":{"code":2,"message":"the peer is \\"away\\""},\
          "traceId":"00000000000000040000000000000003"}]}]}]}

          """)
    }

    @Test("counters are cumulative sums, and batches a histogram")
    func counters() {
      let lines = Lines()
      let tracer = tracer(lines)
      for amount: UInt64 in [1, 3, 300] { tracer.count(.commits, by: amount) }
      tracer.count(.writtenBytes, by: 90)
      tracer.flush()
      #expect(
        lines.text(of: .metrics) == """
          {"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"reader"}}]},\
          "scopeMetrics":[{"metrics":[\
          {"name":"heartlog.commits","sum":{"aggregationTemporality":2,"dataPoints":[{"asInt":"304",\
          "startTimeUnixNano":"1700000000000001000","timeUnixNano":"1700000000000002000"}],"isMonotonic":true},\
          "unit":"{commit}"},\
          {"name":"heartlog.writtenBytes","sum":{"aggregationTemporality":2,"dataPoints":[{"asInt":"90",\
          "startTimeUnixNano":"1700000000000001000","timeUnixNano":"1700000000000002000"}],"isMonotonic":true},\
          "unit":"By"},\
          {"histogram":{"aggregationTemporality":2,"dataPoints":[{"bucketCounts":["1","0","1","0","0","0","0","0","0","1"],\
          "count":"3","explicitBounds":[1,2,4,8,16,32,64,128,256],"startTimeUnixNano":"1700000000000001000",\
          "sum":304,"timeUnixNano":"1700000000000002000"}]},"name":"heartlog.batch.size","unit":"{commit}"}],\
          "scope":{"name":"heartlog"}}]}]}

          """)
    }

    @Test("events are log records")
    func events() {
      let lines = Lines()
      let tracer = tracer(lines)
      tracer.record(StoreEvent(.damage, "a frame is cut short"))
      tracer.flush()
      #expect(
        lines.text(of: .logs) == """
          {"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"reader"}}]},\
          "scopeLogs":[{"logRecords":[{"body":{"stringValue":"a frame is cut short"},"eventName":"heartlog.damage",\
          "severityNumber":13,"timeUnixNano":"1700000000000002000"}],"scope":{"name":"heartlog"}}]}]}

          """)
    }

    @Test("each kind has a file of its own, and two tracers share a folder")
    func files() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(at: folder) }
      for _ in 0..<2 {
        let tracer = OpenTelemetryTracer(folder: folder, service: "reader")
        tracer.end(.open, tracer.begin(.open), error: nil)
        tracer.count(.events, by: 2)
        tracer.flush()
        tracer.end(.open, tracer.begin(.open), error: nil)
        tracer.flush()
        #expect(tracer.failure == nil)
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      #expect(names.map { String($0.prefix(6)) } == ["metric", "metric", "traces", "traces"])
      for name in names {
        let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        // The counters did not grow between the flushes.
        #expect(text.split(separator: "\n").count == (name.hasPrefix("traces") ? 2 : 1), "\(name): \(text)")
      }
    }

    @Test("a write that fails is told, and harms nothing")
    func failing() {
      let tracer = OpenTelemetryTracer(folder: URL(filePath: "/nowhere/at/all"), service: "reader")
      tracer.record(StoreEvent(.damage, "x"))
      #expect(tracer.failure == nil)
      tracer.flush()
      #expect(tracer.failure?.contains("/nowhere/at/all") == true)
    }
  }
#endif
