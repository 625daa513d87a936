import HeartlogFormat

/// Commits of other replicas, received from other stores.
extension CommitLog {
  /// Takes a run of another replica's commits: all of it, durable and part of the state, or nothing.
  ///
  /// It must continue the stream: numbers, sequences, stamps, heads, limits, and the root after it are checked before a byte is
  /// written. If the first commits of a run are already here, the rest is taken. A sound run may have to wait, or be refused. The
  /// store never shares its replica: if a run continues the store's own stream, which a restored copy does not know, the store writes
  /// as another replica from then on.
  package func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    try heartlogErrors {
      try withQuietLog { try takeRun(run) }
    }
  }

  /// Takes runs that wait for each other. Their stamps are checked as if the store had all of them, as far as each stamp is within
  /// reach of the ones before it.
  ///
  /// - Parameter runs: Runs of any streams; those of one stream in order.
  /// - Returns: The result for each run.
  package func receive(together runs: [StreamRun]) throws(HeartlogError) -> [ReceivedRun] {
    try heartlogErrors {
      try withQuietLog {
        let waiting = receiver.runsOutOfReach(runs)
        return try runs.enumerated().map { index, run in
          if let outcome = waiting[index] { return outcome }
          do { return try takeRun(run, admitting: .reachableStamps) } catch let error as MalformedError {
            // The other runs can still be taken.
            return .waiting("it breaks a rule: \(error.reason)")
          }
        }
      }
    }
  }

  /// Takes a run of a backup. Whatever the store had accepted is accepted again: its stamps, and commits that their device has not signed.
  package func restore(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    try heartlogErrors {
      try withQuietLog { try takeRun(run, admitting: .ownLog) }
    }
  }

  /// Makes durable what a receiver left that was killed, or whose fsync failed, if the log may be written. Nothing can name it before.
  package func makeReceivedDurable() throws(HeartlogError) {
    guard lease.lock.isReceiving, access.isWritable else { return }
    try heartlogErrors { try withQuietLog {} }
  }

  /// Takes a run. The log is quiet.
  func takeRun(_ run: StreamRun, admitting admission: RunReceiver.Admission = .checked) throws -> ReceivedRun
  {
    let outcome = try receiver.take(run, admitting: admission)
    if case .appended = outcome {
      queue.looksForHeads = true
      if receiver.isTailFull(of: run.replica) { didRotate() }
      if admission != .ownLog { try keepFirstCheckpoint(of: run) }
    }
    return outcome
  }

  /// Keeps the checkpoint that a run leads to, if it is the first of the stream: another sync would take the stream for that of a device
  /// without a key. Whoever received the run takes the checkpoint next, and is told then if it cannot be kept; the run was taken already.
  /// The log is quiet.
  private func keepFirstCheckpoint(of run: StreamRun) throws {
    guard let signed = run.proof?.checkpoint, signed.checkpoint.size == run.lastCommit.rawValue,
      try !streamSet.checkpoints.isSigned(run.replica)
    else { return }
    try? streamSet.checkpoints.write(signed)
  }
}
