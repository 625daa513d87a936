import HeartlogEvents
import HeartlogFiles

/// What `verify` found in one stream.
public struct StreamVerification: Sendable {
  public let replica: ReplicaID
  /// What the stream's last segment calls its replica.
  public let name: String
  public let isOwn: Bool
  public let commits: UInt64
  public let events: UInt64
  public let segments: Int
  /// On disk, zeros written ahead included.
  public let bytes: UInt64
  /// The root of the stream's tree over its sound commits.
  public let root: Digest
  /// What ends the sound part; nil where all is sound.
  public let finding: Finding?
}

/// Reads every byte of a store and checks all that the format promises.
public enum Verification {
  /// Verifies each stream, sorted by replica. Takes no lock.
  public static func run(
    at path: String, on fileSystem: any FileSystem, progress: LogProgress? = nil
  ) throws(StorageError) -> [StreamVerification] {
    try storageErrors {
      let directory = StoreDirectory(fileSystem: fileSystem, path: path)
      let identity = try StoreIdentity.read(directory)
      let lock = try StoreLock(directory)
      let page = lock.page()
      let replicas = try directory.replicas()
      var sizes: [ReplicaID: (count: Int, bytes: UInt64)] = [:]
      for replica in replicas {
        for segment in try directory.segments(of: replica) {
          let info = try fileSystem.info(directory.path(of: segment, in: replica))
          sizes[replica, default: (0, 0)].count += 1
          sizes[replica, default: (0, 0)].bytes += info?.size ?? 0
        }
      }
      var meter = ProgressMeter(progress, total: sizes.values.reduce(0) { $0 + $1.bytes })
      var streams = Set(replicas)
      // The own stream may be missing altogether, which only the page can tell.
      streams.insert(identity.replica)
      return try streams.sorted().compactMap { replica in
        let size = sizes[replica] ?? (0, 0)
        let (stream, finding) = try verify(replica, directory, lock, page, &meter)
        if size.count == 0, finding == nil { return nil }
        return StreamVerification(
          replica: replica, name: stream.name, isOwn: replica == identity.replica,
          commits: stream.reader.chain.next.rawValue - 1,
          events: stream.reader.chain.nextSequence.rawValue - 1, segments: size.count, bytes: size.bytes,
          root: stream.tree.root, finding: finding)
      }
    }
  }

  private static func verify(
    _ replica: ReplicaID, _ directory: StoreDirectory, _ lock: StoreLock, _ page: StoreLock.Page,
    _ meter: inout ProgressMeter
  ) throws -> (StreamVerifier, Finding?) {
    var page = page
    var before: StorageError?
    while true {
      let stream = StreamVerifier(directory, replica: replica)
      switch try stream.run(page: page, meter: &meter) {
      case .sound: return (stream, nil)
      case .changed: page = lock.page()
      case .found(let finding):
        // A tail that is being written looks torn: look again, until nothing changes or the place is the same.
        let later = lock.page()
        let error = finding.error
        if later.generation == page.generation
          || (before?.file == error.file && before?.offset == error.offset)
        {
          return (stream, finding)
        }
        before = error
        page = later
      }
    }
  }
}

private final class StreamVerifier {
  let reader: StreamReader
  var tree = MerkleTree()
  var name = ""
  private let directory: StoreDirectory
  private let replica: ReplicaID
  private var segment: SegmentID?
  /// The frontiers that some header names, by the size of their tree.
  private var frontiers: [UInt64: [Digest]] = [:]

  init(_ directory: StoreDirectory, replica: ReplicaID) {
    self.directory = directory
    self.replica = replica
    reader = StreamReader(directory, replica: replica)
  }

  enum Outcome {
    case sound
    case found(Finding)
    /// A segment was made by sealing while others were read.
    case changed
  }

  func run(page: StoreLock.Page, meter: inout ProgressMeter) throws -> Outcome {
    try collectFrontiers()
    var hasher = SHA256Hasher()
    while true {
      let chain = reader.chain
      switch try reader.next(page: page) {
      case .end(.whole): return .sound
      case .end(.unfinished(let finding)), .end(.corrupt(let finding)): return .found(finding)
      case .frame(let frame, let cursor):
        if segment != cursor.header.id {
          segment = cursor.header.id
          name = cursor.header.replicaName
          // Where a segment starts, a later one may take its frontier from.
          frontiers[tree.size] = tree.frontier
          guard let frontier = frontiers[cursor.header.treeSize] else { return .changed }
          if frontier != cursor.header.frontier {
            return problem("a frontier that differs from the commits before it", cursor, at: 0, chain)
          }
        }
        meter.advance(cursor, to: cursor.offset)
        guard let (commits, secrets) = frame.commits else { continue }
        var salts = Salts(secrets)
        for commit in commits {
          do {
            tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
          } catch {
            return problem(error.reason, cursor, at: cursor.passedOffset, chain)
          }
          if frontiers.keys.contains(tree.size) { frontiers[tree.size] = tree.frontier }
        }
      }
    }
  }

  private func collectFrontiers() throws {
    frontiers[0] = []
    for segment in try directory.segments(of: replica) {
      let path = directory.path(of: segment, in: replica)
      // What cannot be read as a header is found again, and named, on the way along the stream.
      guard let file = try? directory.fileSystem.open(path, .read),
        let found = try? directory.header(of: file, path: path)
      else { continue }
      if found.header.treeSize > 0 { frontiers[found.header.treeSize] = [] }
    }
  }

  private func problem(_ reason: String, _ cursor: SegmentCursor, at offset: UInt64, _ chain: Chain)
    -> Outcome
  {
    .found(
      Finding(
        verdict: .corrupt, replica: replica,
        error: StorageError(
          .corrupt, reason, file: cursor.path, offset: offset,
          commits: chain.next...max(chain.next, reader.chain.head ?? chain.next))))
  }
}
