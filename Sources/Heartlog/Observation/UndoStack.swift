import HeartlogFormat
import HeartlogState
import Observation

/// What a person can take back, and do again: the named writes of one place in an app, such as a window. Views show its names.
///
/// ```swift
/// let edits = UndoStack(store)
/// try await edits.write("Delete Soup") { try recipes.remove(soup) }
/// try await edits.undo()  // soup is a favorite again, with its date, its note and its places in collections
/// ```
///
/// An undo restores what the write replaced, by new events. What another device or another part of the app wrote later is left alone. The
/// stack is not stored, and knows nothing of device-local fields. Calls take effect one after another, in their order. An undo reads the log
/// in the background, from the newest snapshot before the write.
@MainActor @Observable
public final class UndoStack {
  /// The name of what ``undo()`` takes back; nil if there is nothing.
  public var undoName: String? { position > 0 ? steps[position - 1].name : nil }
  /// The name of what ``redo()`` does again; nil if there is nothing.
  public var redoName: String? { position < steps.count ? steps[position].name : nil }
  /// Why the last undo or redo of an `UndoManager` failed, for an alert, which sets it to nil.
  public var lastError: HeartlogError?

  /// The store that is written to.
  public let store: FavoritesStore

  private struct Step {
    let name: String
    /// Where its events begin in `events`, and where they end.
    var events: Range<Int>
  }

  /// What was written, oldest first.
  private var steps: [Step] = []
  /// How many of the steps have not been taken back.
  private var position = 0
  /// All events that were written since the first step began, by steps and by undoing them. Without those from a place on, each register
  /// shows what it showed when the stack was there.
  @ObservationIgnored private var events: [EventID] = []
  /// The last call.
  @ObservationIgnored private var last: Task<Void, Never>?
  /// Called with the name of each new step.
  @ObservationIgnored package var didWrite: ((String) -> Void)?

  private static let stepsMax = 100

  /// Creates an empty stack. It remembers the last 100 writes.
  public init(_ store: FavoritesStore) { self.store = store }

  /// Writes everything that `body` does as one commit, as `FavoritesStore.write` does, which can be undone as one.
  ///
  /// - Parameters:
  ///   - name: What an edit menu shows after "Undo".
  ///   - body: The writes. It runs on a thread of the store.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws, and what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func write<R: Sendable>(_ name: String, _ body: @escaping @Sendable () throws -> R) async throws -> R
  {
    try await write(name, at: nil, body)
  }

  package func write<R: Sendable>(
    _ name: String, at time: Milliseconds?, _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    try await inTurn { [self] in
      let (result, commit) = try await store.commit(time: time, body)
      if let commit { push(name, commit.records.indices.map(commit.eventID)) }
      return result
    }
  }

  /// Takes back the last write that was not taken back yet.
  ///
  /// - Returns: What was restored, and what was left alone; nil if there was nothing to take back.
  /// - Throws: What `FavoritesStore.undo` throws. If content was erased that it would restore, the stack is empty afterwards.
  @discardableResult
  public func undo() async throws(HeartlogError) -> UndoPlan? {
    try await move(by: -1) { stack in
      stack.position > 0 ? stack.steps[stack.position - 1].events.lowerBound : nil
    }
  }

  /// Does again what was taken back last.
  ///
  /// - Returns: What was written, and what was left alone; nil if there was nothing to do again.
  /// - Throws: As ``undo()``.
  @discardableResult
  public func redo() async throws(HeartlogError) -> UndoPlan? {
    try await move(by: 1) { stack in
      stack.position < stack.steps.count ? stack.steps[stack.position].events.upperBound : nil
    }
  }

  /// Forgets all writes. What was written stays.
  public func removeAll() {
    steps = []
    position = 0
    events = []
  }

  private func push(_ name: String, _ written: [EventID]) {
    let start = events.count
    events += written
    steps.removeSubrange(position...)
    steps.append(Step(name: name, events: start..<events.count))
    if steps.count > Self.stepsMax {
      steps.removeFirst()
      let dropped = steps[0].events.lowerBound
      events.removeFirst(dropped)
      for index in steps.indices {
        let range = steps[index].events
        steps[index].events = range.lowerBound - dropped..<range.upperBound - dropped
      }
    }
    position = steps.count
    didWrite?(name)
  }

  /// - Parameter place: From where on the events are undone; nil if there is nothing to do.
  private func move(
    by steps: Int, to place: @escaping @MainActor (UndoStack) -> Int?
  ) async throws(HeartlogError) -> UndoPlan? {
    do {
      return try await inTurn { [self] in
        guard let place = place(self) else { return nil }
        let undone = Array(events[place...])
        do throws(HeartlogError) {
          let plan = try await store.run { store throws(HeartlogError) in try store.undo(.events(undone)) }
          events += plan.events
          position += steps
          return plan
        } catch {
          // What was erased can never be restored, and would stay on top for ever.
          if error.code == .notFound { removeAll() }
          throw error
        }
      }
    } catch { throw HeartlogError(wrapping: error) }
  }

  /// Runs a call after those before it.
  private func inTurn<R: Sendable>(_ call: @escaping @MainActor () async throws -> R) async throws -> R {
    let earlier = last
    let task = Task {
      await earlier?.value
      return try await call()
    }
    last = Task { _ = await task.result }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}

extension UndoStack {
  /// What an edit menu calls the taps of a model.
  static func name(ofTapThatAdds isAddition: Bool) -> String { (isAddition ? added : removed)[.current] }

  private static let added = Sentence(
    "Add to Favorites", "Zu Favoriten hinzufügen", "Añadir a favoritos", "Ajouter aux favoris")
  private static let removed = Sentence(
    "Remove from Favorites", "Aus Favoriten entfernen", "Eliminar de favoritos", "Retirer des favoris")
}
