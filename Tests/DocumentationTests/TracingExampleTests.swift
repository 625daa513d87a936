#if Tracing
  import Dispatch
  import Heartlog
  import Synchronization
  import Testing

  final class SlowCommits: StoreTracer {
    let longestNanoseconds = Mutex<UInt64>(0)

    func begin(_ span: StoreSpan) -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    func end(_ span: StoreSpan, _ id: UInt64, error: String?) {
      guard span == .commit else { return }
      let nanoseconds = DispatchTime.now().uptimeNanoseconds - id
      longestNanoseconds.withLock { $0 = max($0, nanoseconds) }
    }

    func count(_ counter: StoreCounter, by amount: UInt64) {}
    func record(_ event: StoreEvent) {}
  }

  /// The examples of "Measuring a store".
  @Suite("Measuring a store")
  struct TracingExampleTests {
    @Test("a tracer of one's own sees each commit")
    func own() throws {
      let tracer = SlowCommits()
      var options = StoreOptions()
      options.tracer = tracer
      let store = try FavoritesStore.inMemory(options: options)
      try store.library("papers").add("2006.08594")
      #expect(tracer.longestNanoseconds.withLock { $0 } > 0)
    }
  }
#endif
