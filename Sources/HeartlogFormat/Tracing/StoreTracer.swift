/// Work of a store that takes time.
public enum StoreSpan: String, CaseIterable, Sendable {
  /// Opening a store: loading the newest snapshot and reading the log after it.
  case open
  /// A commit, from the moment it is queued until it is acknowledged.
  case commit
  /// One fdatasync of the log. Commits that are queued meanwhile share the next one.
  case synchronize
  /// Reading what other processes wrote.
  case refresh
  /// Writing a snapshot.
  case snapshot
  /// Rewriting full segments as compressed blocks.
  case seal
  /// A sync: one dialogue with a peer, or one pass over a folder.
  case sync
}

/// What a store counts.
public enum StoreCounter: String, CaseIterable, Sendable {
  /// Commits that were written. Counted once a batch, so each amount is the size of a batch.
  case commits
  /// Events in these commits.
  case events
  /// Bytes that these commits added to the log.
  case writtenBytes
  /// Commits that a sync received.
  case receivedCommits
  /// Commits that a sync sent.
  case sentCommits
  /// Bytes that a sync read.
  case receivedBytes
  /// Bytes that a sync wrote.
  case sentBytes
  /// Conflicts that a sync opened.
  case conflicts
}

/// Something that happened to a store, and that somebody may want to know.
public struct StoreEvent: Hashable, Sendable {
  /// What happened.
  public enum Kind: String, CaseIterable, Sendable {
    /// The log is damaged, or acknowledged commits are missing.
    case damage
    /// The disk failed, and the store writes no more until it is opened again.
    case writingFailed
    /// A snapshot could not be written. The store takes longer to open.
    case snapshotFailed
    /// A snapshot is not used, because it is damaged or does not match the log.
    case snapshotDropped
    /// Segments could not be sealed in the background. They take more space.
    case sealingFailed
  }

  /// What happened.
  public let kind: Kind
  /// A sentence for people. It may contain the paths of files, but nothing that a user wrote.
  public let detail: String

  /// Creates an event.
  public init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }
}

#if Tracing
  /// Receives what a store measures of itself: how long its work takes, how much it does, and what happens to it.
  ///
  /// Set it in `StoreOptions.tracer`. It is called on the thread that does the work, sometimes while the store holds a lock: it must return
  /// soon, and must not call the store. Calls from several threads may overlap.
  public protocol StoreTracer: AnyObject, Sendable {
    /// Some work begins.
    ///
    /// - Returns: a number of the tracer's own choice, which `end` receives.
    func begin(_ span: StoreSpan) -> UInt64

    /// The work that `begin` returned `id` for ends, perhaps on another thread.
    ///
    /// - Parameter error: why the work failed; nil if it succeeded.
    func end(_ span: StoreSpan, _ id: UInt64, error: String?)

    /// Adds to a counter.
    ///
    /// - Parameter amount: greater than 0.
    func count(_ counter: StoreCounter, by amount: UInt64)

    /// Something happened.
    func record(_ event: StoreEvent)
  }
#endif

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
