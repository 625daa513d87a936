import HeartlogFormat
import HeartlogFiles
import HeartlogStorage

/// What was salvaged of a store, and what is lost.
public struct SalvageReport: Sendable {
  /// Bytes of a file in which nothing can be read.
  public struct BadBytes: Hashable, Sendable {
    /// The path of the file.
    public let file: String
    /// Where the bytes begin.
    public let offset: UInt64
    /// How many they are.
    public let byteCount: UInt64
    /// Why they cannot be read, as a phrase.
    public let reason: String
  }

  /// Commits that stand behind lost ones, as a stream of their own.
  public struct Branch: Hashable, Sendable {
    /// The replica of the stream that has them now.
    public let replica: ReplicaID
    /// Their numbers in the stream from which they are.
    public let commits: ClosedRange<CommitNumber>
  }

  /// What was salvaged of one stream.
  public struct Stream: Hashable, Sendable {
    /// The replica whose stream it is.
    public let replica: ReplicaID
    /// The name of that replica as shown to people.
    public let name: String
    /// The last commit of the stream in the new store; 0 if there is none.
    public let lastCommit: UInt64
    /// What stood behind lost commits.
    public let branches: [Branch]
    /// The commits that are known to be lost, by their numbers.
    public let lost: [ClosedRange<CommitNumber>]
    /// Whether more commits may be lost at the end, and nothing says how many.
    public let mayLackMore: Bool
    /// The bytes in which nothing can be read.
    public let badBytes: [BadBytes]

    /// Whether the new store has everything of the stream, under its own name.
    public var isWhole: Bool { lost.isEmpty && !mayLackMore && branches.isEmpty }

    init(_ stream: SalvagedStream) {
      replica = stream.replica
      name = stream.name
      lastCommit = stream.lastCommit
      branches = stream.branches.map { Branch(replica: $0.replica, commits: $0.commits) }
      lost = stream.lost
      mayLackMore = stream.mayLackMore
      badBytes = stream.badBytes.map {
        BadBytes(file: $0.file, offset: $0.offset, byteCount: $0.byteCount, reason: $0.reason)
      }
    }
  }

  /// The replica that writes the new store.
  public let replica: ReplicaID
  /// The number of events in the new store.
  public let events: UInt64
  /// By replica.
  public let streams: [Stream]

  /// Whether nothing is lost.
  public var isWhole: Bool { streams.allSatisfy(\.isWhole) }
}

extension FavoritesStore {
  /// The vault of a store that may be damaged; nil if it has none.
  package static func vault(
    at path: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> VaultMembership? {
    try Salvage.vault(at: path, on: fileSystem)
  }

  /// Copies to this store, which is new, everything that can be read of another one.
  ///
  /// - Parameter fill: receives commits from elsewhere into this store, between what is certain and what stands behind lost commits.
  package func salvage(
    _ path: String, on fileSystem: any FileSystem, filling fill: () throws(HeartlogError) -> Void
  ) throws(HeartlogError) -> SalvageReport {
    let salvage = try Salvage(of: path, on: fileSystem, to: log)
    try salvage.begin()
    try fill()
    let streams = try salvage.finish(branches: true)
    try salvage.settle()
    try applyErasures()
    return SalvageReport(
      replica: replica, events: read { $0.eventCount }, streams: streams.map(SalvageReport.Stream.init))
  }
}
