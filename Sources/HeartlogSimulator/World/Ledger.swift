import Heartlog

/// What is known for certain: each commit is what it was when it was first seen, wherever and whenever it is seen again.
struct Ledger {
  private var commits: [ReplicaID: [CommitNumber: Commit]] = [:]
  private var roots: [ReplicaID: [CommitNumber: Digest]] = [:]
  /// Events that somebody erased, or began to.
  private var erased: Set<String> = []

  /// Items that were asked to be erased: afterwards their events may be missing anywhere.
  mutating func noteErasing(_ item: String) { erased.insert(item) }

  /// Compares a commit with what is known of it.
  mutating func check(_ commit: Commit) throws(Violation) {
    guard let known = commits[commit.replica]?[commit.number] else {
      commits[commit.replica, default: [:]][commit.number] = commit
      return
    }
    guard
      known.stamp == commit.stamp, known.firstSequence == commit.firstSequence, known.heads == commit.heads,
      known.wallTime == commit.wallTime, known.origin == commit.origin,
      known.records.count == commit.records.count
    else { throw Violation("commit \(commit.number) of \(commit.replica) has changed") }
    for (index, (before, now)) in zip(known.records, commit.records).enumerated() where before != now {
      switch (before, now) {
      case (.event(let event), .withheld) where erased.contains(event.item): continue
      case (.withheld, .event(let event)) where erased.contains(event.item):
        // Seen first on a device where it was erased already.
        commits[commit.replica]?[commit.number] = commit
      default:
        throw Violation("event \(index) of commit \(commit.number) of \(commit.replica) has changed")
      }
    }
  }

  /// Forgets what only one device had and may have lost.
  mutating func forget(_ replica: ReplicaID, after last: CommitNumber) {
    commits[replica] = commits[replica]?.filter { $0.key <= last }
    roots[replica] = roots[replica]?.filter { $0.key <= last }
  }

  /// Compares the root of a history with what it was before.
  mutating func check(root: Digest, of replica: ReplicaID, at commit: CommitNumber) throws(Violation) {
    guard let known = roots[replica]?[commit] else {
      roots[replica, default: [:]][commit] = root
      return
    }
    if known != root { throw Violation("the history of \(replica) up to commit \(commit) has another root") }
  }

}

/// A promise that was not kept.
struct Violation: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
