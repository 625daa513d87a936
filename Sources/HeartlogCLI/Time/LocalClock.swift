import Heartlog

/// The time and zone in which the command was given, for words like "yesterday".
struct LocalClock: Sendable {
  let zone: Zone
  /// Milliseconds since 1970, read once, so that all moments of a command line use the same time.
  let now: Milliseconds

  static func ofProcess() -> LocalClock { LocalClock(zone: .ofProcess(), now: StoreOptions().clock()) }
}
