import HeartlogFormat

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Hashes the leaves of a block's commits, on several threads if there are many. This is most of the cost of receiving commits.
final class LeafHashing: @unchecked Sendable {
  private let parts: BlockLeafHasher
  private let monitor = Monitor()
  // Everything below is guarded by `monitor`.
  private var next = 0
  private var underWay = 0
  private var results: [Result<BlockLeafHasher.Hashes, MalformedError>?]

  private static let helpersMax = 3

  private init(_ block: ColumnBlock) {
    parts = BlockLeafHasher(block)
    results = Array(repeating: nil, count: parts.count)
  }

  /// Appends the leaves of a block's commits to the tree before them.
  ///
  /// - Parameter completing: As for `MerkleTree.append`.
  /// - Throws: `MalformedError` if the block lacks the salt of an event that is not withheld.
  static func append(
    _ block: ColumnBlock, to tree: inout MerkleTree, completing: (Digest, Int) -> Void = { _, _ in }
  ) throws(MalformedError) {
    let hashing = LeafHashing(block)
    // A helper that starts when no parts are left returns at once. No thread waits for a helper that has not started.
    let helpers = min(helpersMax, hashing.parts.count - 1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) - 1)
    if let pool = WorkerPool.helping { for _ in 0..<max(0, helpers) { pool.run { hashing.work() } } }
    hashing.work()
    let results = hashing.monitor.withLock {
      while hashing.underWay > 0 { hashing.monitor.wait() }
      return hashing.results
    }
    var hasher = SHA256Hasher()
    for result in results {
      if let result { tree.append(try result.get(), hasher: &hasher, completing: completing) }
    }
  }

  /// Appends the leaves of a frame's commits, up to `last`, to the tree before them.
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
