import Heartlog

/// Runs that wait, kept until all other streams have been received; the store then checks them all together.
struct WaitingRuns {
  /// The runs in the order they arrived, so the runs of each stream are in order.
  private var runs: [StreamRun] = []
  private var bytes = 0
  private var commits = 0
  /// By stream: its first run that was not kept.
  private var dropped: [ReplicaID: StreamRun] = [:]
  /// The streams that have a run waiting.
  private var streams: Set<ReplicaID> = []

  /// The most that is kept, because the store checks it all at once. The rest of a longer stream is left to
  /// the next sync.
  private static let (bytesMax, commitsMax, runsMax) = (64 << 20, 1_000_000, 64)

  /// Keeps `run`, and from now on the runs of its stream that follow.
  mutating func begin(with run: StreamRun) {
    streams.insert(run.replica)
    add(run)
  }

  /// Keeps a run if its stream waits; otherwise does nothing.
  mutating func add(_ run: StreamRun) {
    guard streams.contains(run.replica), dropped[run.replica] == nil else { return }
    guard bytes + run.body.count <= Self.bytesMax, commits + run.commitCount <= Self.commitsMax,
      runs.count < Self.runsMax
    else {
      dropped[run.replica] = run
      return
    }
    bytes += run.body.count
    commits += run.commitCount
    runs.append(run)
  }

  /// The outcome for a stream that had to wait.
  struct Resolution {
    /// The runs that were taken, with their outcomes.
    var taken: [(run: StreamRun, outcome: ReceivedRun)] = []
    /// The run at which the stream still stops, and why; `nil` if all of it was taken.
    var stop: (run: StreamRun, skip: ReceivedRun.Skip)?
  }

  /// Passes the runs to a store again.
  func resolve(in store: FavoritesStore) throws(HeartlogError) -> [ReplicaID: Resolution] {
    guard !runs.isEmpty else { return [:] }
    var resolutions: [ReplicaID: Resolution] = [:]
    for (run, outcome) in zip(runs, try store.receive(together: runs)) {
      var resolution = resolutions[run.replica] ?? Resolution()
      switch outcome {
      case .appended, .known: resolution.taken.append((run, outcome))
      case .gap, .diverged, .waiting, .refused, .unsigned, .full:
        let skip = outcome.skip ?? (.waiting, "this store has different commits there by now")
        resolution.stop = resolution.stop ?? (run, skip)
      }
      resolutions[run.replica] = resolution
    }
    for (replica, run) in dropped where resolutions[replica]?.stop == nil {
      resolutions[replica, default: Resolution()].stop = (
        run, (.waiting, "too many commits wait for one sync; the next sync continues from here")
      )
    }
    return resolutions
  }
}

extension ReceivedRun {
  typealias Skip = (cause: SyncReport.SkippedStream.Cause, reason: String)

  /// Why the store did not take a run, for a report; `nil` if it did, or if it has other commits or none before it.
  var skip: Skip? {
    switch self {
    case .waiting(let reason): (.waiting, reason)
    case .refused(let reason): (.clock, reason)
    case .unsigned(let reason): (.unsigned, reason)
    case .full(let reason): (.full, reason)
    case .appended, .known, .gap, .diverged: nil
    }
  }
}
