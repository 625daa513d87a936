#if canImport(Darwin) || HEARTLOG_STAND_INS
  #if Tracing
    import os
    #if HEARTLOG_STAND_INS
      import HeartlogFormat
    #endif

    /// Shows the work of stores in Instruments, as signposts: an interval for each span, and an event for everything else.
    ///
    /// ```swift
    /// var options = StoreOptions()
    /// options.tracer = SignpostTracer()
    /// ```
    ///
    /// Record with the instrument "os_signpost", and look for the subsystem that is given here.
    public final class SignpostTracer: StoreTracer {
      private let signposter: OSSignposter

      /// Creates a tracer.
      ///
      /// - Parameter subsystem: the name under which Instruments lists the signposts.
      public init(subsystem: String = "heartlog") {
        signposter = OSSignposter(subsystem: subsystem, category: "store")
      }

      public func begin(_ span: StoreSpan) -> UInt64 {
        let id = signposter.makeSignpostID()
        _ = signposter.beginInterval(span.signpost, id: id)
        return id.rawValue
      }

      public func end(_ span: StoreSpan, _ id: UInt64, error: String?) {
        let state = OSSignpostIntervalState.beginState(id: OSSignpostID(id))
        signposter.endInterval(span.signpost, state, "\(error ?? "done", privacy: .public)")
      }

      public func count(_ counter: StoreCounter, by amount: UInt64) {
        signposter.emitEvent("count", "\(counter.rawValue, privacy: .public): \(amount, privacy: .public)")
      }

      public func record(_ event: StoreEvent) {
        signposter.emitEvent(
          "event", "\(event.kind.rawValue, privacy: .public): \(event.detail, privacy: .public)")
      }
    }

    extension StoreSpan {
      /// The name of the interval. The system keeps the names of signposts as static strings.
      fileprivate var signpost: StaticString {
        switch self {
        case .open: "open"
        case .commit: "commit"
        case .synchronize: "synchronize"
        case .refresh: "refresh"
        case .snapshot: "snapshot"
        case .seal: "seal"
        case .sync: "sync"
        }
      }
    }
  #endif
#endif
