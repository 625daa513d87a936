/// Where a store reports its work: the tracer in its options, if there is one.
///
/// Without the trait `Tracing` there is never one, and all of this compiles to nothing.
@frozen @usableFromInline package struct StoreTrace: Sendable {
  #if Tracing
    @usableFromInline package let tracer: (any StoreTracer)?

    @inlinable package init(_ tracer: (any StoreTracer)? = nil) { self.tracer = tracer }
  #else
    @inlinable package init() {}
  #endif

  /// Whether there is a tracer. What costs more than a call to find out is found out only then.
  @inlinable @inline(__always)
  package var isOn: Bool {
    #if Tracing
      tracer != nil
    #else
      false
    #endif
  }

  /// Reports how long `body` takes, and its error.
  @inlinable @inline(__always)
  package func span<R, E: Error>(_ span: StoreSpan, _ body: () throws(E) -> R) throws(E) -> R {
    #if Tracing
      // Without a tracer, this is a comparison: unwrapping it would also retain and release it.
      guard tracer != nil, let tracer else { return try body() }
      let id = tracer.begin(span)
      do throws(E) {
        let result = try body()
        tracer.end(span, id, error: nil)
        return result
      } catch {
        tracer.end(span, id, error: String(describing: error))
        throw error
      }
    #else
      return try body()
    #endif
  }

  /// Adds to a counter.
  @inlinable @inline(__always)
  package func count(_ counter: StoreCounter, by amount: @autoclosure () -> UInt64) {
    #if Tracing
      guard tracer != nil, let tracer else { return }
      let amount = amount()
      if amount > 0 { tracer.count(counter, by: amount) }
    #endif
  }

  /// Reports an event.
  @inlinable @inline(__always)
  package func record(_ kind: StoreEvent.Kind, _ detail: @autoclosure () -> String) {
    #if Tracing
      tracer?.record(StoreEvent(kind, detail()))
    #endif
  }
}
