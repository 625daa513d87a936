import HeartlogSimulator
import Heartlog
import Synchronization

@testable import HeartlogEngine
@testable import HeartlogSync

/// A store without files, as far as shipping goes: whole streams of real commits, checked as a store checks them.
final class FakeStreams: ShippedStreams {
  struct Stream: Equatable {
    var name: String
    var commits: [Commit] = []
    /// The root after each commit.
    var roots: [Digest] = []
    var tree = MerkleTree()
    var isEnded = false
  }

  struct State {
    var streams: [ReplicaID: Stream] = [:]
    var replica: ReplicaID
    var eventsPerRun = 50_000
    /// Runs that were handed to `receive`, known ones included.
    var receivedRuns = 0
    var receivedTwice = 0
    /// Thrown by `receive` after so many runs.
    var runsUntilFailure: Int?
    /// Streams that are handed out with other commits than those that lead to the root.
    var forged: Set<ReplicaID> = []
    /// The last commit that can be read, of streams that are damaged behind it.
    var damaged: [ReplicaID: UInt64] = [:]
    /// When that is noticed.
    var noticesDamage = Notice.whenLooking
    /// Streams of which `receive` takes nothing for now.
    var waiting: Set<ReplicaID> = []
  }

  enum Notice: CaseIterable {
    case whenOpening
    case whenLooking
    case whenReading
  }

  let name: String
  let state: Mutex<State>

  convenience init(_ number: UInt64, name: String) { self.init(Self.replica(number), name: name) }

  init(_ replica: ReplicaID, name: String) {
    self.name = name
    state = Mutex(State(replica: replica))
  }

  static func replica(_ number: UInt64) -> ReplicaID {
    ReplicaID(high: number &* 0x9E37_79B9_7F4A_7C15, low: number)
  }

  /// One secret for all streams: their commits differ.
  static let secret = SegmentSecret(
    firstCommit: CommitNumber(rawValue: 1), kind: .whole(Digest([UInt8](0..<32))))

  var replica: ReplicaID { state.withLock { $0.replica } }
  var streams: [ReplicaID: Stream] { state.withLock { $0.streams } }

  /// The same store elsewhere: its own identity, too.
  func copy() -> FakeStreams {
    let copy = FakeStreams(0, name: name)
    let taken = state.withLock { $0 }
    copy.state.withLock { $0 = taken }
    return copy
  }

  /// Writes commits of one event each to the own stream.
  func write(_ count: Int, tag: String = "", title: String = "", library: String = "papers") {
    state.withLock { state in
      var stream = state.streams[state.replica] ?? Stream(name: name)
      for _ in 0..<count {
        let number = stream.commits.count + 1
        let last = stream.commits.last
        let fields = title.isEmpty ? [] : [Field(name: "title", value: .string("\(title) \(number)"))]
        let stamp = last.map { $0.stamp.rawValue + (60_000 << 16) } ?? UInt64(1_772_438_400_000) << 16
        let commit = Commit(
          replica: state.replica, number: CommitNumber(rawValue: UInt64(number)),
          firstSequence: SequenceNumber(rawValue: UInt64(number)), stamp: HybridTimestamp(rawValue: stamp),
          wallTime: HybridTimestamp(rawValue: stamp).milliseconds, origin: "cli",
          records: [
            .event(
              Event(
                library: library, item: "\(tag)\(number * 7919 % 1_000_003)", action: .added, fields: fields)
            )
          ])
        Self.append(commit, to: &stream)
      }
      state.streams[state.replica] = stream
    }
  }

  /// Holds these commits of one stream, from its first on.
  func hold(_ commits: some Sequence<Commit>) {
    state.withLock { state in
      for commit in commits {
        Self.append(commit, to: &state.streams[commit.replica, default: Stream(name: name)])
      }
    }
  }

  private static func append(_ commit: Commit, to stream: inout Stream) {
    var hasher = SHA256Hasher()
    append(commit, to: &stream, hasher: &hasher)
  }

  private static func append(_ commit: Commit, to stream: inout Stream, hasher: inout SHA256Hasher) {
    var salts = Salts([secret])
    guard let leaf = try? commit.leafHash(salts: &salts, hasher: &hasher) else { return }
    stream.tree.append(leaf: leaf, hasher: &hasher)
    stream.commits.append(commit)
    stream.roots.append(stream.tree.root)
  }

  // MARK: - ShippedStreams

  func streamHeads() throws(HeartlogError) -> [StreamHead] {
    state.withLock { state in
      state.streams.keys.sorted().compactMap { Self.head(of: $0, in: state) }
    }
  }

  func streamHead(of replica: ReplicaID) throws(HeartlogError) -> StreamHead? {
    state.withLock { Self.head(of: replica, in: $0) }
  }

  private static func head(of replica: ReplicaID, in state: State) -> StreamHead? {
    guard let stream = state.streams[replica] else { return nil }
    let known = UInt64(stream.commits.count)
    let last = state.noticesDamage == .whenOpening ? state.damaged[replica] ?? known : known
    guard last > 0 || known == 0 else { return nil }
    return StreamHead(
      replica: replica, name: stream.name, commit: CommitNumber(rawValue: last),
      root: last == 0 ? MerkleTree().root : stream.roots[Int(last) - 1],
      isEnded: stream.isEnded && last == known)
  }

  private func finding(_ replica: ReplicaID, after last: UInt64) -> Finding {
    let commit = CommitNumber(rawValue: last + 1)
    return Finding(
      verdict: .corrupt, replica: replica,
      error: HeartlogError(
        .corrupt, "a checksum that does not hold", file: "/home/anna/store/replicas/\(replica)/1.sealed",
        offset: 4_096, commits: commit...commit))
  }

  var findings: [Finding] {
    state.withLock { state in
      guard state.noticesDamage == .whenOpening else { return [] }
      return state.damaged.sorted { $0.key < $1.key }.map { finding($0.key, after: $0.value) }
    }
  }

  func damage(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> Finding? {
    state.withLock { state in
      guard state.noticesDamage != .whenReading, let sound = state.damaged[replica], sound < last.rawValue
      else { return nil }
      return finding(replica, after: sound)
    }
  }

  func streamRoot(of replica: ReplicaID, at commit: CommitNumber) throws(HeartlogError) -> Digest? {
    state.withLock { state in
      guard let stream = state.streams[replica], commit.rawValue <= UInt64(stream.roots.count) else {
        return nil
      }
      return commit.rawValue == 0 ? MerkleTree().root : stream.roots[Int(commit.rawValue) - 1]
    }
  }

  func streamRun(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> StreamRun? {
    let (stream, size, isForged) = state.withLock {
      ($0.streams[replica], $0.eventsPerRun, $0.forged.contains(replica))
    }
    guard let stream, after < UInt64(stream.commits.count) else { return nil }
    let sound = state.withLock { $0.damaged[replica] }
    if let sound, after >= sound { throw finding(replica, after: sound).error }
    let end = min(Int(last.rawValue), stream.commits.count, Int(after) + size, Int(sound ?? last.rawValue))
    var commits = Array(stream.commits[Int(after)..<end])
    if isForged {
      commits[0] = Commit(
        replica: replica, number: commits[0].number, firstSequence: commits[0].firstSequence,
        stamp: commits[0].stamp, wallTime: commits[0].wallTime, origin: "forged", records: commits[0].records)
    }
    let first = CommitNumber(rawValue: after + 1)
    let block = Block(
      replica: replica, firstCommit: first,
      secrets: Salts([Self.secret]).secrets(serving: first...CommitNumber(rawValue: UInt64(end))),
      commits: commits)
    do {
      return StreamRun(
        replica: replica, name: stream.name, firstCommit: first, commitCount: commits.count,
        body: try BlockEncoding.encode(block), root: stream.roots[end - 1])
    } catch {
      throw HeartlogError(.corrupt, error.reason)
    }
  }

  func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    let block: Block
    do {
      let result: Result<Block, MalformedError> = run.body.withUnsafeBytes { bytes in
        Result { () throws(MalformedError) in
          try BlockEncoding.decode(
            bytes, replica: run.replica, firstCommit: run.firstCommit, commitCount: run.commitCount)
        }
      }
      block = try result.get()
    } catch {
      throw HeartlogError(.peer, error.reason)
    }
    if let finding = findings.first { throw finding.error }
    let result: Result<ReceivedRun, HeartlogError> = state.withLock { state in
      state.receivedRuns += 1
      if let left = state.runsUntilFailure {
        guard left > 0 else { return .failure(HeartlogError(.diskFull, "no room")) }
        state.runsUntilFailure = left - 1
      }
      if state.waiting.contains(run.replica) { return .success(.waiting("not yet")) }
      var stream = state.streams[run.replica] ?? Stream(name: run.name)
      let known = UInt64(stream.commits.count)
      if run.firstCommit.rawValue > known + 1 { return .success(.gap) }
      if stream.isEnded, run.lastCommit.rawValue > known { return .success(.diverged) }
      let overlap = Int(min(known, run.lastCommit.rawValue) - (run.firstCommit.rawValue - 1))
      for commit in block.commits[..<overlap] where stream.commits[Int(commit.number.rawValue) - 1] != commit
      {
        return .success(.diverged)
      }
      state.receivedTwice += overlap
      let new = block.commits[overlap...]
      var hasher = SHA256Hasher()
      for commit in new { Self.append(commit, to: &stream, hasher: &hasher) }
      guard stream.roots[Int(run.lastCommit.rawValue) - 1] == run.root else {
        return .success(.diverged)
      }
      guard !new.isEmpty else { return .success(.known) }
      state.streams[run.replica] = stream
      return .success(.appended(commits: new.count, events: new.count, changedItems: new.count))
    }
    return try result.get()
  }

  func endStream(_ replica: ReplicaID, after commit: CommitNumber) throws(HeartlogError) {
    state.withLock { state in
      var stream = state.streams[replica] ?? Stream(name: "")
      if stream.isEnded, stream.commits.count <= Int(commit.rawValue) { return }
      let rest = stream.commits.dropFirst(Int(commit.rawValue))
      let name = stream.name
      var kept = Stream(name: name, isEnded: true)
      for commit in stream.commits.prefix(Int(commit.rawValue)) { Self.append(commit, to: &kept) }
      stream = kept
      state.streams[replica] = stream
      guard let first = rest.first else { return }
      // The branch's name is a hash of what every store knows of it.
      var bytes = replica.bytes
      withUnsafeBytes(of: first.number.rawValue.littleEndian) { bytes += $0 }
      var salts = Salts([Self.secret])
      var hasher = SHA256Hasher()
      if let leaf = try? first.leafHash(salts: &salts, hasher: &hasher) { bytes += leaf.bytes }
      guard let branch = ReplicaID(bytes: SHA256Hasher.digest(of: bytes).bytes[..<16]) else { return }
      var continued = Stream(name: name)
      for commit in rest {
        let number = UInt64(continued.commits.count + 1)
        Self.append(
          Commit(
            replica: branch, number: CommitNumber(rawValue: number),
            firstSequence: SequenceNumber(rawValue: number), stamp: commit.stamp, wallTime: commit.wallTime,
            origin: commit.origin, records: commit.records), to: &continued)
      }
      if continued.commits.count > state.streams[branch]?.commits.count ?? 0 {
        state.streams[branch] = continued
      }
      if state.replica == replica { state.replica = branch }
    }
  }
}
