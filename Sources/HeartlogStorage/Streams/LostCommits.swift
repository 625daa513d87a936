import HeartlogFormat

/// The file `lost`: commits that were acknowledged and are gone, until they are here again or a person retires their replica. Source:
/// docs/format.md, "Lost commits".
struct LostCommits: Equatable {
  /// One range for each stream.
  private(set) var ranges: [ReplicaID: ClosedRange<CommitNumber>] = [:]

  static func path(in directory: StoreDirectory) -> String { "\(directory.path)/lost" }

  /// Reads the file. A damaged one says nothing: the loss was reported when it was found.
  static func read(_ directory: StoreDirectory) throws(HeartlogError) -> LostCommits {
    guard let bytes = try directory.contents(of: path(in: directory)), let text = ChecksummedText(bytes)
    else { return LostCommits() }
    try text.checkVersion(of: "a list of lost commits", file: path(in: directory))
    var list = LostCommits()
    for line in text.lines {
      let words = ChecksummedText.value(of: "lost", in: line)?.split(separator: " ") ?? []
      guard words.count == 3, let replica = ReplicaID(String(words[0])), let first = UInt64(words[1]),
        let last = UInt64(words[2]), 1 <= first, first <= last
      else { continue }
      list.ranges[replica] = CommitNumber(rawValue: first)...CommitNumber(rawValue: last)
    }
    return list
  }

  mutating func add(_ commits: ClosedRange<CommitNumber>, of replica: ReplicaID) {
    let known = ranges[replica] ?? commits
    ranges[replica] =
      min(known.lowerBound, commits.lowerBound)...max(known.upperBound, commits.upperBound)
  }

  mutating func remove(_ replica: ReplicaID) { ranges[replica] = nil }

  /// The part of a loss that is not here; nil if everything is.
  ///
  /// - Parameter next: The first commit after those that are here.
  func missing(of replica: ReplicaID, from next: CommitNumber) -> ClosedRange<CommitNumber>? {
    guard let range = ranges[replica], next <= range.upperBound else { return nil }
    return max(next, range.lowerBound)...range.upperBound
  }

  /// Replaces the file, durably. The caller holds the lock.
  func write(in directory: StoreDirectory, _ options: StorageOptions) throws(HeartlogError) {
    let path = Self.path(in: directory)
    try directory.removeUnfinished(path)
    let lines = ranges.sorted { $0.key < $1.key }.map {
      "lost \($0.key) \($0.value.lowerBound) \($0.value.upperBound)"
    }
    try directory.replaceFile(
      path, with: ChecksummedText.encoded(lines), in: directory.path, suffix: options.random())
  }
}

extension CommitLog {
  /// The streams of which commits were lost that are not here again, sorted.
  package func lostReplicas() throws(HeartlogError) -> [ReplicaID] {
    let lost = try LostCommits.read(directory)
    return lost.ranges.keys.sorted().filter { replica in
      let next = withStreams { streamSet.readers[replica]?.tail.next }
      return lost.missing(of: replica, from: next ?? CommitNumber(rawValue: 1)) != nil
    }
  }

  /// Forgets what was lost of a stream: nobody waits for it.
  package func forgetLost(of replica: ReplicaID) throws(HeartlogError) {
    try heartlogErrors {
      try withQuietLog {
        var list = try LostCommits.read(directory)
        guard list.ranges[replica] != nil else { return }
        list.remove(replica)
        try list.write(in: directory, options)
      }
    }
  }
}
