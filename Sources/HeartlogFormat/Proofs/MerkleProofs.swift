/// That a leaf is in a Merkle tree. Source: RFC 6962, section 2.1.1, "Merkle Audit Paths".
package struct InclusionProof: Hashable, Sendable {
  /// The number of leaves before the leaf.
  package let index: UInt64
  /// The number of leaves of the tree.
  package let size: UInt64
  /// The roots beside the way from the leaf to the root, the lowest first.
  package let path: [Digest]

  package init(index: UInt64, size: UInt64, path: [Digest]) {
    self.index = index
    self.size = size
    self.path = path
  }

  /// Makes a proof.
  ///
  /// - Parameter roots: Returns the roots of full subtrees of the tree, in their order.
  package init<E: Error>(
    index: UInt64, size: UInt64, roots: ([MerkleSubtree]) throws(E) -> [Digest]
  ) throws(E) {
    precondition(index < size, "a leaf that is not in the tree")
    let parts = Self.parts(index: index, size: size)
    self.init(index: index, size: size, path: try MerkleTree.roots(over: parts.map(\.leaves), roots: roots))
  }

  private static func parts(index: UInt64, size: UInt64) -> [PathPart] {
    MerkleTree.parts(beside: index, size: size) { $0.count == 1 }.parts
  }

  /// The root of the tree, given the hash of the leaf.
  ///
  /// - Throws: if the path does not have the length that index and size require.
  package func root(of leaf: Digest) throws(MalformedError) -> Digest {
    guard index < size, size <= Limits.numberMax else {
      throw MalformedError("leaf \(index) of a tree of \(size) leaves")
    }
    let parts = Self.parts(index: index, size: size)
    guard parts.count == path.count else {
      throw MalformedError("a path of \(path.count) roots instead of \(parts.count)")
    }
    var hasher = SHA256Hasher()
    var node = leaf
    for (part, root) in zip(parts, path) {
      node =
        part.isLeft
        ? MerkleTree.node(root, node, hasher: &hasher) : MerkleTree.node(node, root, hasher: &hasher)
    }
    return node
  }
}

/// The leaves below a root of a path, and whether they come before the leaf that the path belongs to.
private struct PathPart {
  let leaves: Range<UInt64>
  let isLeft: Bool
}

extension MerkleTree {
  /// The parts beside the way from the root of a tree down to a leaf, the lowest first.
  ///
  /// - Parameter isEnd: Whether the way ends at a subtree that contains the leaf, with these leaves.
  /// - Returns: The parts, and the leaves of the subtree at the end.
  fileprivate static func parts(
    beside leaf: UInt64, size: UInt64, until isEnd: (Range<UInt64>) -> Bool
  ) -> (parts: [PathPart], end: Range<UInt64>) {
    var parts: [PathPart] = []
    var tree = 0..<size
    while !isEnd(tree) {
      let split = tree.lowerBound + Self.split(UInt64(tree.count))
      if leaf < split {
        parts.append(PathPart(leaves: split..<tree.upperBound, isLeft: false))
        tree = tree.lowerBound..<split
      } else {
        parts.append(PathPart(leaves: tree.lowerBound..<split, isLeft: true))
        tree = split..<tree.upperBound
      }
    }
    assert(tree.contains(leaf), "the way leads to the leaf")
    return (parts.reversed(), tree)
  }

  /// Where a tree of at least two leaves is split: at the largest power of two below its size.
  private static func split(_ size: UInt64) -> UInt64 {
    assert(size >= 2, "a tree of at least two leaves is split")
    return 1 << UInt64(UInt64.bitWidth - 1 - (size - 1).leadingZeroBitCount)
  }

  /// The roots of the subtrees over these leaves, which begin where a subtree of the whole tree does.
  ///
  /// - Parameter roots: Returns the roots of full subtrees, in their order.
  fileprivate static func roots<E: Error>(
    over parts: [Range<UInt64>], roots: ([MerkleSubtree]) throws(E) -> [Digest]
  ) throws(E) -> [Digest] {
    let subtrees = parts.map(MerkleSubtree.covering)
    var found = try roots(subtrees.flatMap { $0 })[...]
    assert(found.count == subtrees.reduce(0) { $0 + $1.count }, "each subtree has a root")
    var hasher = SHA256Hasher()
    return subtrees.map { subtrees in
      // The frontier of a tree: larger subtrees first.
      let frontier = found.prefix(subtrees.count)
      found = found.dropFirst(subtrees.count)
      guard var node = frontier.last else { preconditionFailure("a part without leaves") }
      for left in frontier.dropLast().reversed() { node = Self.node(left, node, hasher: &hasher) }
      return node
    }
  }
}

/// That a Merkle tree begins with the leaves of a smaller one. Source: RFC 6962, section 2.1.2, "Merkle Consistency Proofs".
package struct ConsistencyProof: Hashable, Sendable {
  /// The number of leaves of the smaller tree; at least 1.
  package let size: UInt64
  /// The number of leaves of the larger tree.
  package let laterSize: UInt64
  /// Roots of parts of the larger tree, the lowest first.
  package let path: [Digest]

  package init(size: UInt64, laterSize: UInt64, path: [Digest]) {
    self.size = size
    self.laterSize = laterSize
    self.path = path
  }

  /// Makes a proof.
  ///
  /// - Parameter roots: Returns the roots of full subtrees of the larger tree, in their order.
  package init<E: Error>(
    size: UInt64, laterSize: UInt64, roots: ([MerkleSubtree]) throws(E) -> [Digest]
  ) throws(E) {
    precondition(size > 0 && size <= laterSize, "a tree that does not grow")
    let parts = Self.parts(size: size, laterSize: laterSize)
    self.init(
      size: size, laterSize: laterSize, path: try MerkleTree.roots(over: parts.map(\.leaves), roots: roots))
  }

  /// The leaves below each root of the path. The first part, unless it is the whole smaller tree, belongs to both trees.
  private static func parts(size: UInt64, laterSize: UInt64) -> [PathPart] {
    let (parts, end) = MerkleTree.parts(beside: size - 1, size: laterSize) { $0.upperBound == size }
    // Who has the smaller tree has the root of its whole.
    return (end.lowerBound > 0 ? [PathPart(leaves: end, isLeft: true)] : []) + parts
  }

  /// Throws unless the path leads from the root of the smaller tree to that of the larger one.
  package func verify(root: Digest, laterRoot: Digest) throws(MalformedError) {
    guard size > 0, size <= laterSize, laterSize <= Limits.numberMax else {
      throw MalformedError("a tree of \(size) leaves that grows to \(laterSize)")
    }
    let parts = Self.parts(size: size, laterSize: laterSize)
    guard parts.count == path.count else {
      throw MalformedError("a path of \(path.count) roots instead of \(parts.count)")
    }
    var hasher = SHA256Hasher()
    // The part that ends where the smaller tree does, if there is one.
    let shared = parts.first?.leaves.upperBound == size ? path.first : nil
    var small = shared ?? root
    var large = small
    for (part, node) in zip(parts, path).dropFirst(shared == nil ? 0 : 1) {
      if part.isLeft {
        small = MerkleTree.node(node, small, hasher: &hasher)
        large = MerkleTree.node(node, large, hasher: &hasher)
      } else {
        large = MerkleTree.node(large, node, hasher: &hasher)
      }
    }
    guard small == root else { throw MalformedError("a path that does not lead to the earlier root") }
    guard large == laterRoot else { throw MalformedError("a path that does not lead to the later root") }
  }
}
