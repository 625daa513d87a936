import HeartlogEvents

/// What is here of the content of a stream: everything before a commit, and everything of some libraries from there on. Erased events do not
/// count. Source: docs/format.md, "Partial streams".
package struct Coverage: Hashable, Sendable {
  /// The libraries of which everything is here.
  package private(set) var libraries: LibrarySelection
  /// The first commit of which other libraries' content may be missing; without meaning if nothing is.
  package private(set) var start: CommitNumber

  /// Everything is here.
  package static let whole = Coverage(.all, from: CommitNumber(rawValue: 1))

  package init(_ libraries: LibrarySelection, from start: CommitNumber) {
    self.libraries = libraries
    self.start = start
  }

  /// Whether everything is here.
  package var isWhole: Bool { libraries == .all }

  /// The libraries of which everything is here up to a commit.
  package func libraries(upTo last: CommitNumber) -> LibrarySelection { last < start ? .all : libraries }

  /// The coverage after the stream has grown.
  ///
  /// - Parameters:
  ///   - next: The first new commit.
  ///   - new: The libraries of which everything arrived.
  func extended(at next: CommitNumber, with new: LibrarySelection) -> Coverage {
    if isWhole { return new == .all ? self : Coverage(new, from: next) }
    return Coverage(libraries.intersection(new), from: start)
  }

  /// The coverage after content has arrived.
  ///
  /// - Parameters:
  ///   - commits: The commits that it arrived for.
  ///   - arrived: The libraries of which everything arrived.
  ///   - head: The last commit of the stream.
  func completed(
    _ commits: ClosedRange<CommitNumber>, with arrived: LibrarySelection, head: CommitNumber
  ) -> Coverage {
    guard commits.lowerBound <= start else { return self }
    if commits.upperBound >= head {
      let all = libraries.union(arrived)
      return all == .all ? .whole : Coverage(all, from: start)
    }
    guard arrived == .all, commits.upperBound >= start else { return self }
    return Coverage(libraries, from: CommitNumber(rawValue: commits.upperBound.rawValue + 1))
  }

  /// The commits to ask another store for again, and the libraries of which everything will then arrive; nil if it has nothing that is
  /// wanted here.
  ///
  /// - Parameters:
  ///   - wanted: The libraries whose content is wanted here.
  ///   - theirs: The other store's coverage.
  ///   - head: The last commit of the stream here.
  ///   - theirHead: Its last commit there.
  package func missing(
    of wanted: LibrarySelection, at theirs: Coverage, head: CommitNumber, theirHead: CommitNumber
  ) -> (commits: ClosedRange<CommitNumber>, libraries: LibrarySelection)? {
    let last = min(head, theirHead)
    guard !libraries.isSuperset(of: wanted), start <= last else { return nil }
    let offered = wanted.intersection(theirs.libraries(upTo: last))
    if last == head, !libraries.isSuperset(of: offered) { return (start...last, offered) }
    // Everything, as far as the other store has it.
    let lastWhole = theirs.isWhole ? last : min(last, CommitNumber(rawValue: theirs.start.rawValue - 1))
    return wanted == .all && lastWhole >= start ? (start...lastWhole, .all) : nil
  }
}
