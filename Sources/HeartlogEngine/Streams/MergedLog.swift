import HeartlogFiles
import HeartlogFormat

/// Reads all streams of a store, or the ends of all, without a lock, as one log: the commits are merged in the total order.
package final class MergedLog {
  private let directory: StoreDirectory
  private let identity: StoreIdentity
  private let lock: StoreLock
  private var streams: [ReplicaID: Stream] = [:]
  /// The number of sealed segments with which a stream begins that is there at the first read, counted from its last one; nil for whole
  /// streams.
  private let sealedMax: Int?
  private var meter: ProgressMeter
  private var seenPage: StoreLock.Page?
  /// The streams with an open file, the most recently read last.
  private var openStreams: [Stream] = []

  /// Commits of one stream that are consecutive in the total order.
  package struct Run {
    package enum Commits {
      case one(Commit)
      /// The commits at a range of indices in a block. All runs of a block share the same object.
      case several(MergedBlock, indices: Range<Int>)
    }

    package let commits: Commits
    /// The value that `lastTime` would have after the commit that precedes these in their stream.
    package let timeBefore: Milliseconds
  }

  private final class Stream {
    let reader: StreamReader
    /// Whether commits before the first one that is read are left out, and that has not been read yet.
    var isBeforeFirst: Bool
    /// Read but not yet returned, in reverse order: the next one is last. Blocks are kept whole.
    var ahead: [Ahead] = []
    /// Whether the reader was at the end when it was last used.
    var isAtEnd = false
    var finding: Finding?
    var name = ""
    /// The time at the last commit returned.
    var time = StreamTime()

    init(_ reader: StreamReader) {
      self.reader = reader
      isBeforeFirst = reader.tail.head != nil
    }
  }

  private enum Ahead {
    case commit(Commit)
    /// A block, starting at its next commit.
    case block(MergedBlock)

    var position: CommitPosition {
      switch self {
      case .commit(let commit): commit.position
      case .block(let block): block.content.position(at: block.next)
      }
    }
  }

  /// - Parameter sealedMax: Reads only the last sealed segments of each stream, at most so many, and what follows them. A stream that comes
  ///   later is read from its start.
  package init(
    at path: String, on fileSystem: any FileSystem, lastSealed sealedMax: Int? = nil,
    progress: LogProgress? = nil
  ) throws(HeartlogError) {
    self.sealedMax = sealedMax
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    identity = try StoreIdentity.read(directory)
    lock = try StoreLock(directory)
    meter = ProgressMeter(progress, total: progress == nil ? 0 : try directory.logBytes())
  }

  /// Returns a log of only the last sealed segments of each stream, as many as are needed, and what follows them.
  ///
  /// Damage before these segments is not found. If they begin with damage, the log is read from its start.
  ///
  /// - Parameter mayBegin: Whether all commits before a position may be left out; if so, also before every earlier position.
  package static func ends(
    at path: String, on fileSystem: any FileSystem, from mayBegin: (CommitPosition) -> Bool
  ) throws(HeartlogError) -> MergedLog {
    var sealedMax = 1
    while true {
      let log = try MergedLog(at: path, on: fileSystem, lastSealed: sealedMax)
      _ = try log.lookAhead()
      guard log.findings.isEmpty else { return try MergedLog(at: path, on: fileSystem) }
      guard let first = log.completeFrom, !mayBegin(first) else { return log }
      sealedMax *= 4
    }
  }

  /// The replica that writes this store.
  package var own: ReplicaID { identity.replica }

  /// The streams found so far, sorted by replica.
  package var replicas: [ReplicaID] { streams.keys.sorted() }

  /// The name of a stream's replica, according to the segments read so far.
  package func name(of replica: ReplicaID) -> String? {
    replica == identity.replica ? identity.name : streams[replica]?.name
  }

  /// Returns the position of the commit that a moment names, read or not; nil if the log does not have it, or if the moment is a time.
  package func position(of moment: LogMoment) throws(HeartlogError) -> CommitPosition? {
    try directory.position(of: moment)
  }

  /// Everything found so far that differs from what was written.
  package var findings: [Finding] {
    streams.sorted { $0.key < $1.key }.compactMap(\.value.finding)
  }

  /// The time of the last commit returned: the latest wall time of its stream up to it; 0 before the first.
  package private(set) var lastTime: Milliseconds = 0

  /// Where the first commit is from which on none is left out; nil before the first read, and if none is.
  package private(set) var completeFrom: CommitPosition?

  /// Returns the next commit in the total order; nil if there is none at the moment.
  ///
  /// It may be called again after nil and then returns commits written since. The order holds only among commits that are present at
  /// the same time.
  package func next() throws(HeartlogError) -> Commit? {
    guard let run = try nextRun(commitsMax: 1) else { return nil }
    switch run.commits {
    case .one(let commit): return commit
    case .several(let block, let indices): return block.commit(at: indices.lowerBound)
    }
  }

  /// Returns as many commits of one stream as have been read and are consecutive in the total order; nil if there are none at the
  /// moment.
  ///
  /// - Parameter commitsMax: The maximum number of commits.
  package func nextRun(commitsMax: Int = .max) throws(HeartlogError) -> Run? {
    guard try lookAhead() else { return nil }
    var first: (stream: Stream, position: CommitPosition)?
    // The position of the next commit of any other stream.
    var end: CommitPosition?
    for stream in streams.values {
      guard let position = stream.ahead.last?.position else { continue }
      if let found = first, found.position < position {
        end = end.map { min($0, position) } ?? position
      } else {
        end = first?.position
        first = (stream, position)
      }
    }
    return first.map { take(from: $0.stream, upTo: end, commitsMax: commitsMax) }
  }

  /// Reads the next commits of each stream, unless some were read already.
  ///
  /// - Returns: false if nothing has changed since all were returned.
  private func lookAhead() throws(HeartlogError) -> Bool {
    if streams.values.allSatisfy({ $0.isAtEnd && $0.ahead.isEmpty }) {
      guard try lookForMore() else { return false }
    }
    for stream in streams.values where stream.ahead.isEmpty && !stream.isAtEnd { try fill(stream) }
    return true
  }

  /// Returns the next commits of a stream, up to but not including `end`.
  private func take(from stream: Stream, upTo end: CommitPosition?, commitsMax: Int) -> Run {
    let timeBefore = stream.time.latest
    switch stream.ahead[stream.ahead.count - 1] {
    case .commit(let commit):
      stream.ahead.removeLast()
      stream.time.pass(commit.wallTime)
      lastTime = stream.time.latest
      return Run(commits: .one(commit), timeBefore: timeBefore)
    case .block(let block):
      let content = block.content
      let commits = content.columns.commits
      let first = block.next
      let most = min(commitsMax, content.commitIndices.upperBound - first)
      var last = first + most
      if let end {
        last = first + 1
        while last < first + most, content.position(at: last) < end { last += 1 }
      }
      for index in first..<last { stream.time.pass(commits.wallTimes[index]) }
      lastTime = stream.time.latest
      block.next = last
      if last == content.commitIndices.upperBound { stream.ahead.removeLast() }
      return Run(commits: .several(block, indices: first..<last), timeBefore: timeBefore)
    }
  }

  /// Starts another pass over the streams.
  ///
  /// - Returns: false if nothing has changed since the last pass.
  private func lookForMore() throws(HeartlogError) -> Bool {
    let page = lock.page()
    if let seenPage, seenPage == page, page.generation != 0 { return false }
    seenPage = page
    var replicas = Set(try directory.replicas())
    // The replica's own stream may be missing completely; only the lock page tells.
    replicas.insert(identity.replica)
    let sealedMax = streams.isEmpty ? sealedMax : nil
    for replica in replicas where streams[replica] == nil {
      streams[replica] = Stream(try reader(of: replica, lastSealed: sealedMax))
    }
    for stream in streams.values { stream.isAtEnd = false }
    return true
  }

  private func reader(of replica: ReplicaID, lastSealed sealedMax: Int?) throws(HeartlogError) -> StreamReader
  {
    guard let sealedMax else { return StreamReader(directory, replica: replica) }
    do {
      return try heartlogErrors {
        try directory.opening(replica) {
          let sealed = try directory.servingSegments(of: replica).serving.filter { $0.state == .sealed }
          guard sealed.count > sealedMax else { return StreamReader(directory, replica: replica) }
          return try VerifiedReader(directory, replica: replica, to: sealed[sealed.count - sealedMax]).reader
        }
      }
    } catch {
      guard error.code == .corrupt else { throw error }
      // Reading from the start finds the damage and reports it.
      return StreamReader(directory, replica: replica)
    }
  }

  private func fill(_ stream: Stream) throws(HeartlogError) {
    let isOwn = stream.reader.replica == identity.replica
    defer { keepOpen(stream) }
    // If a file has to be opened for each read, the read should return more than one commit.
    let wanted = streams.count > OpenFileBudget.streamsMax ? Self.commitsAhead : 1
    let page = isOwn ? seenPage ?? StoreLock.Page() : StoreLock.Page()
    var found: [Ahead] = []
    var count = 0
    defer {
      if stream.isBeforeFirst, let position = found.first?.position {
        stream.isBeforeFirst = false
        completeFrom = max(completeFrom ?? position, position)
      }
      stream.ahead = found.reversed()
    }
    while count < wanted {
      switch try heartlogErrors({ try stream.reader.next(page: page) }) {
      case .frame(let frame, let cursor):
        stream.name = cursor.header.replicaName
        stream.finding = nil
        meter.advance(cursor)
        if case .block(let block) = frame {
          found.append(.block(MergedBlock(block)))
          count += block.commitCount
        } else if let commits = frame.commits?.commits {
          found += commits.map { .commit($0) }
          count += commits.count
        }
      case .end(let finding):
        stream.isAtEnd = true
        stream.finding = finding
        return
      }
    }
  }

  private static let commitsAhead = 256

  /// Records that a stream was read, and closes the file of the least recently read one if too many are open.
  private func keepOpen(_ stream: Stream) {
    if openStreams.last === stream { return }
    openStreams.removeAll { $0 === stream }
    openStreams.append(stream)
    if openStreams.count > OpenFileBudget.streamsMax { openStreams.removeFirst().reader.rest() }
  }
}

/// A block of a merged log, which is returned run by run.
package final class MergedBlock {
  /// The block as it was read.
  package let content: ColumnBlock
  /// The index of the next commit.
  fileprivate(set) var next: Int
  private lazy var assembly = CommitAssembly(content)
  private var sought: (library: String, id: String, indices: [Int])?

  init(_ content: ColumnBlock) {
    self.content = content
    next = content.commitIndices.lowerBound
  }

  /// Returns the indices of the commits that have an event of an item, in ascending order. Looked up once for all runs.
  package func indices(ofItem id: String, in library: String) -> [Int] {
    if let sought, sought.id.hasSameBytes(as: id), sought.library.hasSameBytes(as: library) {
      return sought.indices
    }
    let indices = content.commitIndices(ofItem: id, in: library)
    sought = (library, id, indices)
    return indices
  }

  /// Assembles the commit at an index, which must be greater than those assembled before.
  package func commit(at index: Int) -> Commit { assembly.commit(at: index) }
}
