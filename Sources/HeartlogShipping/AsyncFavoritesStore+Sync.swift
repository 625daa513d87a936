import Heartlog
import Synchronization

extension AsyncFavoritesStore {
  /// Exchanges commits with another store, on one of Heartlog's own threads.
  ///
  /// Cancelling the task ends the sync as its deadline does: what came is kept, and `SyncReport.unfinished` says what is left.
  ///
  /// - Throws: what the carrier throws.
  @discardableResult
  public func sync(
    with carrier: any Carrier, options: SyncOptions = SyncOptions()
  ) async throws(HeartlogError) -> SyncReport {
    let isTaskCancelled = Flag()
    var options = options
    options.isCancelled = { [isCancelled = options.isCancelled] in isTaskCancelled.isRaised || isCancelled() }
    let chosen = options
    let result: Result<SyncReport, HeartlogError> = await withTaskCancellationHandler {
      do throws(HeartlogError) {
        return .success(
          try await run { (store) throws(HeartlogError) in try carrier.sync(store, options: chosen) })
      } catch {
        return .failure(error)
      }
    } onCancel: {
      isTaskCancelled.raise()
    }
    return try result.get()
  }
}

/// What one thread raises and others see.
final class Flag: Sendable {
  private let value = Atomic(false)

  var isRaised: Bool { value.load(ordering: .relaxed) }

  func raise() { value.store(true, ordering: .relaxed) }
}
