import Heartlog
import HeartlogEngine
import HeartlogTesting

extension StoreOptions {
  /// The options of a store whose time and ids follow from a seed, and in which a simulated process does the background work.
  static func simulated(
    _ random: SeededRandom, _ clock: ManualClock, _ process: SimulatedProcess,
    changeStorage: @escaping @Sendable (inout StorageOptions) -> Void = { _ in }
  ) -> StoreOptions {
    var options = StoreOptions()
    options.snapshots = .manual
    options.random = { random.next() }
    options.clock = { clock.milliseconds }
    options.changeStorage = {
      $0.scheduler = process
      changeStorage(&$0)
    }
    return options
  }
}
