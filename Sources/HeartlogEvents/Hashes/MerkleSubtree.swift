/// A full subtree of a Merkle tree: `2^height` leaves from a multiple of that number on.
package struct MerkleSubtree: Hashable, Sendable {
  package let height: Int
  /// The number of subtrees of this height before it.
  package let index: UInt64

  package init(height: Int, index: UInt64) {
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
    return subtrees
  }
}
