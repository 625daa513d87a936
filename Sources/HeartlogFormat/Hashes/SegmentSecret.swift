/// The source of the salts of a run of commits: the secret of the open segment that they were written to.
package struct SegmentSecret: Hashable, Sendable {
  /// The first commit of that segment. The secret covers commits from there up to the next secret's first commit.
  package let firstCommit: CommitNumber
  /// The secret, or its remaining parts.
  package let kind: Kind

  /// A secret that is whole, or the parts of one that may still be known.
  package enum Kind: Hashable, Sendable {
    /// The 32 random bytes themselves.
    case whole(Digest)
    /// If an event was withheld: the remaining run secrets, by run.
    case runs([RunSecret])
  }

  /// Creates the secret that applies from a commit on.
  package init(firstCommit: CommitNumber, kind: Kind) {
    self.firstCommit = firstCommit
    self.kind = kind
  }

  /// The number of commits that share a run secret.
  package static let commitsPerRun: UInt64 = 256

  /// The run that contains `commit`; nil before the segment and past the 2^32 runs that the format counts.
  func run(of commit: CommitNumber) -> UInt32? {
    guard commit >= firstCommit else { return nil }
    return UInt32(exactly: (commit.rawValue - firstCommit.rawValue) / Self.commitsPerRun)
  }
}

/// The secret of one run of 256 commits of a segment.
package struct RunSecret: Hashable, Sendable {
  /// Counted from 0 at the segment's first commit.
  package let run: UInt32
  /// The secret, or its remaining parts.
  package let kind: Kind

  /// A secret that is whole, or the salts that may still be known.
  package enum Kind: Hashable, Sendable {
    /// The secret itself: 32 bytes.
    case whole(Digest)
    /// If an event was withheld: the salts of the remaining events, by commit and event.
    case salts([EventSalt])
  }

  /// The secret of a run.
  package init(run: UInt32, kind: Kind) {
    self.run = run
    self.kind = kind
  }
}

/// The salt of one event.
package struct EventSalt: Hashable, Sendable {
  /// The commit of the event.
  package let commit: CommitNumber
  /// The event's index in its commit, from 0.
  package let event: Int
  /// The 16 bytes.
  package let salt: Salt

  /// The salt of the event at an index in a commit.
  package init(commit: CommitNumber, event: Int, salt: Salt) {
    self.commit = commit
    self.event = event
    self.salt = salt
  }
}

/// 16 bytes that prevent an event's hash from being guessed.
package struct Salt: Hashable, Sendable {
  // Two words in memory order, so that a salt is stored inline.
  private let words: (UInt64, UInt64)

  /// Copies 16 bytes; any other count is a programming error.
  package init(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == 16, "a salt has 16 bytes")
    words = (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  /// The 16 bytes, copied.
  package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  /// The 16 bytes, valid for the duration of the call.
  package func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try Swift.withUnsafeBytes(of: words, body)
  }

  package static func == (a: Salt, b: Salt) -> Bool { a.words == b.words }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }
}

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
