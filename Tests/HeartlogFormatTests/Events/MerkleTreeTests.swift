import Testing

@testable import HeartlogFormat

@Suite("Merkle tree")
struct MerkleTreeTests {
  /// RFC 6962, section 2.1, as it is written there.
  private func naiveRoot(_ leaves: ArraySlice<Digest>) -> Digest {
    guard leaves.count > 1, let first = leaves.first else {
      return leaves.first ?? SHA256Hasher.digest(of: [])
    }
    _ = first
    var split = 1
    while split * 2 < leaves.count { split *= 2 }
    let left = naiveRoot(leaves.prefix(split))
    let right = naiveRoot(leaves.dropFirst(split))
    return SHA256Hasher.digest(of: [1] + left.bytes + right.bytes)
  }

  @Test("the root of every size is that of RFC 6962, and a frontier goes on where it was stored")
  func roots() throws {
    let leaves = (0..<130).map { SHA256Hasher.digest(of: [UInt8($0)]) }
    var tree = MerkleTree()
    #expect(tree.root.description == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    for (index, leaf) in leaves.enumerated() {
      tree.append(leaf: leaf)
      #expect(tree.size == UInt64(index + 1))
      #expect(tree.root == naiveRoot(leaves[...index]))
      #expect(tree.frontier.count == (index + 1).nonzeroBitCount)
      tree = try MerkleTree(size: tree.size, frontier: tree.frontier)
    }
  }

  @Test("a frontier is the roots of the full subtrees, largest first")
  func frontier() {
    let leaves = (0..<11).map { SHA256Hasher.digest(of: [UInt8($0)]) }
    var tree = MerkleTree()
    for leaf in leaves { tree.append(leaf: leaf) }
    #expect(
      tree.frontier == [naiveRoot(leaves[0..<8]), naiveRoot(leaves[8..<10]), naiveRoot(leaves[10..<11])])
  }

  @Test("a frontier that does not fit its size is refused")
  func malformed() {
    let leaf = SHA256Hasher.digest(of: [])
    #expect(throws: MalformedError.self) { try MerkleTree(size: 3, frontier: [leaf]) }
    #expect(throws: MalformedError.self) {
      try MerkleTree(size: .max, frontier: Array(repeating: leaf, count: 64))
    }
  }

  @Test("the subtrees that cover leaves are full, aligned and as few as possible")
  func covering() {
    for last in 0..<70 as Range<UInt64> {
      for first in 0...last {
        let subtrees = MerkleSubtree.covering(first..<last)
        var next = first
        for subtree in subtrees {
          #expect(subtree.leaves.lowerBound == next && subtree.leaves.count == 1 << subtree.height)
          next = subtree.leaves.upperBound
          // The next larger one at this place is out of place or out of range.
          let twice = UInt64(2) << UInt64(subtree.height)
          #expect(subtree.leaves.lowerBound % twice != 0 || subtree.leaves.lowerBound + twice > last)
        }
        #expect(next == last)
      }
    }
  }

  @Test("a tree that is extended by subtrees has the root of all leaves")
  func extended() throws {
    let leaves = (0..<130).map { SHA256Hasher.digest(of: [UInt8($0)]) }
    var trees = [MerkleTree()]
    for leaf in leaves {
      var tree = trees[trees.count - 1]
      tree.append(leaf: leaf)
      trees.append(tree)
    }
    for last in trees.indices {
      for first in 0...last {
        let roots = MerkleSubtree.covering(UInt64(first)..<UInt64(last)).map {
          naiveRoot(leaves[Int($0.leaves.lowerBound)..<Int($0.leaves.upperBound)])
        }
        #expect(try trees[first].extended(by: roots, to: UInt64(last)) == trees[last])
        #expect(throws: MalformedError.self) {
          try trees[first].extended(by: roots + [leaves[0]], to: UInt64(last))
        }
        if last > first {
          #expect(throws: MalformedError.self) {
            try trees[first].extended(by: roots.dropLast(), to: UInt64(last))
          }
          #expect(throws: MalformedError.self) { try trees[last].extended(by: [], to: UInt64(first)) }
        }
      }
    }
    #expect(throws: MalformedError.self) { try trees[3].extended(by: [], to: .max) }
  }

  @Test("nodes are the roots of subtrees, from wherever they are kept")
  func nodes() {
    let leaves = (0..<300).map { SHA256Hasher.digest(of: [UInt8($0 & 255), UInt8($0 >> 8)]) }
    for start in [0, 1, 63, 64, 65, 130, 255, 256] {
      var tree = MerkleTree()
      var hasher = SHA256Hasher()
      for leaf in leaves[..<start] { tree.append(leaf: leaf) }
      var nodes = MerkleNodes(after: UInt64(start))
      for leaf in leaves[start...] { tree.append(leaf: leaf, hasher: &hasher) { nodes.add($0, height: $1) } }
      for height in 0...9 {
        for index in 0..<(300 >> height) + 2 {
          let subtree = MerkleSubtree(height: height, index: UInt64(index))
          let (first, last) = (Int(subtree.leaves.lowerBound), Int(subtree.leaves.upperBound))
          let isKnown = height >= MerkleNodes.heightMin && last <= 300 && last > start
          #expect(nodes.root(of: subtree) == (isKnown ? naiveRoot(leaves[first..<last]) : nil))
        }
      }
    }
  }
}
