// Sealing joins several segments into one block, or splits one into several; secrets are joined and split accordingly.

extension SegmentSecret {
  /// Secrets sorted by first commit, without duplicates. A whole secret takes precedence over its parts; parts are joined.
  static func joined(_ secrets: [SegmentSecret]) -> [SegmentSecret] {
    let sorted = secrets.sorted { $0.firstCommit < $1.firstCommit }
    var joined: [SegmentSecret] = []
    for secret in sorted {
      if let last = joined.last, last.firstCommit == secret.firstCommit {
        joined[joined.count - 1] = last.joined(with: secret)
      } else {
        joined.append(secret)
      }
    }
    return joined
  }

  private func joined(with other: SegmentSecret) -> SegmentSecret {
    guard case .runs(let mine) = kind else { return self }
    guard case .runs(let theirs) = other.kind else { return other }
    var runs: [RunSecret] = []
    for run in (mine + theirs).sorted(by: { $0.run < $1.run }) {
      if let last = runs.last, last.run == run.run {
        runs[runs.count - 1] = last.joined(with: run)
      } else {
        runs.append(run)
      }
    }
    return SegmentSecret(firstCommit: firstCommit, kind: .runs(runs))
  }

  /// The part of this secret that covers `commits`. A whole secret covers all of them.
  func cut(to commits: ClosedRange<CommitNumber>) -> SegmentSecret {
    guard case .runs(let runs) = kind, let first = run(of: commits.lowerBound),
      let last = run(of: commits.upperBound)
    else { return self }
    return SegmentSecret(
      firstCommit: firstCommit,
      kind: .runs(runs.filter { (first...last).contains($0.run) }.compactMap { $0.cut(to: commits) }))
  }
}

extension RunSecret {
  fileprivate func joined(with other: RunSecret) -> RunSecret {
    guard case .salts(let mine) = kind else { return self }
    guard case .salts(let theirs) = other.kind else { return other }
    var salts: [EventSalt] = []
    for salt in (mine + theirs).sorted(by: { ($0.commit, $0.event) < ($1.commit, $1.event) }) {
      if let last = salts.last, (last.commit, last.event) == (salt.commit, salt.event) { continue }
      salts.append(salt)
    }
    return RunSecret(run: run, kind: .salts(salts))
  }

  /// Nil if nothing remains.
  fileprivate func cut(to commits: ClosedRange<CommitNumber>) -> RunSecret? {
    guard case .salts(let salts) = kind else { return self }
    let remaining = salts.filter { commits.contains($0.commit) }
    return remaining.isEmpty ? nil : RunSecret(run: run, kind: .salts(remaining))
  }
}
