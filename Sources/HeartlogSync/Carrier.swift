import Heartlog
import HeartlogFormat
import Synchronization

/// A way to exchange commits between stores.
///
/// A carrier leads to a place: another store, or a folder or hub where devices leave files for each other.
public protocol Carrier: Sendable {
  /// The name of the other side, as shown to people.
  var description: String { get }

  /// Exchanges commits until `store` and the other side have the same ones, as far as the options allow.
  func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport
}

/// A carrier to one other device, with which this one can be paired: docs/encryption.md, "Pairing".
package protocol PairingCarrier: Carrier {
  /// Admits the other device to the encrypted vault of this one, or this device to that of the other.
  func pair(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> PairingReport
}

/// Options for a sync.
public struct SyncOptions: Sendable {
  /// Only receive: nothing is written to the peer's store.
  package var isPull = false
  /// Only determine what would be sent and received: nothing is written to either store.
  public var isDryRun = false
  /// Join the vault of the other store, although this one belongs to another. Only the calling end may set this.
  public var joinsVault = false
  /// Encrypt the vault, if it is not: objects of it are encrypted from now on, wherever it syncs.
  public var encrypts = false
  /// This end receives nothing, because its store cannot be written. Only the serving end may set this.
  package var isReadOnly = false
  /// When the sync ends, whatever the other side does; `nil` for no limit. What has come by then is kept, `SyncReport.unfinished` says what
  /// is left, and the next sync continues from there.
  public var deadline: ContinuousClock.Instant?
  /// How long neither end may send a byte before the dialogue is given up.
  package var inactivityMillisecondsMax = 30_000
  /// Returns the wall time, in milliseconds since 1970.
  package var clock: @Sendable () -> Milliseconds = { StoreOptions.systemTime() }
  /// Called many times a second; once it returns true, the sync ends as at its deadline.
  public var isCancelled: @Sendable () -> Bool = { false }
  /// Called as runs are received and sent, on the thread that syncs.
  public var progress: (@Sendable (SyncProgress) -> Void)?
  /// The most streams that this end names to another store.
  package var streamsMax = Limits.streamsMax
  /// Returns the time that `deadline` is compared with.
  package var now: @Sendable () -> ContinuousClock.Instant = { .now }

  /// Creates options for a sync in both directions that is written, with a time-out of 30 seconds.
  ///
  /// - Parameter deadline: when the sync ends, finished or not: `.now + .seconds(25)`.
  public init(deadline: ContinuousClock.Instant? = nil) { self.deadline = deadline }
}

extension SyncOptions {
  /// Whether the deadline has come, or the sync was cancelled.
  package var isOver: Bool { isCancelled() || deadline.map { now() >= $0 } ?? false }

  /// How long a wait of at most `most` milliseconds may last, rounded up; 0 once the sync is over.
  func millisecondsLeft(atMost most: Int) -> Int {
    if isCancelled() { return 0 }
    guard let deadline else { return most }
    let left = (deadline - now()) / .milliseconds(1)
    return Int(max(0, min(Double(most), left.rounded(.up))))
  }

  func checkTime() throws(HeartlogError) { if isOver { throw .endedEarly } }
}

extension HeartlogError {
  /// Ends a sync that is over. Sessions and folders turn it into a report.
  package static let endedEarly = HeartlogError(.timedOut, "the sync was ended before it was done")

  package var isEarlyEnd: Bool { code == Self.endedEarly.code && message == Self.endedEarly.message }
}

/// The progress of a sync.
public struct SyncProgress: Hashable, Sendable {
  /// Commits received so far.
  public var receivedCommits: UInt64 = 0
  /// All commits to receive; 0 if the number is not known, as with folders.
  public var commitsToReceive: UInt64 = 0
  /// Commits sent so far.
  public var sentCommits: UInt64 = 0
  /// All commits to send; 0 if the number is not known.
  public var commitsToSend: UInt64 = 0
}

extension FavoritesStore {
  /// Exchanges commits with another store, through a place or directly, and waits until that is done.
  ///
  /// - Throws: what the carrier throws.
  @discardableResult
  public func sync(
    with carrier: any Carrier, options: SyncOptions = SyncOptions()
  ) throws(HeartlogError) -> SyncReport {
    try carrier.sync(self, options: options)
  }

  /// Exchanges commits with another store, on one of Heartlog's own threads, and awaits that.
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
          try await run { (store) throws(HeartlogError) in try store.sync(with: carrier, options: chosen) })
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
