import HeartlogEvents

/// The time that moments go by, along one stream: what its writer's clock said, made to rise.
///
/// A commit counts as of the latest wall time of its stream up to it. Stamps have no part in it: they may be inherited from a clock that
/// is wrong. Source: docs/merge.md, "Clocks".
struct StreamTime: Hashable, Sendable {
  /// The wall time of the last commit; 0 before the first.
  private(set) var last: Milliseconds = 0
  /// The latest wall time so far, which is the time of the last commit.
  private(set) var latest: Milliseconds = 0

  /// The time before the first commit.
  init() {}

  /// The time behind a commit of that wall time, the latest being another one's.
  init(last: Milliseconds, latest: Milliseconds) {
    precondition(last <= latest, "a latest wall time that is not the latest")
    self.last = last
    self.latest = latest
  }

  /// Goes on behind a commit of that wall time.
  @inline(__always)
  mutating func pass(_ wallTime: Milliseconds) {
    last = wallTime
    latest = max(latest, wallTime)
  }

  /// Goes on behind all commits of a block.
  mutating func pass(_ block: ColumnBlock) {
    last = block.lastWallTime
    latest = max(latest, block.latestWallTime)
  }
}
