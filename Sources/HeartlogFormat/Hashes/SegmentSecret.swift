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
    assert(
      zip(joined, joined.dropFirst()).allSatisfy { $0.firstCommit < $1.firstCommit },
      "secrets are sorted by first commit")
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
    assert(
      cached.map { $0.commits.contains(commit.rawValue) } ?? false, "the run secret is that of the commit")
    return Self.salt(commit: commit, event: event, runSecret: runSecret, hasher: &hasher)
  }

  /// The first commit of the open segment that a commit was written to; nil if no secret covers it.
  package func segment(of commit: CommitNumber) -> CommitNumber? {
    let after = secrets.partitionPoint { $0.firstCommit > commit }
    return after > 0 ? secrets[after - 1].firstCommit : nil
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
    indices.partitionPoint { isPast(self[$0]) }
  }
}

extension Range<Int> {
  /// The first number at which `isPast` is true, or the end; it must be false at all numbers before it.
  @inlinable package func partitionPoint(_ isPast: (Int) -> Bool) -> Int {
    var low = lowerBound
    var high = upperBound
    while low < high {
      let middle = low + (high - low) / 2
      if isPast(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

/// The secrets of a block as bytes: see "Block encoding" in docs/format.md.
enum SecretsEncoding {
  private static let whole: UInt8 = 0
  private static let parts: UInt8 = 1

  static func write(_ secrets: [SegmentSecret], to writer: inout ByteWriter) {
    assert(
      zip(secrets, secrets.dropFirst()).allSatisfy { $0.firstCommit < $1.firstCommit },
      "secrets are sorted by first commit")
    writer.varint(secrets.count)
    for secret in secrets {
      writer.varint(secret.firstCommit.rawValue)
      switch secret.kind {
      case .whole(let digest):
        writer.u8(whole)
        writer.raw(digest)
      case .runs(let runs):
        writer.u8(parts)
        writer.varint(runs.count)
        for run in runs { write(run, to: &writer) }
      }
    }
  }

  private static func write(_ run: RunSecret, to writer: inout ByteWriter) {
    writer.varint(UInt64(run.run))
    switch run.kind {
    case .whole(let digest):
      writer.u8(whole)
      writer.raw(digest)
    case .salts(let salts):
      writer.u8(parts)
      writer.varint(salts.count)
      for salt in salts {
        writer.varint(salt.commit.rawValue)
        writer.varint(salt.event)
        salt.salt.withUnsafeBytes { writer.raw($0) }
      }
    }
  }

  /// Reads secrets; the commits that they cover are checked by `SegmentSecret.validate`.
  static func read(
    from reader: inout ByteReader, commitCount: Int, eventCount: Int
  ) throws(MalformedError) -> [SegmentSecret] {
    // Each covers a commit, and takes at least 3 bytes.
    let count = try reader.count(atMost: min(commitCount, reader.remaining / 3), "secrets of a block")
    var secrets: [SegmentSecret] = []
    secrets.reserveCapacity(count)
    for _ in 0..<count {
      let firstCommit = CommitNumber(rawValue: try reader.varint())
      let isWhole = try isWhole(&reader)
      guard !isWhole else {
        secrets.append(SegmentSecret(firstCommit: firstCommit, kind: .whole(try reader.digest())))
        continue
      }
      let runCount = try reader.count(atMost: min(commitCount, reader.remaining / 3), "runs of a secret")
      var runs: [RunSecret] = []
      for _ in 0..<runCount { runs.append(try readRun(from: &reader, eventCount: eventCount)) }
      secrets.append(SegmentSecret(firstCommit: firstCommit, kind: .runs(runs)))
    }
    return secrets
  }

  private static func readRun(
    from reader: inout ByteReader, eventCount: Int
  ) throws(MalformedError) -> RunSecret {
    let run = UInt32(try reader.count(atMost: Int(UInt32.max), "a run of a secret"))
    if try isWhole(&reader) { return RunSecret(run: run, kind: .whole(try reader.digest())) }
    // A salt takes at least 18 bytes.
    let count = try reader.count(atMost: min(eventCount, reader.remaining / 18), "salts of a run")
    var salts: [EventSalt] = []
    salts.reserveCapacity(count)
    for _ in 0..<count {
      let commit = CommitNumber(rawValue: try reader.varint())
      let event = try reader.count(atMost: Limits.commitEventsMax - 1, "an event's place")
      salts.append(EventSalt(commit: commit, event: event, salt: Salt(try reader.take(16))))
    }
    return RunSecret(run: run, kind: .salts(salts))
  }

  private static func isWhole(_ reader: inout ByteReader) throws(MalformedError) -> Bool {
    let kind = try reader.u8()
    guard kind == whole || kind == parts else { throw MalformedError("a secret of kind \(kind)") }
    return kind == whole
  }
}
