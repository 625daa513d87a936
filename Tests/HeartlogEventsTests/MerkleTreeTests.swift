import Testing

@testable import HeartlogEvents

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
}
