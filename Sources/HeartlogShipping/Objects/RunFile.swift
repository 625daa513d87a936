import Heartlog
import HeartlogProofs

/// The content of a run file. The format is specified in "The folder" in docs/shipping.md.
package struct RunFile: Hashable {
  let replica: ReplicaID
  private(set) var name: String
  let firstCommit: UInt64
  /// Consecutive runs; empty if the file says that the stream ends before `firstCommit`.
  package private(set) var runs: [StreamRun]

  static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x52, 0x55, 0x4E, 0x0D, 0x0A]
  static let version: UInt8 = 1
  static let bytesMax = 128 << 20
  /// The size of a full file. No run is added to a full file, so it exceeds this size by one run at most.
  static let fullBytes = 8 << 20
  private static let hashBytes = 32

  var lastCommit: UInt64 { runs.last?.lastCommit.rawValue ?? firstCommit - 1 }

  /// Says what proves the runs.
  mutating func prove(with proof: (checkpoint: SignedCheckpoint, extensionRoots: [UInt64: [Digest]])) {
    for index in runs.indices {
      runs[index].proof = RunProof(
        checkpoint: proof.checkpoint,
        extensionRoots: proof.extensionRoots[runs[index].lastCommit.rawValue] ?? [])
    }
  }

  /// Encodes the file and returns it with its name. If there are no runs, `endRoot` is the root after the
  /// last commit.
  package func encoded(endRoot: Digest? = nil) -> (name: RunFileName, bytes: [UInt8]) {
    var writer = ByteWriter(capacity: 256 + runs.reduce(0) { $0 + $1.body.count + 64 })
    writer.raw(Self.magic)
    writer.u8(Self.version)
    writer.replica(replica)
    writer.text(name)
    writer.varint(firstCommit)
    writer.varint(runs.count)
    for run in runs {
      writer.varint(run.commitCount)
      writer.raw(run.root)
      writer.lengthAndBytes(run.body)
    }
    let hash = SHA256Hasher.digest(of: writer.bytes)
    writer.raw(hash)
    let root = runs.last?.root ?? endRoot ?? MerkleTree().root
    return (
      RunFileName(
        first: firstCommit, last: lastCommit, root: RootPrefix(root), content: RootPrefix(hash)), writer.bytes
    )
  }

  /// The hash at the end of a whole file; `nil` if the bytes are not a whole file.
  static func contentHash(_ bytes: [UInt8]) -> Digest? {
    guard bytes.count > magic.count + hashBytes, bytes.starts(with: magic) else { return nil }
    let end = Digest(Array(bytes.suffix(hashBytes)))
    var hasher = SHA256Hasher()
    // Not copied: a file may have 128 MiB.
    bytes.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0.dropLast(hashBytes))) }
    return hasher.finish() == end ? end : nil
  }

  /// Decodes a file.
  ///
  /// - Throws: `MalformedError` if the bytes are not whole, or not a run file.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    guard Self.contentHash(bytes) != nil else { throw MalformedError("an incomplete run file") }
    self = try bytes.withBytes { (bytes) throws(MalformedError) in
      try RunFile(content: UnsafeRawBufferPointer(rebasing: bytes.dropLast(Self.hashBytes)))
    }
  }

  package init(replica: ReplicaID, name: String, firstCommit: UInt64, runs: [StreamRun]) {
    self.replica = replica
    self.name = name
    self.firstCommit = firstCommit
    self.runs = runs
  }

  /// A file that takes the runs of a stream after a commit.
  init(of stream: ReplicaID, after commit: UInt64) {
    self.init(replica: stream, name: "", firstCommit: commit + 1, runs: [])
  }

  var isFull: Bool { runs.reduce(0) { $0 + $1.body.count } >= Self.fullBytes }

  /// Reads the next run from a store, and adds it.
  ///
  /// - Throws: `corrupt` if the stream does not continue up to `last`.
  mutating func takeRun(
    from store: any ShippedStreams, upTo last: UInt64
  ) throws(HeartlogError) -> StreamRun {
    guard
      let run = try store.streamRun(of: replica, after: lastCommit, upTo: CommitNumber(rawValue: last)),
      run.firstCommit.rawValue == lastCommit + 1
    else {
      throw HeartlogError(.corrupt, "the stream of \(replica) does not continue after commit \(lastCommit)")
    }
    if runs.isEmpty { name = run.name }
    runs.append(run)
    return run
  }

  private init(content: UnsafeRawBufferPointer) throws(MalformedError) {
    var reader = ByteReader(content)
    _ = try reader.take(Self.magic.count)
    let version = try reader.u8()
    guard version == Self.version else { throw MalformedError("a run file of version \(version)") }
    replica = try reader.replica()
    name = try reader.text()
    try ShippedName.check(name)
    firstCommit = try reader.varint()
    guard firstCommit >= 1, firstCommit <= Limits.numberMax else {
      throw MalformedError("a run file from commit \(firstCommit) on")
    }
    // Each run contains at least a root.
    let count = try reader.count(atMost: reader.remaining / Self.hashBytes, "runs")
    var runs: [StreamRun] = []
    var next = firstCommit
    for _ in 0..<count {
      let commits = try reader.count(atMost: Limits.blockEventsMax, "commits of a run")
      guard commits >= 1, next <= Limits.numberMax - UInt64(commits - 1) else {
        throw MalformedError("a run of \(commits) commits from \(next) on")
      }
      let root = try reader.digest()
      runs.append(
        StreamRun(
          replica: replica, name: name, firstCommit: CommitNumber(rawValue: next), commitCount: commits,
          body: Array(try reader.lengthAndBytes()), root: root))
      next += UInt64(commits)
    }
    try reader.end()
    self.runs = runs
  }
}

extension StreamRun {
  /// The number of events according to the block; `nil` if the body is not a block.
  package var eventCount: UInt64? {
    body.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      guard (try? reader.u8()) == 1, (try? reader.varint()) != nil else { return nil }
      return try? reader.varint()
    }
  }

  /// The hashes of the commits, as leaves of their stream's tree.
  package func leaves() throws(MalformedError) -> [Digest] {
    let block = try body.withBytes { (bytes) throws(MalformedError) in
      try BlockEncoding.decode(bytes, replica: replica, firstCommit: firstCommit, commitCount: commitCount)
    }
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    var leaves: [Digest] = []
    for commit in block.commits { leaves.append(try commit.leafHash(salts: &salts, hasher: &hasher)) }
    return leaves
  }
}
