import HeartlogFormat

/// The time of a stream by which moments are selected: its writer's clock, made monotonic.
///
/// The time of a commit is the latest wall time of its stream up to that commit. Stamps are not used, because they may be inherited
/// from a wrong clock. Source: docs/merge.md, "Clocks".
struct StreamTime: Hashable, Sendable {
  /// The wall time of the last commit; 0 before the first.
  private(set) var last: Milliseconds = 0
  /// The latest wall time so far, which is the time of the last commit.
  private(set) var latest: Milliseconds = 0

  /// Creates the time before the first commit.
  init() {}

  /// Creates the time after a commit with wall time `last`; `latest` may come from an earlier commit.
  init(last: Milliseconds, latest: Milliseconds) {
    precondition(last <= latest, "a latest wall time that is not the latest")
    self.last = last
    self.latest = latest
  }

  /// Advances past a commit with this wall time.
  @inline(__always)
  mutating func pass(_ wallTime: Milliseconds) {
    last = wallTime
    latest = max(latest, wallTime)
  }

  /// Advances past all commits of a block.
  mutating func pass(_ block: ColumnBlock) {
    last = block.lastWallTime
    latest = max(latest, block.latestWallTime)
  }
}
