import Foundation
import Heartlog
import Synchronization

/// Random numbers that are the same in every run. Replica ids and event ids are derived from them, so a test
/// can contain these.
///
/// Source: SplitMix64, Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
package final class SeededRandom: Sendable {
  private let state: Mutex<UInt64>

  /// The seed of a generated test, which it prints: what `SEED` in the environment says, otherwise another in each run.
  package static func testSeed() -> UInt64 {
    let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
    print("SEED=\(seed)")
    return seed
  }

  /// Creates a generator. Each seed has its own sequence.
  package init(seed: UInt64) { state = Mutex(seed) }

  /// The next number. Concurrent callers get different ones.
  package func next() -> UInt64 {
    state.withLock { state in
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return mixed ^ (mixed >> 31)
    }
  }
}

extension FavoritesStore {
  /// Creates a store in memory with a clock that the test controls, and with ids that are the same in every
  /// run.
  ///
  /// ```swift
  /// let clock = ManualClock()
  /// let store = try FavoritesStore.inMemory(clock: clock)
  /// ```
  ///
  /// - Parameters:
  ///   - clock: the source of the store's wall time; a test may move it at any time.
  ///   - seed: a different seed creates a different device.
  /// - Throws: `HeartlogError`, but creating a store in memory never fails.
  public static func inMemory(clock: ManualClock, seed: UInt64 = 1) throws(HeartlogError) -> FavoritesStore {
    var options = StoreOptions()
    options.clock = { clock.milliseconds }
    let random = SeededRandom(seed: seed)
    options.random = { random.next() }
    return try inMemory(options: options)
  }
}
