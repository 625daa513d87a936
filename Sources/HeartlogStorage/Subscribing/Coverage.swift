import HeartlogEvents

/// What is here of the content of a stream, by commit. Erased events do not count. Source: docs/format.md, "Partial streams".
package struct Coverage: Hashable, Sendable {
  /// Commits up to the next region, or to the end of the stream.
  package struct Region: Hashable, Sendable {
    /// The first commit.
    package let start: CommitNumber
    /// The libraries of which everything is here.
    package let libraries: LibrarySelection

    package init(start: CommitNumber, libraries: LibrarySelection) {
      self.start = start
      self.libraries = libraries
    }
  }

  /// By start; empty if everything is here. Everything is here before the first, of which something is missing; neighbours differ.
  package private(set) var regions: [Region] = []

  /// Everything is here.
  package static let whole = Coverage()

  /// The most regions that are told apart.
  package static let regionsMax = 16

  private init() {}

  /// What regions say, in any order.
  package init(_ regions: [Region]) {
    self.regions = regions.sorted { $0.start < $1.start }
    normalize()
  }

  /// From a commit on, everything of some libraries is here.
  package init(_ libraries: LibrarySelection, from start: CommitNumber) {
    self.init([Region(start: start, libraries: libraries)])
  }

  /// Whether everything is here.
  package var isWhole: Bool { regions.isEmpty }

  /// The libraries of which everything is here at a commit.
  private func libraries(at commit: CommitNumber) -> LibrarySelection {
    regions.last { $0.start <= commit }?.libraries ?? .all
  }

  /// The libraries of which everything is here in some commits.
  package func libraries(in commits: ClosedRange<CommitNumber>) -> LibrarySelection {
    starts(in: commits).reduce(.all) { $0.intersection(libraries(at: $1)) }
  }

  /// The libraries of which everything is here.
  package var librariesThroughout: LibrarySelection { regions.reduce(.all) { $0.intersection($1.libraries) } }

  /// Where some commits begin, and where among them something changes.
  private func starts(in commits: ClosedRange<CommitNumber>) -> [CommitNumber] {
    [commits.lowerBound] + regions.map(\.start).filter { $0 > commits.lowerBound && $0 <= commits.upperBound }
  }

  /// The coverage after the stream has grown.
  ///
  /// - Parameters:
  ///   - next: The first new commit.
  ///   - new: The libraries of which everything arrived.
  func extended(at next: CommitNumber, with new: LibrarySelection) -> Coverage {
    Coverage(regions.filter { $0.start < next } + [Region(start: next, libraries: new)])
  }

  /// The coverage of a stream that ends after a commit, or has grown no further.
  func cut(after last: CommitNumber) -> Coverage { Coverage(regions.filter { $0.start <= last }) }

  /// The coverage after content has arrived.
  ///
  /// - Parameters:
  ///   - commits: The commits that it arrived for.
  ///   - arrived: The libraries of which everything arrived.
  ///   - head: The last commit of the stream.
  func completed(
    _ commits: ClosedRange<CommitNumber>, with arrived: LibrarySelection, head: CommitNumber
  ) -> Coverage {
    var changed = regions.filter { $0.start < commits.lowerBound }
    changed += starts(in: commits).map {
      Region(start: $0, libraries: libraries(at: $0).union(arrived))
    }
    if commits.upperBound < head {
      changed.append(
        Region(start: commits.upperBound.next, libraries: libraries(at: commits.upperBound.next)))
      changed += regions.filter { $0.start > commits.upperBound.next }
    }
    return Coverage(changed)
  }

  /// The commits to ask another store for again: those of which it has content that is wanted here.
  ///
  /// - Parameters:
  ///   - wanted: The libraries whose content is wanted here.
  ///   - theirs: The other store's coverage.
  ///   - last: The last commit that both have.
  /// - Returns: From the first to the last of them; nil if there are none.
  package func missing(
    of wanted: LibrarySelection, at theirs: Coverage, upTo last: CommitNumber
  ) -> ClosedRange<CommitNumber>? {
    guard !isWhole, last.rawValue >= 1 else { return nil }
    let all = CommitNumber(rawValue: 1)...last
    let starts = Set(starts(in: all) + theirs.starts(in: all)).sorted()
    let lacking = starts.indices.filter { index in
      let offered = wanted.intersection(theirs.libraries(at: starts[index]))
      return !libraries(at: starts[index]).isSuperset(of: offered)
    }
    guard let first = lacking.first, let final = lacking.last else { return nil }
    let end = final + 1 < starts.count ? CommitNumber(rawValue: starts[final + 1].rawValue - 1) : last
    return starts[first]...end
  }

  private mutating func normalize() {
    var kept: [Region] = []
    for region in regions where region.libraries != kept.last?.libraries ?? .all { kept.append(region) }
    // Too little is claimed, never too much.
    while kept.count > Self.regionsMax {
      let joined = kept[0].libraries.intersection(kept[1].libraries)
      kept.replaceSubrange(0...1, with: [Region(start: kept[0].start, libraries: joined)])
      if kept.count > 1, kept[1].libraries == joined { kept.remove(at: 1) }
    }
    regions = kept
  }
}
