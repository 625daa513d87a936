/// The salts of a stream's events, from the secrets of its segments.
///
/// The last run secret used is cached, so that reading along a stream costs one hash for two events.
package struct Salts: Sendable {
  /// Sorted by first commit, without duplicates.
  package let secrets: [SegmentSecret]
  private var cached: (commits: Range<UInt64>, secret: Digest)?

  /// Accepts secrets in any order. For one segment, a whole secret takes precedence over runs, and runs of several secrets are joined.
  package init(_ secrets: [SegmentSecret]) {
    self.secrets = SegmentSecret.joined(secrets)
  }

  /// The salt of the event at index `event` (from 0) of `commit`; nil if it was withheld or no secret covers it.
  package mutating func salt(commit: CommitNumber, event: Int, hasher: inout SHA256Hasher) -> Salt? {
    guard event >= 0, event < Limits.commitEventsMax else { return nil }
    if let cached, cached.commits.contains(commit.rawValue) {
      return Self.salt(commit: commit, event: event, runSecret: cached.secret, hasher: &hasher)
    }
    let after = secrets.partitionPoint { $0.firstCommit > commit }
    guard after > 0, let run = secrets[after - 1].run(of: commit) else { return nil }
    let secret = secrets[after - 1]
    let runSecret: Digest
    switch secret.kind {
    case .whole(let segmentSecret):
      runSecret = Self.runSecret(run, segmentSecret: segmentSecret, hasher: &hasher)
    case .runs(let runs):
      let index = runs.partitionPoint { $0.run >= run }
      guard index < runs.count, runs[index].run == run else { return nil }
      switch runs[index].kind {
      case .whole(let secret): runSecret = secret
      case .salts(let salts):
        let index = salts.partitionPoint { ($0.commit, $0.event) >= (commit, event) }
        guard index < salts.count, salts[index].commit == commit, salts[index].event == event else {
          return nil
        }
        return salts[index].salt
      }
    }
    let first = secret.firstCommit.rawValue + UInt64(run) * SegmentSecret.commitsPerRun
    let next = after < secrets.count ? secrets[after].firstCommit.rawValue : .max
    cached = (first..<min(first &+ SegmentSecret.commitsPerRun, next), runSecret)
    return Self.salt(commit: commit, event: event, runSecret: runSecret, hasher: &hasher)
  }

  /// The first commit of the open segment that a commit was written to; nil if no secret covers it.
  package func segment(of commit: CommitNumber) -> CommitNumber? {
    let after = secrets.partitionPoint { $0.firstCommit > commit }
    return after > 0 ? secrets[after - 1].firstCommit : nil
  }

  /// A single salt, for callers that need only one.
  package func salt(commit: CommitNumber, event: Int) -> Salt? {
    var salts = self
    var hasher = SHA256Hasher()
    return salts.salt(commit: commit, event: event, hasher: &hasher)
  }

  /// The secrets that a block of these commits lists: those that cover them, reduced to the parts that cover them.
  package func secrets(serving commits: ClosedRange<CommitNumber>) -> [SegmentSecret] {
    var served: [SegmentSecret] = []
    for (index, secret) in secrets.enumerated() where secret.firstCommit <= commits.upperBound {
      let next = index + 1 < secrets.count ? secrets[index + 1].firstCommit.rawValue : .max
      guard next > commits.lowerBound.rawValue else { continue }
      let first = max(secret.firstCommit, commits.lowerBound)
      let last = min(next - 1, commits.upperBound.rawValue)
      served.append(secret.cut(to: first...CommitNumber(rawValue: last)))
    }
    return served
  }

  static func runSecret(_ run: UInt32, segmentSecret: Digest, hasher: inout SHA256Hasher) -> Digest {
    segmentSecret.withUnsafeBytes { hasher.update($0) }
    withUnsafeBytes(of: run.littleEndian) { hasher.update($0) }
    return hasher.finish()
  }

  static func salt(
    commit: CommitNumber, event: Int, runSecret: Digest, hasher: inout SHA256Hasher
  ) -> Salt {
    // Each update is a large part of the cost of such a small hash: the 44 bytes are assembled first.
    withUnsafeTemporaryAllocation(byteCount: 44, alignment: 8) { bytes in
      runSecret.withUnsafeBytes { bytes.copyMemory(from: $0) }
      bytes.storeBytes(of: commit.rawValue.littleEndian, toByteOffset: 32, as: UInt64.self)
      bytes.storeBytes(of: UInt32(event / 2).littleEndian, toByteOffset: 40, as: UInt32.self)
      hasher.update(UnsafeRawBufferPointer(bytes))
    }
    return hasher.finish().withUnsafeBytes {
      Salt(UnsafeRawBufferPointer(rebasing: event % 2 == 0 ? $0[0..<16] : $0[16..<32]))
    }
  }
}

extension Array {
  /// The first index at which `isPast` is true, or the end; it must be false at all indices before it.
  package func partitionPoint(_ isPast: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = low + (high - low) / 2
      if isPast(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
