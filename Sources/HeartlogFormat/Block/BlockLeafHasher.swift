/// The leaves of a block's commits in their stream's tree, in parts that can be hashed concurrently.
///
/// A leaf is defined by `Commit.leafHash`; here it is computed from the columns, without creating a commit.
package struct BlockLeafHasher: Sendable {
  /// The nodes that a part adds to the tree.
  package enum Hashes: Sendable {
    /// The roots of the groups of leaves of a full subtree, of the height of the smallest `MerkleNodes`.
    case groups([Digest])
    /// Leaves, if the subtree is not full.
    case leaves([Digest])
  }

  private struct Part: Sendable {
    let commitIndices: Range<Int>
    /// A cursor before the first event.
    let start: BlockColumns.Cursor
  }

  /// Parts are subtrees with this many levels, except those before the first and after the last such subtree.
  fileprivate static let height = 10

  private let block: ColumnBlock
  private let parts: [Part]

  /// The leaves of a block's commits.
  package init(_ block: ColumnBlock) {
    self.block = block
    let columns = block.columns
    var parts: [Part] = []
    var cursor = block.start
    var index = block.commitIndices.lowerBound
    while index < block.commitIndices.upperBound {
      let leaf = block.number(at: index).rawValue - 1
      let left = (1 << Self.height) - Int(leaf & (1 << UInt64(Self.height) - 1))
      let end = min(block.commitIndices.upperBound, index + left)
      parts.append(Part(commitIndices: index..<end, start: cursor))
      columns.skip(columns.commits.eventCount(in: index..<end), &cursor)
      index = end
    }
    self.parts = parts
  }

  /// The number of parts, in the order of their commits.
  package var count: Int { parts.count }

  /// Hashes one part.
  ///
  /// - Throws: if there is no salt for an event that is not withheld.
  package func hashes(of part: Int) throws(MalformedError) -> Hashes {
    let part = parts[part]
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    var input = LeafInput()
    var events = BlockEvents(block, at: part.start)
    func leaf(_ index: Int) throws(MalformedError) -> Digest {
      let commits = block.columns.commits
      return try input.hash(
        block.header(at: index), origin: commits.origin(at: index), heads: commits.heads[index] ?? [],
        unknownMembers: commits.members[index] ?? [], salts: &salts, hasher: &hasher
      ) { _, input in
        defer { events.pass() }
        if let hash = events.withheldHash { return hash }
        events.write(to: &input)
        return nil
      }
    }
    guard part.commitIndices.count == 1 << Self.height else {
      return .leaves(try part.commitIndices.map(leaf))
    }
    let groupLeaves = Int(MerkleNodes.groupLeaves)
    return .groups(
      try stride(from: part.commitIndices.lowerBound, to: part.commitIndices.upperBound, by: groupLeaves).map
      {
        (first) throws(MalformedError) in
        var tree = MerkleTree()
        for index in first..<first + groupLeaves { tree.append(leaf: try leaf(index), hasher: &hasher) }
        return tree.root
      })
  }
}

extension MerkleTree {
  /// Appends the nodes of a part of a block, in the order of the parts: the tree must end before the block's first commit.
  ///
  /// - Parameter completing: As for `append(leaf:)`, except for subtrees smaller than those of `MerkleNodes`.
  package mutating func append(
    _ hashes: BlockLeafHasher.Hashes, hasher: inout SHA256Hasher,
    completing: (Digest, Int) -> Void = { _, _ in }
  ) {
    switch hashes {
    case .groups(let roots):
      for root in roots {
        append(subtree: root, height: MerkleNodes.heightMin, hasher: &hasher, completing: completing)
      }
    case .leaves(let leaves):
      for leaf in leaves { append(leaf: leaf, hasher: &hasher, completing: completing) }
    }
  }
}
