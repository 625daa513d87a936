import HeartlogFormat
import HeartlogFiles

/// What a store records about a stream's tree apart from the commits: in segment headers and in the positions of snapshots.
///
/// Code that reads the stream compares them. They reveal a commit that was edited, even if all checksums were made to match.
struct TreeClaims {
  /// The tree over the first commits of a stream when a file was written.
  struct Claim {
    let size: UInt64
    let root: Digest
    /// The roots of its full subtrees; nil for a checkpoint, which has only the root.
    let frontier: [Digest]?
    /// The file that contains the claim.
    let file: String
    /// The message for a stream whose commits differ.
    let contradiction: String

    init(_ tree: MerkleTree, file: String, contradiction: String) {
      size = tree.size
      root = tree.root
      frontier = tree.frontier
      self.file = file
      self.contradiction = contradiction
    }

    init(_ checkpoint: Checkpoint, file: String) {
      size = checkpoint.size
      root = checkpoint.root
      frontier = nil
      self.file = file
      contradiction = "a checkpoint of its owner over other commits than the stream has"
    }
  }

  private var claims: [UInt64: [Claim]] = [:]
  /// The highest commit of any claim; 0 if there is none.
  private(set) var lastCommit: UInt64 = 0

  init() {}

  /// Collects what segment headers and snapshots claim about a stream's commits up to `last`. A header that cannot be read makes no
  /// claim; it is reported when its segment is read.
  init(
    of replica: ReplicaID, in directory: StoreDirectory, snapshots: [SnapshotClaim] = [],
    upTo last: UInt64 = .max
  ) throws(HeartlogError) {
    for segment in try directory.segments(of: replica) {
      let path = directory.path(of: segment, in: replica)
      guard let file = try? directory.fileSystem.open(path, .read),
        let header = try? directory.header(of: file, path: path).header,
        let tree = try? MerkleTree(size: header.treeSize, frontier: header.frontier)
      else { continue }
      if tree.size <= last {
        add(Claim(tree, file: path, contradiction: "a frontier that differs from the commits before it"))
      }
    }
    for claim in snapshots.compactMap({ $0.claim(of: replica) }) where claim.size <= last { add(claim) }
    // A checkpoint that cannot be read makes no claim; `verify` reports it.
    if let signed = try? CheckpointFile.read(of: replica, in: directory), signed.checkpoint.size <= last {
      add(Claim(signed.checkpoint, file: CheckpointFile.path(of: replica, in: directory)))
    }
  }

  mutating func add(_ claim: Claim) {
    // The tree over no commits is always the same.
    guard claim.size > 0 else { return }
    claims[claim.size, default: []].append(claim)
    lastCommit = max(lastCommit, claim.size)
  }

  /// Whether the claims include this one of a file, or it is over no commits and so makes no claim.
  func contains(treeSize: UInt64, frontier: [Digest], in file: String) -> Bool {
    treeSize == 0 || claims[treeSize]?.contains { $0.file == file && $0.frontier == frontier } == true
  }

  /// Returns the claim that a tree contradicts; nil if there is none.
  func contradicted(by tree: MerkleTree) -> Claim? {
    guard let claims = claims[tree.size] else { return nil }
    let root = tree.root
    return claims.first { $0.root != root || ($0.frontier ?? tree.frontier) != tree.frontier }
  }
}

/// What a snapshot records about the log from which it was made.
package struct SnapshotClaim: Sendable {
  package let positions: [StreamPosition]
  /// The path of the snapshot's file.
  package let file: String

  package init(positions: [StreamPosition], file: String) {
    self.positions = positions
    self.file = file
  }

  func claim(of replica: ReplicaID) -> TreeClaims.Claim? {
    positions.first { $0.replica == replica }.map {
      TreeClaims.Claim(
        $0.tree, file: file, contradiction: "a snapshot of other commits than the stream has")
    }
  }
}
