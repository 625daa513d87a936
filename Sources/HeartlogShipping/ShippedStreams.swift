import Heartlog

/// A store, as far as shipping needs to know it. Every call may come from any thread.
package protocol ShippedStreams: Sendable {
  /// Who writes here.
  var replica: ReplicaID { get }
  /// What people call this replica.
  var name: String { get }

  /// All streams, sorted by replica.
  func streamHeads() throws(HeartlogError) -> [StreamHead]

  /// The root over commits 1…`commit`; nil where the stream is shorter.
  func streamRoot(of replica: ReplicaID, at commit: CommitNumber) throws(HeartlogError) -> Digest?

  /// The next run after commit `after` (0: from the start), as large as the store chooses, and not beyond `last`.
  ///
  /// - Returns: nil where the stream has no commit after `after`.
  func streamRun(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> StreamRun?

  /// What is known to be damaged. A store that has any damage takes nothing.
  var findings: [Finding] { get }

  /// Looks whether the commits behind `after`, up to `last`, can be read: what is announced must be there to be given.
  ///
  /// - Returns: nil where they can; else what is in the way. The first of the commits that it names is the first that cannot be read.
  func damage(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> Finding?

  /// Checks numbers, stamps, limits and root of a run, appends what of it is new, durably and as a whole, and applies it. A
  /// run may begin before the stream's head.
  ///
  /// - Throws: `HeartlogError`; `peer` for bytes that are no run, or that break a rule.
  func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun

  /// Takes runs that were `waiting`, now that all others are here: their stamps may lead up to each other's.
  ///
  /// - Parameter runs: of any streams; those of one stream in its order.
  /// - Returns: what became of each.
  func receive(together runs: [StreamRun]) throws(HeartlogError) -> [ReceivedRun]

  /// What the clock of a stream's writer said at the last commit that is here; nil where there is none, or nobody knows.
  func lastWallTime(of replica: ReplicaID) -> Milliseconds?

  /// Ends a stream that was found to be forked at its last common commit (0: there is none); the rest goes on as a stream
  /// of its own. A stream that has ended already ends earlier from now on, if `commit` is earlier. Of a stream that the store
  /// does not know, it takes note that there is nothing to come.
  func endStream(_ replica: ReplicaID, after commit: CommitNumber) throws(HeartlogError)
}

extension ShippedStreams {
  /// Takes one run after the other.
  package func receive(together runs: [StreamRun]) throws(HeartlogError) -> [ReceivedRun] {
    var outcomes: [ReceivedRun] = []
    for run in runs { outcomes.append(try receive(run)) }
    return outcomes
  }

  /// Nil: nobody knows.
  package func lastWallTime(of replica: ReplicaID) -> Milliseconds? { nil }

  /// Nothing.
  package var findings: [Finding] { [] }

  /// Nothing: a store that cannot look says where reading fails.
  package func damage(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> Finding? { nil }

  /// What keeps the store from being written, because it is damaged.
  var corruption: Finding? { findings.first { $0.verdict == .corrupt } }
}

extension FavoritesStore: ShippedStreams {}
