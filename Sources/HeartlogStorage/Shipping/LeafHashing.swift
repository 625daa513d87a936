import HeartlogEvents

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Hashes the leaves of a block's commits, on several threads where there are many: this is most of what it costs to receive them.
final class LeafHashing: @unchecked Sendable {
  private let parts: BlockLeafHasher
  private let monitor = Monitor()
  // All below is touched in the monitor alone.
  private var next = 0
  private var underWay = 0
  private var results: [Result<BlockLeafHasher.Hashes, MalformedError>?]

  private static let helpersMax = 3

  private init(_ block: ColumnBlock) {
    parts = BlockLeafHasher(block)
    results = Array(repeating: nil, count: parts.count)
  }

  /// Appends the leaves of a block's commits to the tree in front of them.
  ///
  /// - Throws: where the block has no salt for an event that is not withheld.
  static func append(_ block: ColumnBlock, to tree: inout MerkleTree) throws(MalformedError) {
    let hashing = LeafHashing(block)
    // A helper that comes when nothing is left goes again: nobody waits for one that has not begun.
    let helpers = min(helpersMax, hashing.parts.count - 1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) - 1)
    if let pool = WorkerPool.helping { for _ in 0..<max(0, helpers) { pool.run { hashing.work() } } }
    hashing.work()
    let results = hashing.monitor.withLock {
      while hashing.underWay > 0 { hashing.monitor.wait() }
      return hashing.results
    }
    var hasher = SHA256Hasher()
    for result in results {
      if let result { tree.append(try result.get(), hasher: &hasher) }
    }
  }

  /// Appends the leaves of a frame's commits up to one of them to the tree in front of them.
  static func append(
    _ frame: StoredFrame, upTo last: CommitNumber, to tree: inout MerkleTree
  ) throws(MalformedError) {
    if case .block(let block) = frame {
      return try append(block.lastCommit > last ? block.cut(to: block.firstCommit...last) : block, to: &tree)
    }
    guard let (commits, secrets) = frame.commits else { return }
    var salts = Salts(secrets)
    var hasher = SHA256Hasher()
    for commit in commits {
      tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
    }
  }

  /// Hashes parts until none is left.
  private func work() {
    while let part = takePart() {
      let result = Result { () throws(MalformedError) in try parts.hashes(of: part) }
      monitor.withLock {
        results[part] = result
        underWay -= 1
        monitor.notifyAll()
      }
    }
  }

  private func takePart() -> Int? {
    monitor.withLock {
      guard next < parts.count else { return nil }
      next += 1
      underWay += 1
      return next - 1
    }
  }
}
