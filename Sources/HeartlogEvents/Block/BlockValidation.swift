extension Block {
  /// Checks every rule that the format states for a block and its commits.
  package func validate() throws(MalformedError) {
    try validateSize()
    guard commits[0].replica == replica, commits[0].number == firstCommit else {
      throw MalformedError("a block of \(replica) from commit \(firstCommit) begins with another commit")
    }
    var stream = StreamContinuity(behind: commits[0].header)
    for (index, commit) in commits.enumerated() {
      try commit.validate()
      if index > 0 { try stream.extend(by: commit.header) }
    }
    try BlockHeader(
      replica: replica, firstCommit: firstCommit, commitCount: commits.count, headsAtStart: headsAtStart,
      secrets: secrets
    ).validate { commits[$0].eventCount }
  }

  /// The limits on all commits together.
  func validateSize() throws(MalformedError) {
    guard !commits.isEmpty else { throw MalformedError("a block without commits") }
    guard eventCount <= Limits.blockEventsMax else {
      throw MalformedError("a block of \(eventCount) events, the most is \(Limits.blockEventsMax)")
    }
    try Self.validateRowByteCount(commits.reduce(0) { $0 + RowEncoding.limitedByteCount(of: $1) })
  }

  static func validateRowByteCount(_ rowByteCount: Int) throws(MalformedError) {
    guard rowByteCount <= Limits.blockRowBytesMax else {
      throw MalformedError("a block of \(rowByteCount) bytes of rows, the most is \(Limits.blockRowBytesMax)")
    }
  }
}

/// The parts of a block before its columns, which must be consistent with them.
struct BlockHeader {
  let replica: ReplicaID
  let firstCommit: CommitNumber
  /// At least 1.
  let commitCount: Int
  let headsAtStart: [Head]
  let secrets: [SegmentSecret]

  private var lastCommit: CommitNumber {
    CommitNumber(rawValue: firstCommit.rawValue &+ UInt64(commitCount) &- 1)
  }

  /// Checks the heads, and that every commit is covered by one secret.
  ///
  /// - Parameter eventCount: the number of events of the commit at an index of the block.
  func validate(eventCount: (Int) -> Int) throws(MalformedError) {
    try Head.validate(headsAtStart, of: replica)
    guard let first = secrets.first, first.firstCommit.rawValue >= 1 else {
      throw MalformedError("a block without a secret")
    }
    guard first.firstCommit <= firstCommit else {
      throw MalformedError("a block whose first commit no secret serves")
    }
    for (index, secret) in secrets.enumerated() {
      if index > 0 {
        guard secret.firstCommit > max(secrets[index - 1].firstCommit, firstCommit) else {
          throw MalformedError("secrets that are not sorted by first commit")
        }
      }
      guard secret.firstCommit <= lastCommit else { throw MalformedError("a secret that serves no commit") }
      let next =
        index + 1 < secrets.count ? secrets[index + 1].firstCommit.rawValue : lastCommit.rawValue &+ 1
      // If the next secret's first commit is out of order, the next iteration of this loop throws.
      let last = max(next, secret.firstCommit.rawValue &+ 1) - 1
      let served = max(secret.firstCommit, firstCommit)
      guard served.rawValue <= last else {
        throw MalformedError("secrets that are not sorted by first commit")
      }
      try validate(secret, serving: served...CommitNumber(rawValue: last), eventCount: eventCount)
    }
  }

  private func validate(
    _ secret: SegmentSecret, serving served: ClosedRange<CommitNumber>, eventCount: (Int) -> Int
  ) throws(MalformedError) {
    guard case .runs(let runs) = secret.kind else { return }
    guard let first = secret.run(of: served.lowerBound), let last = secret.run(of: served.upperBound) else {
      throw MalformedError("a secret of more than 2^32 runs")
    }
    for (index, run) in runs.enumerated() {
      guard (first...last).contains(run.run), index == 0 || runs[index - 1].run < run.run else {
        throw MalformedError("a secret's run \(run.run) out of place")
      }
      guard case .salts(let salts) = run.kind else { continue }
      guard !salts.isEmpty else { throw MalformedError("a run without salts") }
      for (index, salt) in salts.enumerated() {
        guard served.contains(salt.commit), secret.run(of: salt.commit) == run.run,
          salt.event >= 0,
          salt.event < eventCount(Int(salt.commit.rawValue - firstCommit.rawValue)),
          index == 0 || (salts[index - 1].commit, salts[index - 1].event) < (salt.commit, salt.event)
        else { throw MalformedError("a salt of event \(salt.event) of commit \(salt.commit) out of place") }
      }
    }
  }
}
