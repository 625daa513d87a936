import Heartlog

/// Runs of streams that wait, kept until all other streams are here: then the store looks at all of them together.
struct WaitingRuns {
  /// In the order in which they came, and so each stream's in its order.
  private var runs: [StreamRun] = []
  private var bytes = 0
  private var commits = 0
  /// By stream: its first run that was not kept.
  private var dropped: [ReplicaID: StreamRun] = [:]
  /// The streams that wait.
  private var streams: Set<ReplicaID> = []

  /// What is kept at most: a stream of which there is more goes on at the next sync. The store looks at all of it at once.
  private static let (bytesMax, commitsMax, runsMax) = (64 << 20, 1_000_000, 64)

  /// Notes that the stream of a run waits from that run on.
  mutating func begin(with run: StreamRun) {
    streams.insert(run.replica)
    add(run)
  }

  /// Keeps a run whose stream waits; any other is passed over.
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

  /// What became of a stream that had to wait.
  struct Resolution {
    /// The runs that were taken, and how.
    var taken: [(run: StreamRun, outcome: ReceivedRun)] = []
    /// Where the stream is still not to go on, and why; nil where all of it was taken.
    var stop: (run: StreamRun, outcome: ReceivedRun)?
  }

  /// Gives the runs to a store again.
  func resolve(in store: any ShippedStreams) throws(HeartlogError) -> [ReplicaID: Resolution] {
    guard !runs.isEmpty else { return [:] }
    var resolutions: [ReplicaID: Resolution] = [:]
    for (run, outcome) in zip(runs, try store.receive(together: runs)) {
      var resolution = resolutions[run.replica] ?? Resolution()
      switch outcome {
      case .appended, .known: resolution.taken.append((run, outcome))
      case .gap, .diverged, .waiting, .refused: resolution.stop = resolution.stop ?? (run, outcome)
      }
      resolutions[run.replica] = resolution
    }
    for (replica, run) in dropped where resolutions[replica]?.stop == nil {
      resolutions[replica, default: Resolution()].stop = (
        run, .waiting("more waits than is looked at in one sync; the next one goes on from here")
      )
    }
    return resolutions
  }
}
