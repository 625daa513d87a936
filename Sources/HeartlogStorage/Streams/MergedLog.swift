import HeartlogEvents
import HeartlogFiles

/// All streams of a store as one log, read without a lock: commits in the total order, streams merged.
package final class MergedLog {
  private let directory: StoreDirectory
  private let identity: StoreIdentity
  private let lock: StoreLock
  private var streams: [ReplicaID: Stream] = [:]
  private var meter: ProgressMeter
  private var seenPage: StoreLock.Page?
  /// Those whose files are open, the one that was read last at the end.
  private var openStreams: [Stream] = []

  private final class Stream {
    let reader: StreamReader
    /// Commits that were read and not yet handed out, the next one last.
    var ahead: [Commit] = []
    /// Nothing more was there when it was last looked at.
    var isAtEnd = false
    var finding: Finding?
    var name = ""
    /// At the last commit that was handed out.
    var time = StreamTime()

    init(_ reader: StreamReader) { self.reader = reader }
  }

  package init(
    at path: String, on fileSystem: any FileSystem, progress: LogProgress? = nil
  ) throws(StorageError) {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    identity = try StoreIdentity.read(directory)
    lock = try StoreLock(directory)
    meter = ProgressMeter(progress, total: progress == nil ? 0 : try directory.logBytes())
  }

  /// The replica that writes this store.
  package var own: ReplicaID { identity.replica }

  /// The streams met so far, sorted by replica.
  package var replicas: [ReplicaID] { streams.keys.sorted() }

  /// What the replica of a stream is called, as far as its segments were read.
  package func name(of replica: ReplicaID) -> String? {
    replica == identity.replica ? identity.name : streams[replica]?.name
  }

  /// What is not as it was written, as far as it was read.
  package var findings: [Finding] {
    streams.sorted { $0.key < $1.key }.compactMap(\.value.finding)
  }

  /// The time of the commit that `next` gave last: the latest wall time of its stream up to it; 0 before the first.
  package private(set) var lastTime: Milliseconds = 0

  /// The next commit in the total order; nil where there is none at the moment.
  ///
  /// After nil it may be asked again: what has come since follows. Only what is there at the same time is in order.
  package func next() throws(StorageError) -> Commit? {
    try storageErrors {
      if streams.values.allSatisfy({ $0.isAtEnd && $0.ahead.isEmpty }) {
        guard try lookForMore() else { return nil }
      }
      for stream in streams.values where stream.ahead.isEmpty && !stream.isAtEnd { try fill(stream) }
      let first = streams.values.min { a, b in
        guard let a = a.ahead.last else { return false }
        guard let b = b.ahead.last else { return true }
        return a.position < b.position
      }
      guard let first, let commit = first.ahead.popLast() else { return nil }
      first.time.pass(commit.wallTime)
      lastTime = first.time.latest
      return commit
    }
  }

  /// Starts another round over the streams.
  ///
  /// - Returns: false where nothing changed since the last round.
  private func lookForMore() throws -> Bool {
    let page = lock.page()
    if let seenPage, seenPage == page, page.generation != 0 { return false }
    seenPage = page
    var replicas = Set(try directory.replicas())
    // The own stream may be gone altogether, which only the lock's page can tell.
    replicas.insert(identity.replica)
    for replica in replicas where streams[replica] == nil {
      streams[replica] = Stream(StreamReader(directory, replica: replica))
    }
    for stream in streams.values { stream.isAtEnd = false }
    return true
  }

  private func fill(_ stream: Stream) throws {
    let isOwn = stream.reader.replica == identity.replica
    defer { keepOpen(stream) }
    // Where a file is opened for each look, a look is to bring more than one commit.
    let wanted = streams.count > OpenFileBudget.streamsMax ? Self.commitsAhead : 1
    var commits: [Commit] = []
    defer { stream.ahead = commits.reversed() }
    while commits.count < wanted {
      switch try stream.reader.next(page: isOwn ? lock.page() : StoreLock.Page()) {
      case .frame(let frame, let cursor):
        stream.name = cursor.header.replicaName
        stream.finding = nil
        meter.advance(cursor, to: cursor.offset)
        if let found = frame.commits?.commits { commits += found }
      case .end(let end):
        stream.isAtEnd = true
        switch end {
        case .whole: stream.finding = nil
        case .unfinished(let finding), .corrupt(let finding): stream.finding = finding
        }
        return
      }
    }
  }

  private static let commitsAhead = 256

  /// Notes that a stream was read; those that were not read for longest give their files back.
  private func keepOpen(_ stream: Stream) {
    if openStreams.last === stream { return }
    openStreams.removeAll { $0 === stream }
    openStreams.append(stream)
    if openStreams.count > OpenFileBudget.streamsMax { openStreams.removeFirst().reader.rest() }
  }
}

extension StoreDirectory {
  /// The size of all segments together, in bytes.
  func logBytes() throws(StorageError) -> UInt64 {
    var total: UInt64 = 0
    for replica in try replicas() {
      for segment in try segments(of: replica) {
        let path = "\(streamPath(replica))/\(segment.name)"
        total += try onFiles { () throws(FileError) in try fileSystem.info(path)?.size ?? 0 }
      }
    }
    return total
  }
}
