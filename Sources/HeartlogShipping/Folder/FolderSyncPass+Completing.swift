import Heartlog

extension FolderSyncPass {
  /// Reads the content of commits that are here without it, if it is wanted and the files have all of it.
  mutating func complete(_ stream: ReplicaID, _ files: [FolderFile]) throws(HeartlogError) {
    guard let head = try head(of: stream), !head.coverage.isWhole,
      let (commits, libraries) = head.coverage.missing(
        of: try store.subscription, at: .whole, head: head.commit, theirHead: head.commit),
      let files = covering(commits.lowerBound.rawValue...commits.upperBound.rawValue, files)
    else { return }
    for file in files {
      try checkCancelled()
      guard let content = try read(file) else { return }
      for run in content.runs
      where run.firstCommit <= commits.upperBound && run.lastCommit >= commits.lowerBound {
        // Another history.
        guard let events = try store.complete(with: run) else { return }
        report.completedEvents += UInt64(events)
        progress.receivedCommits += UInt64(run.commitCount)
        options.progress?(progress)
      }
    }
    try store.didComplete(commits, of: stream, with: libraries)
  }

  /// Files that have all of some commits, in order; `nil` if one is missing, or not downloaded yet.
  private func covering(_ commits: ClosedRange<UInt64>, _ files: [FolderFile]) -> [FolderFile]? {
    let whole = files.filter { $0.kind == .run && !damaged.contains($0.path) }
    var found: [FolderFile] = []
    var last = commits.lowerBound - 1
    while last < commits.upperBound {
      guard let file = next(whole, after: last, limit: nil) else { return nil }
      found.append(file)
      last = file.name.last
    }
    return found
  }
}
