import Heartlog

/// Finds the last commit that a stream in the store and in a file have in common, by comparing the commits.
struct ForkSearch {
  private let store: any ShippedStreams

  init(_ store: any ShippedStreams) { self.store = store }

  /// The last common commit; `nil` if the file contains no fork, if the commits before the file differ too, or if what it contains
  /// are no commits.
  ///
  /// Reads the store's stream from its start, because forks are rare.
  func lastCommon(_ file: RunFile) throws(HeartlogError) -> UInt64? {
    var tree = MerkleTree()
    // The leaves of the store's commits, from the file's first commit on.
    var own: [Digest] = []
    var after: UInt64 = 0
    while after < file.lastCommit,
      let run = try store.streamRun(
        of: file.replica, after: after, upTo: CommitNumber(rawValue: file.lastCommit))
    {
      let leaves: [Digest]
      do { leaves = try run.leaves() } catch { throw HeartlogError(.corrupt, error.reason) }
      for (index, leaf) in leaves.enumerated() {
        if run.firstCommit.rawValue + UInt64(index) < file.firstCommit {
          tree.append(leaf: leaf)
        } else {
          own.append(leaf)
        }
      }
      after = run.lastCommit.rawValue
    }
    guard tree.size == file.firstCommit - 1 else { return nil }
    var next = 0
    var lastCommon: UInt64?
    for run in file.runs {
      // Anybody can write a whole file of nonsense. Only what is read of the store must be sound.
      guard let leaves = try? run.leaves() else { return nil }
      for leaf in leaves {
        if lastCommon == nil, next < own.count, own[next] != leaf {
          lastCommon = file.firstCommit + UInt64(next) - 1
        }
        tree.append(leaf: leaf)
        next += 1
      }
      guard let lastCommon else { continue }
      // The file's commits lead to its root only if the commits before it are the same as the store's.
      return tree.root == run.root ? lastCommon : nil
    }
    return nil
  }
}
