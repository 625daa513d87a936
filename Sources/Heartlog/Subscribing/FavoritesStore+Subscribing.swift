import HeartlogEvents
import HeartlogFiles
import HeartlogStorage

/// Some libraries, or all.
package typealias LibrarySelection = HeartlogEvents.LibrarySelection
/// What is here of a stream's content.
package typealias Coverage = HeartlogStorage.Coverage

/// Taking only some libraries from other devices. Source: docs/format.md, "Partial streams".
extension FavoritesStore {
  /// The libraries whose content the store takes from other devices; nil for all of them.
  ///
  /// - Throws: `corrupt` if the list is damaged; `inputOutput`.
  public var subscribedLibraries: Set<String>? {
    get throws(HeartlogError) {
      if case .only(let names) = try subscription { names } else { nil }
    }
  }

  /// Takes only the content of some libraries from other devices from now on.
  ///
  /// Commits to other libraries still arrive, count and verify, but without what they say. What is here already stays, and so does what
  /// this device writes itself. If libraries are added, their content arrives with the next sync with a device that has it. Settings always
  /// arrive.
  ///
  /// - Parameter libraries: 1 to 64 names; nil for all libraries.
  /// - Throws: `invalid` for other numbers of names, or a name that is no library's; `misuse` inside `write { }`; any error of a write:
  ///   see <doc:WhatCanGoWrong>.
  public func subscribe(to libraries: Set<String>?) throws(HeartlogError) {
    try subscribe(to: libraries.map { .only($0) } ?? .all)
  }

  /// As `subscribe(to:)` with names.
  package func subscribe(to libraries: LibrarySelection) throws(HeartlogError) {
    try refuseInsideWrite("subscribe")
    if case .only(let names) = libraries {
      guard (1...LibrarySelection.namesMax).contains(names.count) else {
        throw HeartlogError(
          .invalid, "a store subscribes to 1 to \(LibrarySelection.namesMax) libraries, or to all")
      }
      for name in names.sorted() {
        do { try NameRules.checkLibrary(name) } catch { throw HeartlogError(.invalid, error.reason) }
      }
    }
    try heartlogErrors { try log.subscribe(to: libraries) }
  }

  /// Whether the content of everything in the store that was written to a library is here, except for what was erased.
  ///
  /// - Throws: `corrupt` if the list of subscribed libraries is damaged; `inputOutput`.
  public func hasEverything(of library: String) throws(HeartlogError) -> Bool {
    try coverages().values.allSatisfy { $0.librariesThroughout.contains(library) }
  }

  /// Throws `invalid` unless everything of a library is here.
  func requireEverything(of library: String, to what: String) throws(HeartlogError) {
    guard try !hasEverything(of: library) else { return }
    throw HeartlogError(
      .invalid,
      "this store does not have everything that was written to \(library), so it cannot tell what was there: \(what) on a device that takes all of \(library)"
    )
  }

  /// Whether not everything of a library, or of any, is in the store in a folder.
  ///
  /// - Throws: `corrupt` if its list of subscribed libraries is damaged; `inputOutput`.
  package static func lacksContent(of library: String?, at path: String) throws(HeartlogError) -> Bool {
    let coverages = try heartlogErrors { try CommitLog.coverages(at: path, on: POSIXFileSystem()) }
    return coverages.values.contains { !(library.map($0.librariesThroughout.contains) ?? false) }
  }

  /// The generation of the content in the files of the store; nil while it is changing.
  package func contentGeneration() throws(HeartlogError) -> UInt64? {
    try heartlogErrors { try SnapshotFolder(at: path, on: fileSystem).erasedGeneration() }
  }

  /// What is here of the content of partial streams.
  package func coverages() throws(HeartlogError) -> [ReplicaID: Coverage] {
    try heartlogErrors { try log.coverages() }
  }

  /// What the store takes from others.
  package var subscription: LibrarySelection {
    get throws(HeartlogError) { try heartlogErrors { try log.subscribedLibraries() } }
  }

  /// A run without the content that a subscriber of these libraries does not take; nil if it contains none of it.
  package func redacted(
    _ run: StreamRun, to libraries: LibrarySelection
  ) throws(HeartlogError) -> StreamRun? {
    try heartlogErrors { try log.redacted(run, to: libraries) }
  }

  /// The number of events that a run has without content.
  ///
  /// - Throws: `peer` if its bytes are no run.
  package func withheldCount(in run: StreamRun) throws(HeartlogError) -> Int {
    try peerErrors { () throws(StorageError) in try log.withheldCount(in: run) }
  }

  /// Takes content that is withheld here from a run of commits that are here. The state follows when erasures are applied the next time.
  ///
  /// - Returns: The number of events whose content arrived; nil if the commits are not those of the stream here.
  /// - Throws: `peer` if the bytes are no run.
  package func complete(with run: StreamRun) throws(HeartlogError) -> Int? {
    try refuseInsideWrite("complete")
    return try peerErrors { () throws(StorageError) in try log.complete(with: run) }
  }
}
