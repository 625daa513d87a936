/// The roots of the full subtrees of a growing Merkle tree, about one byte a leaf.
///
/// Smaller subtrees than `heightMin` are left out: their leaves are hashed again when they are needed.
package struct MerkleNodes: Sendable {
  /// Subtrees that end at or before this leaf are unknown.
  package let start: UInt64
  /// By height from `heightMin` on: the roots from the subtree that contains the leaf `start`.
  private var levels: [[Digest]] = []

  package static let heightMin = 6
  /// The number of leaves of the smallest subtree.
  package static let groupLeaves: UInt64 = 1 << UInt64(heightMin)

  /// The smallest subtree that contains a leaf, as far as it is in a tree of `size` leaves.
  package static func group(of leaf: UInt64, size: UInt64) -> Range<UInt64> {
    let first = leaf / groupLeaves * groupLeaves
    return first..<min(first + groupLeaves, size)
  }

  /// Creates the nodes that are added to a tree of `start` leaves.
  package init(after start: UInt64) { self.start = start }

  /// Adds the root of a subtree that has become full, in the order in which `MerkleTree.append` reports them.
  package mutating func add(_ root: Digest, height: Int) {
    guard height >= Self.heightMin else { return }
    while levels.count <= height - Self.heightMin { levels.append([]) }
    levels[height - Self.heightMin].append(root)
  }

  /// The root of a subtree; nil if it is too small, not full yet, or before the start.
  package func root(of subtree: MerkleSubtree) -> Digest? {
    let level = subtree.height - Self.heightMin
    guard levels.indices.contains(level), subtree.leaves.upperBound > start else { return nil }
    let index = subtree.index - start >> UInt64(subtree.height)
    return index < UInt64(levels[level].count) ? levels[level][Int(index)] : nil
  }
}
