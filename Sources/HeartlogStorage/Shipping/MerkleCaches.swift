import HeartlogFormat

/// The Merkle trees of the streams, as shipping uses them. Guarded by `monitor`, which is entered after the log's.
final class MerkleCaches: @unchecked Sendable {
  private let directory: StoreDirectory
  let monitor = Monitor()
  /// By replica: the cache that follows the stream's head.
  private(set) var atHead: [ReplicaID: MerkleCache] = [:]
  /// By replica: the cache at the end of the last run that was shipped.
  var shipped: [ReplicaID: MerkleCache] = [:]
  /// By replica: a cache that keeps the nodes of the tree from some commit on.
  private var withNodes: [ReplicaID: MerkleCache] = [:]
  /// By replica: the position at which the log was opened. A cache starts there if that is nearer than a sealed segment.
  var positions: [ReplicaID: StreamPosition] = [:]

  init(_ directory: StoreDirectory) { self.directory = directory }

  /// Forgets a stream, which is read again from its start.
  func forget(_ replica: ReplicaID) {
    atHead[replica] = nil
    shipped[replica] = nil
    withNodes[replica] = nil
    positions[replica] = nil
  }

  /// The files that the caches keep open; nil while a thread uses a cache.
  var openFiles: Set<ObjectIdentifier>? {
    guard monitor.tryEnter() else { return nil }
    defer { monitor.leave() }
    var files: Set<ObjectIdentifier> = []
    for merkleCache in all {
      if let file = merkleCache.openFile { files.insert(ObjectIdentifier(file)) }
    }
    return files
  }

  /// Closes the files until the next read, unless a thread uses a cache.
  func rest() {
    guard monitor.tryEnter() else { return }
    defer { monitor.leave() }
    for merkleCache in all { merkleCache.rest() }
  }

  private var all: [MerkleCache] { Array(atHead.values) + shipped.values + withNodes.values }

  /// Returns the Merkle cache of a stream at its head, or after the last readable commit; nil if there is none.
  func soundCache(of replica: ReplicaID, at commit: UInt64) throws -> MerkleCache? {
    do { return try cache(of: replica, at: commit) } catch let error as HeartlogError
      where error.code == .corrupt
    {
      atHead[replica] = nil
      let merkleCache = try MerkleCache(directory, replica: replica, before: CommitNumber(rawValue: 1))
      while merkleCache.position < commit, try merkleCache.pass() {}
      return merkleCache.position == 0 ? nil : merkleCache
    }
  }

  /// Returns the Merkle cache of a stream at a commit, continuing the existing one if possible.
  func cache(of replica: ReplicaID, at commit: UInt64) throws -> MerkleCache {
    if let merkleCache = atHead[replica], merkleCache.position <= commit {
      try merkleCache.advance(to: commit)
      return merkleCache
    }
    let merkleCache = try MerkleCache(
      directory, replica: replica, before: CommitNumber(rawValue: commit + 1), from: positions[replica])
    try merkleCache.advance(to: commit)
    atHead[replica] = merkleCache
    return merkleCache
  }

  /// Returns the root of a stream's tree at a commit, and marks it: what is signed next is compared with it.
  func markedRoot(of replica: ReplicaID, at commit: UInt64) throws -> Digest {
    if let marked = atHead[replica]?.markedTree(at: commit) { return marked.root }
    let merkleCache = try cache(of: replica, at: commit)
    merkleCache.mark()
    return merkleCache.tree.root
  }

  /// Returns the root of a stream's tree at an earlier commit.
  func root(of replica: ReplicaID, at commit: UInt64) throws -> Digest {
    if let marked = atHead[replica]?.markedTree(at: commit) { return marked.root }
    let merkleCache = try MerkleCache(
      directory, replica: replica, before: CommitNumber(rawValue: commit + 1))
    try merkleCache.advance(to: commit)
    return merkleCache.tree.root
  }

  /// Returns the roots of full subtrees of a stream's tree.
  ///
  /// Hashes the commits that no call has hashed before, from the first that is needed on, and those of the groups in which the
  /// smallest subtrees lie.
  ///
  /// - Parameters:
  ///   - subtrees: Within the first `size` leaves.
  ///   - size: A size of the tree up to which the stream is durable.
  ///   - head: The stream's last commit that is not going to be cut off.
  ///   - groups: Leaves that were already hashed, by the number of their group.
  func roots(
    of subtrees: [MerkleSubtree], in replica: ReplicaID, size: UInt64, head: UInt64,
    groups: [UInt64: [Digest]] = [:]
  ) throws -> [Digest] {
    guard let start = subtrees.map(\.leaves.lowerBound).min() else { return [] }
    let merkleCache = try cacheWithNodes(of: replica, from: start, size: size, head: head)
    let end = merkleCache.markedTree(at: size) ?? atHead[replica]?.markedTree(at: size)
    let frontier = end.map {
      Dictionary(uniqueKeysWithValues: zip(MerkleSubtree.covering(0..<size), $0.frontier))
    }
    var groups = groups
    return try subtrees.map { subtree in
      if let root = merkleCache.nodes?.root(of: subtree) ?? frontier?[subtree] { return root }
      precondition(subtree.height < MerkleNodes.heightMin, "a node that was not kept")
      let group = MerkleNodes.group(of: subtree.leaves.lowerBound, size: size)
      let number = group.lowerBound / MerkleNodes.groupLeaves
      let leaves =
        try groups[number] ?? LeafReader(directory: directory).leaves(group, of: replica).hashes
      groups[number] = leaves
      var tree = MerkleTree()
      for index in subtree.leaves { tree.append(leaf: leaves[Int(index - group.lowerBound)]) }
      return tree.root
    }
  }

  private func cacheWithNodes(
    of replica: ReplicaID, from start: UInt64, size: UInt64, head: UInt64
  ) throws -> MerkleCache {
    var known = withNodes[replica]
    if let nodes = known?.nodes, nodes.start > start { known = nil }
    let merkleCache =
      try known ?? MerkleCache(directory, replica: replica, before: CommitNumber(rawValue: start + 1))
    if known == nil { merkleCache.keepNodes() }
    withNodes[replica] = nil
    try merkleCache.advance(to: size, head: head)
    withNodes[replica] = merkleCache
    return merkleCache
  }
}
