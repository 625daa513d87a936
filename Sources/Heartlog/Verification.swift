import HeartlogFiles
import HeartlogStorage

/// What `verify` found in a store.
public struct StoreVerification: Sendable {
  /// Sorted by replica.
  public let streams: [StreamVerification]
  /// Those of the most events first.
  public let snapshots: [SnapshotVerification]
}

/// What `verify` found in a snapshot.
public struct SnapshotVerification: Hashable, Sendable {
  /// The name of its file, in the store's folder `snapshots`.
  public let name: String
  /// Events that it covers, as its name says.
  public let events: UInt64
  /// What is wrong with it; nil where nothing is. The log does not need it.
  public let problem: String?
  /// False where nobody starts from it any more: it is of another version, of another store, or of a stream that was ended in front of it.
  public let isOfUse: Bool
}

extension FavoritesStore {
  /// Reads every byte of the log and of the snapshots, and checks all that the format promises: checksums, hashes, and that what segments,
  /// snapshots, heads and the lock's page say of each other agrees.
  ///
  /// - Returns: each stream with its commits, its root, and what ends its sound part; each snapshot.
  /// - Throws: `inputOutput` where a file cannot be read. Damage is no error here, but a finding.
  public func verify(progress: LogProgress? = nil) throws(HeartlogError) -> StoreVerification {
    try Self.verify(at: path, on: fileSystem, progress: progress)
  }

  /// Verifies the store in a folder without opening it, as `verify(progress:)`.
  ///
  /// - Throws: `notAStore`, `newerFormat`, `inputOutput`. Damage is no error here, but a finding.
  public static func verify(
    at path: String, progress: LogProgress? = nil
  ) throws(HeartlogError) -> StoreVerification {
    try verify(at: path, on: POSIXFileSystem(), progress: progress)
  }

  static func verify(
    at path: String, on fileSystem: any FileSystem, progress: LogProgress?
  ) throws(HeartlogError) -> StoreVerification {
    try heartlogErrors {
      let snapshots = try SnapshotFolder(at: path, on: fileSystem).checked()
      let streams = try Verification.run(
        at: path, on: fileSystem, snapshots: snapshots.compactMap(\.content?.claim), progress: progress)
      // A snapshot of a log that is damaged has nothing to be compared with.
      let isLogSound = streams.allSatisfy { $0.finding?.verdict ?? .torn == .torn }
      return StoreVerification(
        streams: streams.map(StreamVerification.init),
        snapshots: try snapshots.map { snapshot in
          var problem = snapshot.problem
          var isOfUse = snapshot.isOfThisVersion
          if let content = snapshot.content {
            isOfUse = try LogReplay(at: path, on: fileSystem).isOfUse(content.claim.positions)
            if isLogSound, isOfUse, try content.differs(fromLogAt: path, on: fileSystem) {
              problem = SnapshotProblem.otherState
            }
          }
          return SnapshotVerification(
            name: snapshot.file.name, events: snapshot.file.eventCount, problem: problem, isOfUse: isOfUse)
        })
    }
  }
}

/// What `verify` found in one stream.
public struct StreamVerification: Sendable {
  /// Whose stream it is.
  public let replica: ReplicaID
  /// What the stream's last segment calls its replica.
  public let name: String
  /// Whether this store writes to it.
  public let isOwn: Bool
  /// Its sound commits.
  public let commits: UInt64
  /// Its sound events.
  public let events: UInt64
  /// Its files.
  public let segments: Int
  /// The size of its files, zeros written ahead included.
  public let bytes: UInt64
  /// The root of the stream's tree over its sound commits.
  public let root: Digest
  /// What ends the sound part; nil where all is sound.
  public let finding: Finding?

  init(_ stream: HeartlogStorage.StreamVerification) {
    replica = stream.replica
    name = stream.name
    isOwn = stream.isOwn
    commits = stream.commits
    events = stream.events
    segments = stream.segments
    bytes = stream.bytes
    root = stream.root
    finding = stream.finding.map(Finding.init)
  }
}

private enum SnapshotProblem {
  static let otherState = "the log up to it makes another state"
}

/// A snapshot whose every page was looked at.
private struct CheckedSnapshot {
  struct Content {
    let claim: SnapshotClaim
    let state: FavoritesState

    /// Whether the log, replayed up to where the snapshot stands, makes another state.
    func differs(fromLogAt path: String, on fileSystem: any FileSystem) throws -> Bool {
      let heads = claim.positions.map { Head(replica: $0.replica, commit: $0.commit) }
      var replayed = FavoritesState()
      _ = try LogReplay(at: path, on: fileSystem).run { replayed.apply($0, upTo: heads) }
      return replayed.digest != state.digest || replayed.heads != state.heads
        || replayed.eventCount != state.eventCount || replayed.conflicts != state.conflicts
    }
  }

  let file: SnapshotFile
  /// Nil where it is damaged, or of another version.
  var content: Content?
  var problem: String?
  var isOfThisVersion = true
}

extension SnapshotFolder {
  /// The snapshots that are there, each looked at as a whole.
  fileprivate func checked() throws -> [CheckedSnapshot] {
    try files().compactMap { file in
      guard let mapping = try map(file) else { return nil }
      var checked = CheckedSnapshot(file: file)
      guard FavoritesState.isSnapshotOfThisVersion(mapping.bytes) else {
        checked.isOfThisVersion = false
        return checked
      }
      do {
        var (state, log) = try FavoritesState.snapshot(mapping.bytes, owner: mapping)
        let positions = try SnapshotKeeper.positions(log)
        state.loadSnapshot()
        if state.isDamaged {
          checked.problem = SnapshotKeeper.damage
        } else {
          checked.content = CheckedSnapshot.Content(
            claim: SnapshotClaim(positions: positions, file: path(of: file)), state: state)
        }
      } catch let error as MalformedError {
        checked.problem = error.reason
      }
      return checked
    }
  }
}
