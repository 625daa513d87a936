import HeartlogFormat
import Testing

@testable import HeartlogEngine

@Suite("What files claim of a stream's tree")
struct TreeClaimsTests {
  @Test("a claim is one of its file, its size and its frontier")
  func contains() throws {
    func tree(_ bytes: [UInt8]) -> MerkleTree {
      var tree = MerkleTree()
      var hasher = SHA256Hasher()
      for byte in bytes { tree.append(leaf: SHA256Hasher.digest(of: [byte]), hasher: &hasher) }
      return tree
    }
    let (one, other) = (tree([1, 2, 3]), tree([1, 2, 4]))
    var claims = TreeClaims()
    #expect(claims.contains(treeSize: 0, frontier: [], in: "a"))
    #expect(!claims.contains(treeSize: 3, frontier: one.frontier, in: "a"))
    claims.add(TreeClaims.Claim(one, file: "a", contradiction: ""))
    #expect(claims.contains(treeSize: 3, frontier: one.frontier, in: "a"))
    #expect(!claims.contains(treeSize: 3, frontier: one.frontier, in: "b"))
    #expect(!claims.contains(treeSize: 3, frontier: other.frontier, in: "a"))
    #expect(claims.contradicted(by: one) == nil && claims.contradicted(by: other)?.file == "a")
    #expect(claims.contradicted(by: tree([1, 2])) == nil)
  }
}
