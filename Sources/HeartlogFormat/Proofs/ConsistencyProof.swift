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

  private struct Part {
    let leaves: Range<UInt64>
    let isLeft: Bool
  }

  /// The leaves below each root of the path. The first part, unless it is the whole smaller tree, belongs to both trees.
  private static func parts(size: UInt64, laterSize: UInt64) -> [Part] {
    var parts: [Part] = []
    var tree = 0..<laterSize
    while size < tree.upperBound {
      let split = tree.lowerBound + MerkleTree.split(UInt64(tree.count))
      if size <= split {
        parts.append(Part(leaves: split..<tree.upperBound, isLeft: false))
        tree = tree.lowerBound..<split
      } else {
        parts.append(Part(leaves: tree.lowerBound..<split, isLeft: true))
        tree = split..<tree.upperBound
      }
    }
    // Who has the smaller tree has the root of its whole.
    if tree.lowerBound > 0 { parts.append(Part(leaves: tree, isLeft: true)) }
    return parts.reversed()
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
