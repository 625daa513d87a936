import Heartlog

extension ObjectSyncPass {
  /// Reads the content of commits that are here without it, as far as it is wanted and the files have it.
  mutating func complete(_ stream: ReplicaID, _ files: [FolderFile]) throws(HeartlogError) {
    guard let head = try head(of: stream),
      let commits = head.coverage.missing(of: try store.subscription, at: .whole, upTo: head.commit)
    else { return }
    for file in covering(commits.lowerBound.rawValue...commits.upperBound.rawValue, files) {
      try options.checkTime()
      guard let content = try read(file) else { continue }
      for run in content.runs
      where run.firstCommit <= commits.upperBound && run.lastCommit >= commits.lowerBound {
        do throws(HeartlogError) {
          // Another history.
          guard let events = try store.complete(with: run) else { break }
          report.completedEvents += UInt64(events)
        } catch {
          // The file is whole, and its writer wrote nonsense.
          guard error.code == .peer else { throw error }
          damaged.insert(file.path)
          break
        }
        progress.receivedCommits += UInt64(run.commitCount)
        options.progress?(progress)
      }
    }
  }

  /// Files that have some commits, each as many as possible, in order, as far as there are any.
  private func covering(_ commits: ClosedRange<UInt64>, _ files: [FolderFile]) -> [FolderFile] {
    let whole = files.filter { $0.kind == .run && !$0.name.isEnd && !damaged.contains($0.path) }
    var found: [FolderFile] = []
    var last = commits.lowerBound - 1
    while last < commits.upperBound {
      guard let file = next(whole, after: last, limit: nil) else {
        guard let first = whole.map(\.name.first).filter({ $0 > last + 1 }).min() else { break }
        last = first - 1
        continue
      }
      found.append(file)
      last = file.name.last
    }
    return found
  }
}
