#if Tracing
  import Heartlog
  import Synchronization

  /// Keeps what it receives, as lines of text.
  final class RecordingTracer: StoreTracer {
    private struct State {
      var lines: [String] = []
      var counts: [StoreCounter: [UInt64]] = [:]
      var open: [UInt64: StoreSpan] = [:]
      var lastID: UInt64 = 0
    }

    private let state = Mutex(State())

    func begin(_ span: StoreSpan) -> UInt64 {
      state.withLock {
        $0.lastID += 1
        $0.open[$0.lastID] = span
        $0.lines.append("begin \(span)")
        return $0.lastID
      }
    }

    func end(_ span: StoreSpan, _ id: UInt64, error: String?) {
      state.withLock {
        let begun = $0.open.removeValue(forKey: id)
        $0.lines.append(begun == span ? "end \(span)\(error.map { ": \($0)" } ?? "")" : "end without begin")
      }
    }

    func count(_ counter: StoreCounter, by amount: UInt64) {
      state.withLock { $0.counts[counter, default: []].append(amount) }
    }

    func record(_ event: StoreEvent) { state.withLock { $0.lines.append("\(event.kind): \(event.detail)") } }

    /// Returns the lines so far, and forgets them.
    func takeLines() -> [String] {
      state.withLock { state in
        defer { state.lines = [] }
        return state.lines
      }
    }

    /// Returns the amounts by which a counter grew so far, and forgets them.
    func takeCounts(_ counter: StoreCounter) -> [UInt64] {
      state.withLock { $0.counts.removeValue(forKey: counter) ?? [] }
    }

    /// The number of spans that have not ended.
    var openSpans: Int { state.withLock { $0.open.count } }
  }
#endif
