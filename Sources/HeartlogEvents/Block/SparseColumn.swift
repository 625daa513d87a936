/// A property that some commits of a block have, and most do not.
package struct SparseColumn<Value: Sendable>: Sendable {
  /// The indices of the commits that have it, rising.
  package private(set) var commitIndices: [Int32] = []
  package private(set) var values: [Value] = []

  init() {}

  /// - Parameter commitIndices: one for each value.
  init(commitIndices: [Int32], values: [Value]) {
    self.commitIndices = commitIndices
    self.values = values
  }

  /// The value of the commit at an index of the block. O(log n).
  package subscript(index: Int) -> Value? {
    guard !commitIndices.isEmpty else { return nil }
    let found = firstIndex(from: index)
    return found < commitIndices.count && Int(commitIndices[found]) == index ? values[found] : nil
  }

  /// The commit index at an index of `commitIndices`; -1 after the last.
  package func commitIndex(at index: Int) -> Int {
    index < commitIndices.count ? Int(commitIndices[index]) : -1
  }

  /// The first index in `commitIndices` at or after a commit index. O(log n).
  package func firstIndex(from index: Int) -> Int { commitIndices.partitionPoint { Int($0) >= index } }
}
