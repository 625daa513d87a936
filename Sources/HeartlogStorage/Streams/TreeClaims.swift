import HeartlogEvents
import HeartlogFiles

/// What a store says of a stream's tree in more places than its commits: headers of segments, and positions of snapshots.
///
/// Whoever goes along the stream compares: an edit of a commit, with all checksums made right, leaves these behind.
struct TreeClaims {
  /// What the tree over the first commits of a stream was when a file was written.
  struct Claim {
    let tree: MerkleTree
    /// The file that says so.
    let file: String
    /// What it is where the commits are others.
    let contradiction: String
  }

  private var claims: [UInt64: [Claim]] = [:]
  /// The last commit that any claim is about; 0 where there is none.
  private(set) var lastCommit: UInt64 = 0

  init() {}

  /// What headers of a stream's segments, and snapshots, claim of its commits up to `last`. A header that cannot be read claims nothing:
  /// who reads its segment says so.
  init(
    of replica: ReplicaID, in directory: StoreDirectory, snapshots: [SnapshotClaim] = [],
    upTo last: UInt64 = .max
  ) throws(StorageError) {
    for segment in try directory.segments(of: replica) {
      let path = directory.path(of: segment, in: replica)
      guard let file = try? directory.fileSystem.open(path, .read),
        let header = try? directory.header(of: file, path: path).header,
        let tree = try? MerkleTree(size: header.treeSize, frontier: header.frontier)
      else { continue }
      if tree.size <= last {
        add(
          Claim(tree: tree, file: path, contradiction: "a frontier that differs from the commits before it"))
      }
    }
    for claim in snapshots.compactMap({ $0.claim(of: replica) }) where claim.tree.size <= last { add(claim) }
  }

  mutating func add(_ claim: Claim) {
    // The tree over no commits is always the same.
    guard claim.tree.size > 0 else { return }
    claims[claim.tree.size, default: []].append(claim)
    lastCommit = max(lastCommit, claim.tree.size)
  }

  /// Whether a file's claim is among them, or is none.
  func contains(treeSize: UInt64, frontier: [Digest], in file: String) -> Bool {
    treeSize == 0 || claims[treeSize]?.contains { $0.file == file && $0.tree.frontier == frontier } == true
  }

  /// The claim that a tree contradicts; nil where it contradicts none.
  func contradicted(by tree: MerkleTree) -> Claim? {
    claims.isEmpty ? nil : claims[tree.size]?.first { $0.tree != tree }
  }
}

/// What a snapshot says of the log that it was made from.
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
        tree: $0.tree, file: file, contradiction: "a snapshot of other commits than the stream has")
    }
  }
}
