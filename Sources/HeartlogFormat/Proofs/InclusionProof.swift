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
    self.init(index: index, size: size, path: try MerkleTree.roots(over: parts, roots: roots))
  }

  /// The leaves below each root of the path.
  static func parts(index: UInt64, size: UInt64) -> [Range<UInt64>] {
    var parts: [Range<UInt64>] = []
    var tree = 0..<size
    while tree.count > 1 {
      let split = tree.lowerBound + MerkleTree.split(UInt64(tree.count))
      if index < split {
        parts.append(split..<tree.upperBound)
        tree = tree.lowerBound..<split
      } else {
        parts.append(tree.lowerBound..<split)
        tree = split..<tree.upperBound
      }
    }
    return parts.reversed()
  }

  /// The root of the tree, given the hash of the leaf.
  ///
  /// - Throws: if the path does not have the length that index and size require.
  package func root(of leaf: Digest) throws(MalformedError) -> Digest {
    let parts = try checkedParts()
    var hasher = SHA256Hasher()
    var node = leaf
    for (part, root) in zip(parts, path) {
      node =
        part.lowerBound > index
        ? MerkleTree.node(node, root, hasher: &hasher) : MerkleTree.node(root, node, hasher: &hasher)
    }
    return node
  }

  private func checkedParts() throws(MalformedError) -> [Range<UInt64>] {
    guard index < size, size <= Limits.numberMax else {
      throw MalformedError("leaf \(index) of a tree of \(size) leaves")
    }
    let parts = Self.parts(index: index, size: size)
    guard parts.count == path.count else {
      throw MalformedError("a path of \(path.count) roots instead of \(parts.count)")
    }
    return parts
  }
}

extension MerkleTree {
  /// Where a tree of at least two leaves is split: at the largest power of two below its size.
  static func split(_ size: UInt64) -> UInt64 {
    1 << UInt64(UInt64.bitWidth - 1 - (size - 1).leadingZeroBitCount)
  }

  /// The roots of the subtrees over these leaves, which begin where a subtree of the whole tree does.
  ///
  /// - Parameter roots: Returns the roots of full subtrees, in their order.
  static func roots<E: Error>(
    over parts: [Range<UInt64>], roots: ([MerkleSubtree]) throws(E) -> [Digest]
  ) throws(E) -> [Digest] {
    let subtrees = parts.map(MerkleSubtree.covering)
    var found = try roots(subtrees.flatMap { $0 })[...]
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
