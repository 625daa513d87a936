#if Tracing
  import Dispatch
  import Foundation
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
    @Test("what a store did is in the files of a folder")
    func files() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(at: folder) }
      let url = folder.appending(path: "favorites.heartlog")
      let tracer = OpenTelemetryTracer(folder: folder, service: "reader")
      var options = StoreOptions()
      options.tracer = tracer
      let store = try FavoritesStore(at: url, options: options)
      try store.library("papers").add("2006.08594")
      try store.close()
      tracer.flush()
      #expect(tracer.failure == nil)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      let traces = try #require(names.first { $0.hasPrefix("traces-") })
      let text = try String(contentsOf: folder.appending(path: traces), encoding: .utf8)
      for span in ["open", "commit", "synchronize"] {
        #expect(text.contains("\"heartlog.\(span)\""), "no \(span)")
      }
    }

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
