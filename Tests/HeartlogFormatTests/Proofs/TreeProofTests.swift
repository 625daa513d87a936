import TestSupport
import Testing

@testable import HeartlogFormat

/// The reference tree of Certificate Transparency and its proofs. Source: the tests of transparency-dev/merkle.
private enum Reference {
  static let leaves = [
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
  ]
  /// After each leaf.
  static let roots = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
  ]
  static let inclusion: [(index: UInt64, size: UInt64, path: [String])] = [
    (0, 1, []),
    (
      0, 8,
      [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
      ]
    ),
    (
      5, 8,
      [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      ]
    ),
    (2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
    (
      1, 5,
      [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      ]
    ),
  ]
  static let consistency: [(size: UInt64, later: UInt64, path: [String])] = [
    (1, 1, []),
    (
      1, 8,
      [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
      ]
    ),
    (
      6, 8,
      [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      ]
    ),
    (
      2, 5,
      [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      ]
    ),
    (
      6, 7,
      [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      ]
    ),
  ]
}

@Suite struct TreeProofTests {
  /// RFC 6962, section 2.1, as it is written there.
  private static func root(_ leaves: ArraySlice<Digest>) -> Digest {
    guard leaves.count > 1 else { return leaves.first ?? SHA256Hasher.digest(of: []) }
    let split = split(leaves.count)
    return SHA256Hasher.digest(
      of: [1] + root(leaves.prefix(split)).bytes + root(leaves.dropFirst(split)).bytes)
  }

  private static func split(_ count: Int) -> Int {
    var split = 1
    while split * 2 < count { split *= 2 }
    return split
  }

  /// Section 2.1.1.
  private static func path(_ index: Int, _ leaves: ArraySlice<Digest>) -> [Digest] {
    guard leaves.count > 1 else { return [] }
    let split = split(leaves.count)
    return index < split
      ? path(index, leaves.prefix(split)) + [root(leaves.dropFirst(split))]
      : path(index - split, leaves.dropFirst(split)) + [root(leaves.prefix(split))]
  }

  /// Section 2.1.2.
  private static func subproof(_ size: Int, _ leaves: ArraySlice<Digest>, _ isWhole: Bool) -> [Digest] {
    if size == leaves.count { return isWhole ? [] : [root(leaves)] }
    let split = split(leaves.count)
    return size <= split
      ? subproof(size, leaves.prefix(split), isWhole) + [root(leaves.dropFirst(split))]
      : subproof(size - split, leaves.dropFirst(split), false) + [root(leaves.prefix(split))]
  }

  private static func roots(_ leaves: [Digest]) -> ([MerkleSubtree]) -> [Digest] {
    { $0.map { root(leaves[Int($0.leaves.lowerBound)..<Int($0.leaves.upperBound)]) } }
  }

  private static func digests(_ texts: [String]) throws -> [Digest] {
    try texts.map { try #require(Digest($0)) }
  }

  private static let referenceLeaves = Reference.leaves.map {
    SHA256Hasher.digest(of: [0] + (Hexadecimal.bytes($0) ?? []))
  }

  @Test func `the reference tree has the reference roots`() throws {
    var tree = MerkleTree()
    for (leaf, root) in zip(Self.referenceLeaves, try Self.digests(Reference.roots)) {
      tree.append(leaf: leaf)
      #expect(tree.root == root)
    }
  }

  @Test func `the reference inclusion proofs are made and verified`() throws {
    let roots = try Self.digests(Reference.roots)
    for (index, size, path) in Reference.inclusion {
      let path = try Self.digests(path)
      let proof = InclusionProof(index: index, size: size, roots: Self.roots(Self.referenceLeaves))
      #expect(proof.path == path)
      #expect(try proof.root(of: Self.referenceLeaves[Int(index)]) == roots[Int(size) - 1])
    }
  }

  @Test func `the reference consistency proofs are made and verified`() throws {
    let roots = try Self.digests(Reference.roots)
    for (size, later, path) in Reference.consistency {
      let path = try Self.digests(path)
      let proof = ConsistencyProof(size: size, laterSize: later, roots: Self.roots(Self.referenceLeaves))
      #expect(proof.path == path)
      try proof.verify(root: roots[Int(size) - 1], laterRoot: roots[Int(later) - 1])
    }
  }

  @Test func `the proofs of all small trees are those of RFC 6962, and verify`() throws {
    let leaves = (0..<70).map { SHA256Hasher.digest(of: [UInt8($0)]) }
    let roots = (0...70).map { Self.root(leaves[..<$0]) }
    for size in 1...70 {
      for index in 0..<size {
        let proof = InclusionProof(index: UInt64(index), size: UInt64(size), roots: Self.roots(leaves))
        #expect(proof.path == Self.path(index, leaves[..<size]))
        #expect(try proof.root(of: leaves[index]) == roots[size])
        let history = ConsistencyProof(
          size: UInt64(index + 1), laterSize: UInt64(size), roots: Self.roots(leaves))
        #expect(history.path == Self.subproof(index + 1, leaves[..<size], true))
        try history.verify(root: roots[index + 1], laterRoot: roots[size])
      }
    }
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `a proof that was changed does not verify`(seed: UInt64) throws {
    print("tree proofs: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let count = Int.random(in: 2...200, using: &random)
    let leaves = (0..<count).map { SHA256Hasher.digest(of: [UInt8($0), UInt8(seed)]) }
    let index = Int.random(in: 0..<count, using: &random)
    let (root, leaf) = (Self.root(leaves[...]), leaves[index])
    let proof = InclusionProof(index: UInt64(index), size: UInt64(count), roots: Self.roots(leaves))
    #expect(try proof.root(of: leaf) == root)
    let other = SHA256Hasher.digest(of: [1, 2, 3])
    func isRefused(_ index: UInt64, _ size: UInt64, _ path: [Digest], _ leaf: Digest = leaf) -> Bool {
      (try? InclusionProof(index: index, size: size, path: path).root(of: leaf)) != root
    }
    let (at, size) = (UInt64(index), UInt64(count))
    #expect(isRefused(at, size, proof.path, other))
    #expect(isRefused(at, size, proof.path + [root]) && isRefused(at, size, [root] + proof.path))
    #expect(isRefused(at, size, proof.path.dropLast()) && isRefused(at, size, []))
    #expect(isRefused(size, size, proof.path) && isRefused(.max, .max, proof.path) && isRefused(0, 0, []))
    #expect(isRefused(at ^ 1, size, proof.path) || at ^ 1 >= size)
    for place in proof.path.indices {
      var path = proof.path
      path[place] = other
      #expect(isRefused(at, size, path))
    }

    let smaller = Int.random(in: 1..<count, using: &random)
    let history = ConsistencyProof(size: UInt64(smaller), laterSize: size, roots: Self.roots(leaves))
    let before = Self.root(leaves[..<smaller])
    func isRefused(_ from: UInt64, _ to: UInt64, _ path: [Digest], _ first: Digest, _ second: Digest) -> Bool
    {
      do {
        try ConsistencyProof(size: from, laterSize: to, path: path).verify(root: first, laterRoot: second)
      } catch {
        return true
      }
      return false
    }
    let from = UInt64(smaller)
    #expect(!isRefused(from, size, history.path, before, root))
    #expect(
      isRefused(from, size, history.path, other, root) && isRefused(from, size, history.path, before, other))
    #expect(isRefused(size, from, history.path, root, before) && isRefused(0, size, [], before, root))
    #expect(isRefused(from, size, history.path.dropLast(), before, root))
    #expect(isRefused(from, size, history.path + [root], before, root))
    for place in history.path.indices {
      var path = history.path
      path[place] = other
      #expect(isRefused(from, size, path, before, root))
    }
  }
}
