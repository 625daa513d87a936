import Dispatch
import HeartlogFiles
import HeartlogStorage

/// How a store with subscribers learns of what other processes write. Ends when it is released.
protocol Following: AnyObject, Sendable {}

/// Other processes announce what they write.
final class Watching: Following {
  private let watch: any LockFileWatch

  /// Nil if nothing would be told: the lock file is on a network file system or cannot be written, or the system allows no more watches.
  init?(_ log: CommitLog, _ scheduler: any Scheduler) {
    let refresh: @Sendable () -> Void = { [weak log] in
      if let log { scheduler.run { log.refreshWatched() } }
    }
    guard let watch = log.watch(refresh) else { return nil }
    self.watch = watch
    refresh()
  }
}

/// Something is called again and again, which looks.
final class Polling: Following {
  static let milliseconds = 250
  private let timer: Locked<any DispatchSourceTimer>

  init(_ look: @escaping @Sendable () -> Void) {
    let timer = DispatchSource.makeTimerSource()
    let interval = DispatchTimeInterval.milliseconds(Self.milliseconds)
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(50))
    timer.setEventHandler(handler: look)
    timer.activate()
    self.timer = Locked(timer)
  }

  deinit { timer.withLock { $0.cancel() } }
}
