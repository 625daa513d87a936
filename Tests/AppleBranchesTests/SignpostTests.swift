#if Tracing
  import AppleTracing
  import HeartlogFormat
  import Testing
  import os

  @Suite("Signposts")
  struct SignpostTests {
    @Test("a span is an interval, and everything else an event")
    func all() {
      let tracer = SignpostTracer(subsystem: "reader")
      for span in StoreSpan.allCases {
        let id = tracer.begin(span)
        #expect(OSSignposter.takePosted() == ["reader begin \(span) \(id)"])
        tracer.end(span, id, error: span == .sync ? "the peer is away" : nil)
        let outcome = span == .sync ? "the peer is away" : "done"
        #expect(OSSignposter.takePosted() == ["reader end \(span) \(id): \(outcome)"])
      }
      tracer.count(.commits, by: 3)
      tracer.record(StoreEvent(.damage, "a frame is cut short"))
      #expect(
        OSSignposter.takePosted() == ["reader count commits: 3", "reader event damage: a frame is cut short"])
    }
  }
#endif
