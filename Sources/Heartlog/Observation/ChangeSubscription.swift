import HeartlogFiles

/// A reader's position in the stream of changes. Its memory is bounded.
final class ChangeSubscription: Sendable {
  /// How many changes a reader may be behind: about a screen's worth of taps, or the commit of one import.
  static let changesMax = 4_096

  private struct State {
    var waiting: [ChangeNotice] = []
    /// How many of `waiting` were delivered. They are removed together, which keeps each delivery cheap.
    var handedOut = 0
    /// The heads that the reader had received when the first change was left out.
    var missedAfter: [Head]?
    var reader: CheckedContinuation<ChangeNotice?, Never>?
    var isFinished = false

    mutating func take() -> ChangeNotice? {
      if handedOut < waiting.count {
        defer {
          handedOut += 1
          if handedOut == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            handedOut = 0
          }
        }
        return waiting[handedOut]
      }
      defer { missedAfter = nil }
      return missedAfter.map { .missed(after: $0) }
    }
  }

  private let state = Locked(State())
  let library: String?
  private let hub: ChangeHub

  init(library: String?, hub: ChangeHub) {
    self.library = library
    self.hub = hub
  }

  deinit { hub.removeFinishedListeners() }

  /// Tells the reader to reload what it shows, because the state was built anew.
  ///
  /// - Parameter heads: the heads of the state.
  func offerMissed(after heads: [Head]) {
    let (reader, notice) = state.withLock {
      state -> (CheckedContinuation<ChangeNotice?, Never>?, ChangeNotice?) in
      guard !state.isFinished else { return (nil, nil) }
      state.missedAfter = state.missedAfter ?? heads
      guard let reader = state.reader else { return (nil, nil) }
      state.reader = nil
      return (reader, state.take())
    }
    reader?.resume(returning: notice)
  }

  /// - Parameter heads: the heads before these changes.
  func offer(_ changes: [Change], after heads: () -> [Head]) {
    let wanted =
      library.map { library in changes.filter { $0.event.library.utf8.elementsEqual(library.utf8) } }
      ?? changes
    guard !wanted.isEmpty else { return }
    let (reader, notice) = state.withLock {
      state -> (CheckedContinuation<ChangeNotice?, Never>?, ChangeNotice?) in
      guard !state.isFinished else { return (nil, nil) }
      if state.missedAfter == nil {
        if state.waiting.count - state.handedOut + wanted.count <= Self.changesMax {
          state.waiting += wanted.map(ChangeNotice.change)
        } else {
          state.missedAfter = heads()
        }
      }
      guard let reader = state.reader else { return (nil, nil) }
      state.reader = nil
      return (reader, state.take())
    }
    reader?.resume(returning: notice)
  }

  func next() async -> ChangeNotice? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let notice = state.withLock { state -> ChangeNotice?? in
          if let notice = state.take() { return .some(notice) }
          if state.isFinished || Task.isCancelled { return .some(nil) }
          precondition(state.reader == nil, "a stream of changes has one reader at a time")
          state.reader = continuation
          return nil
        }
        if let notice { continuation.resume(returning: notice) }
      }
    } onCancel: {
      finish()
    }
  }

  /// Takes everything that waits to be delivered, for a reader that handles a burst at once.
  func takeWaiting() -> [ChangeNotice] {
    state.withLock { state in
      var notices: [ChangeNotice] = []
      while let notice = state.take() { notices.append(notice) }
      return notices
    }
  }

  /// Ends the stream. Undelivered changes can still be read.
  func finish() {
    let reader = state.withLock { state in
      state.isFinished = true
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(returning: nil)
    hub.removeFinishedListeners()
  }

  var isFinished: Bool { state.withLock(\.isFinished) }
}
