/// The Merkle tree of a stream: leaf hashes are appended, and the root is available at any time.
///
/// Only the roots of its full subtrees (at most 53) are stored. Source: RFC 6962, section 2.1.
package struct MerkleTree: Sendable, Hashable {
  /// The number of leaves appended.
  package private(set) var size: UInt64
  /// The roots of the full subtrees, largest first: one for each 1 bit of `size`, from the highest down.
  package private(set) var frontier: [Digest]

  /// Creates a tree without leaves.
  package init() {
    size = 0
    frontier = []
  }

  /// Continues from a stored frontier. Throws if it does not have one root for each 1 bit of `size`.
  package init(size: UInt64, frontier: [Digest]) throws(MalformedError) {
    guard size <= Limits.numberMax, frontier.count == size.nonzeroBitCount else {
      throw MalformedError("a frontier of \(frontier.count) roots for a tree of \(size) leaves")
    }
    self.size = size
    self.frontier = frontier
  }

  /// Appends the hash of a leaf, as returned by `Commit.leafHash`.
  ///
  /// - Parameter completing: Called with the root and the height of each subtree that becomes full, smallest first.
  @inline(__always)
  package mutating func append(
    leaf: Digest, hasher: inout SHA256Hasher, completing: (Digest, Int) -> Void = { _, _ in }
  ) {
    append(subtree: leaf, height: 0, hasher: &hasher, completing: completing)
  }

  /// Appends a full subtree of `2^height` leaves by its root; `size` must be a multiple of `2^height`.
  @inline(__always)
  mutating func append(
    subtree: Digest, height: Int, hasher: inout SHA256Hasher,
    completing: (Digest, Int) -> Void = { _, _ in }
  ) {
    precondition(size & (1 << UInt64(height) - 1) == 0, "a subtree out of place")
    var node = subtree
    completing(node, height)
    // Each trailing 1 bit is a full subtree of the size that `node` has reached: the two are joined.
    for join in 0..<(~(size >> UInt64(height))).trailingZeroBitCount {
      node = Self.node(frontier.removeLast(), node, hasher: &hasher)
      completing(node, height + join + 1)
    }
    frontier.append(node)
    size += 1 << UInt64(height)
    assert(
      frontier.count == size.nonzeroBitCount && size <= Limits.numberMax,
      "the frontier has one root for each full subtree")
  }

  /// Returns this tree with more leaves, of which only the roots of the full subtrees that cover them are known.
  ///
  /// - Parameters:
  ///   - roots: The roots of `MerkleSubtree.covering` for the leaves from `size` on.
  ///   - size: The number of leaves of the result.
  /// - Throws: if `size` is out of range or there are more or fewer roots.
  package func extended(by roots: [Digest], to size: UInt64) throws(MalformedError) -> MerkleTree {
    guard self.size <= size, size <= Limits.numberMax else {
      throw MalformedError("a tree of \(self.size) leaves that is extended to \(size)")
    }
    let subtrees = MerkleSubtree.covering(self.size..<size)
    guard subtrees.count == roots.count else {
      throw MalformedError(
        "\(roots.count) roots instead of \(subtrees.count) for leaves \(self.size) to \(size)")
    }
    var tree = self
    var hasher = SHA256Hasher()
    for (subtree, root) in zip(subtrees, roots) {
      tree.append(subtree: root, height: subtree.height, hasher: &hasher)
    }
    assert(tree.size == size, "the subtrees cover the leaves that are added")
    return tree
  }

  /// Appends the hash of a leaf, with a new hasher: for a few leaves.
  package mutating func append(leaf: Digest) {
    var hasher = SHA256Hasher()
    append(leaf: leaf, hasher: &hasher)
  }

  /// The root over all leaves; SHA-256 of the empty string if there are none.
  package var root: Digest {
    var hasher = SHA256Hasher()
    guard var node = frontier.last else { return hasher.finish() }
    for left in frontier.dropLast().reversed() { node = Self.node(left, node, hasher: &hasher) }
    return node
  }

  /// The hash of a node, computed over the hashes of its halves.
  package static func node(_ left: Digest, _ right: Digest, hasher: inout SHA256Hasher) -> Digest {
    withUnsafeTemporaryAllocation(byteCount: 65, alignment: 8) { bytes in
      bytes[0] = 1
      left.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: bytes[1..<33]).copyMemory(from: $0) }
      right.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: bytes[33..<65]).copyMemory(from: $0) }
      hasher.update(UnsafeRawBufferPointer(bytes))
      return hasher.finish()
    }
  }
}

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
    assert(leaf < size, "a leaf of the tree")
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

/// A full subtree of a Merkle tree: `2^height` leaves from a multiple of that number on.
package struct MerkleSubtree: Hashable, Sendable {
  package let height: Int
  /// The number of subtrees of this height before it.
  package let index: UInt64

  package init(height: Int, index: UInt64) {
    assert(
      height >= 0 && height < UInt64.bitWidth && index <= Limits.numberMax >> UInt64(height),
      "the leaves of a subtree have numbers")
    self.height = height
    self.index = index
  }

  /// Its leaves, counted from 0.
  package var leaves: Range<UInt64> { index << UInt64(height)..<(index + 1) << UInt64(height) }

  /// The fewest full subtrees that have exactly these leaves, from left to right.
  package static func covering(_ leaves: Range<UInt64>) -> [MerkleSubtree] {
    precondition(leaves.upperBound <= Limits.numberMax, "more leaves than a stream can have")
    var subtrees: [MerkleSubtree] = []
    var first = leaves.lowerBound
    while first < leaves.upperBound {
      let room = UInt64.bitWidth - 1 - (leaves.upperBound - first).leadingZeroBitCount
      let height = min(first.trailingZeroBitCount, room)
      subtrees.append(MerkleSubtree(height: height, index: first >> UInt64(height)))
      first += 1 << UInt64(height)
    }
    assert(first == max(leaves.lowerBound, leaves.upperBound), "the subtrees end where the leaves do")
    return subtrees
  }
}
