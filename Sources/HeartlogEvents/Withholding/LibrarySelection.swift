/// Some libraries, or all of them. Source: docs/format.md, "Partial streams".
package enum LibrarySelection: Hashable, Sendable {
  /// Every library.
  case all
  /// The libraries with these names.
  case only(Set<String>)

  /// The maximum number of names.
  package static let namesMax = 64

  /// Whether events of a library are selected. Those of the libraries that every store needs always are.
  package func contains(_ library: String) -> Bool {
    switch self {
    case .all: true
    case .only(let names): names.contains(library) || Self.isNeeded(library)
    }
  }

  private static func isNeeded(_ library: String) -> Bool {
    library == "settings" || library.hasPrefix("heartlog.")
  }

  /// Whether everything that `other` selects is selected.
  package func isSuperset(of other: LibrarySelection) -> Bool {
    switch (self, other) {
    case (.all, _): true
    case (_, .all): false
    case (.only(let mine), .only(let theirs)): mine.isSuperset(of: theirs)
    }
  }

  /// What both select.
  package func intersection(_ other: LibrarySelection) -> LibrarySelection {
    switch (self, other) {
    case (.all, _): other
    case (_, .all): self
    case (.only(let mine), .only(let theirs)): .only(mine.intersection(theirs))
    }
  }

  /// What either of the two selects.
  package func union(_ other: LibrarySelection) -> LibrarySelection {
    guard case .only(let mine) = self, case .only(let theirs) = other else { return .all }
    return .only(mine.union(theirs))
  }

  /// A block without the content of the events of other libraries, and without the secrets that lead to their salts.
  ///
  /// - Returns: nil if the block contains none of it.
  package func redacted(_ block: ColumnBlock) -> Block? {
    block.columns.libraries.allSatisfy(contains) ? nil : redacted(Block(block))
  }

  /// A block without the content of the events of other libraries: see `redacted` of a block in columns.
  package func redacted(_ block: Block) -> Block? {
    if self == .all { return nil }
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    let commits = block.commits.map { commit in
      var hashes: [Int: EventHash] = [:]
      for (index, record) in commit.records.enumerated() {
        guard let event = record.event, !contains(event.library),
          let salt = salts.salt(commit: commit.number, event: index, hasher: &hasher)
        else { continue }
        hashes[index] = record.hash(salt: salt, hasher: &hasher)
      }
      return hashes.isEmpty ? commit : commit.withholding(hashes)
    }
    return block.redacted(to: commits)
  }
}
