import HeartlogFormat

/// The runs of one stream from its first commit on, each checked like a run that is received.
package struct RunChain {
  private var tail: StreamTail
  private var tree = MerkleTree()

  package init(replica: ReplicaID) { tail = StreamTail(replica: replica) }

  /// The last commit; 0 before the first.
  package var commit: UInt64 { tail.next.rawValue - 1 }
  /// The root of the stream's tree over the commits so far.
  package var root: Digest { tree.root }

  /// Appends the next run.
  ///
  /// - Returns: Its commits.
  /// - Throws: `MalformedError` if the run does not continue the stream or does not lead to its root.
  package mutating func extend(by run: StreamRun) throws -> ColumnBlock {
    let block = try RunReceiver.block(of: run)
    guard run.firstCommit == tail.next, block.headsAtStart == tail.seenHeads else {
      throw MalformedError("a run that does not continue its stream")
    }
    try tail.extend(by: block)
    try LeafHashing.append(block, to: &tree)
    guard tree.root == run.root else { throw MalformedError("a run that does not lead to its root") }
    return block
  }
}
