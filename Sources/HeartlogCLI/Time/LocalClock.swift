import Heartlog

/// What time it is where the command was given: what words like "yesterday" go by.
struct LocalClock: Sendable {
  let zone: Zone
  /// Milliseconds since 1970, of one reading: all moments of a command line go by the same.
  let now: Milliseconds

  static func ofProcess() -> LocalClock { LocalClock(zone: .ofProcess(), now: StoreOptions().clock()) }
}
