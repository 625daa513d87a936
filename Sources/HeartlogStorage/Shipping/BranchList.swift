import HeartlogFormat

/// The file `branched` in the folder of a stream: commits of it that go on as streams of their own, because nobody signs them any more.
/// Source: docs/format.md, "Forked streams".
package struct BranchList: Equatable {
  struct Branch: Hashable {
    /// The last commit that stayed.
    let commit: UInt64
    let replica: ReplicaID
  }

  var branches: [Branch] = []

  static let name = "branched"

  static func path(of replica: ReplicaID, in directory: StoreDirectory) -> String {
    "\(directory.streamPath(replica))/\(name)"
  }

  /// Reads the file; an empty list if there is none, or it is damaged: it only says where commits are that are missing otherwise.
  package static func read(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError)
    -> BranchList
  {
    let bytes = try directory.contents(of: path(of: replica, in: directory))
    var list = BranchList()
    for line in bytes.flatMap(ChecksummedText.init)?.lines ?? [] {
      guard let words = ChecksummedText.value(of: name, in: line)?.split(separator: " "), words.count == 2,
        let commit = UInt64(words[0]), let replica = ReplicaID(words[1])
      else { continue }
      list.branches.append(Branch(commit: commit, replica: replica))
    }
    return list
  }

  /// Replaces the file, durably. The caller holds the lock.
  package func write(of replica: ReplicaID, in directory: StoreDirectory, _ options: StorageOptions)
    throws(HeartlogError)
  {
    let lines = branches.map { "\(Self.name) \($0.commit) \($0.replica)" }
    try directory.replaceFile(
      Self.path(of: replica, in: directory), with: ChecksummedText.encoded(lines),
      in: directory.streamPath(replica), suffix: options.random())
  }
}
